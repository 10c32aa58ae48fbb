"""The pool of worker processes, for PDF rendering and models alike: their number, and their calls.

Workers are owned by slots, which have the crash rules and the restart policy (slot.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self

import anyio
import structlog

from inkgate.caller import NO_CHARGE
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.workers.process import LossCause, WorkerProcess
from inkgate.workers.slot import CallLost, WorkerCall, WorkerSlot, WorkerType
from inkgate.workers.wire import SharedMemory
from inkgate_client.concurrency import Charge, Threads, single_error

log = structlog.get_logger(__name__)


class ProcessPool:
    """Runs calls in worker processes, each in the free worker that is most ready for it.

    While open it owns its processes. Used from one event loop; may be opened again after it was closed. A cancelled
    caller returns at once, and the result of its running call is dropped. Its worker serves the next call when it is
    done, or is replaced after `WorkerType.abandoned_s`; until then the caller is charged for it. Calls that wait are
    served in order of arrival. For another order, callers wait for a turn in a WorkQueue first (serving/queue.py), with
    as many turns as there are workers.
    """

    def __init__(self, worker_type: WorkerType, supervisor: Supervisor | None = None) -> None:
        """`supervisor`: keeps the task of each worker running."""
        self.running = False
        self._type = worker_type
        self._supervisor = supervisor or Supervisor()
        self._slots = [WorkerSlot(worker_type, argument, self) for argument in worker_type.arguments]
        self._waiting: deque[WorkerCall] = deque()
        self._idle: list[WorkerSlot] = []
        self._busy: dict[WorkerSlot, WorkerCall] = {}
        self._start_error: Exception | None = None
        self._start_ended = anyio.Event()

    async def __aenter__(self) -> Self:
        self.threads = Threads(f"{self._type.name}_workers", len(self._slots) + 2)
        self._loop = asyncio.get_running_loop()
        self._stack = AsyncExitStack()
        self._stack.enter_context(single_error())
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(self._tasks.cancel_scope.cancel)
        warm = self._type.warm or 0
        for number, slot in enumerate(self._slots):
            task = BackgroundTask(f"{self._type.name}_worker_{number + 1}", partial(self._run, slot, number < warm))
            self._tasks.start_soon(self._supervisor.keep, task)
        self._tasks.start_soon(self._stop_when_cancelled)
        self.running = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.running = False
        try:
            return await self._stack.__aexit__(kind, error, trace)
        finally:
            self._stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes that take calls."""
        return tuple(slot.pid for slot in self._slots if slot.is_ready)

    @property
    def lives(self) -> tuple[tuple[int, int], ...]:
        """Returns for each worker its process, 0 for none, and 1 + the number of its processes that died.

        Those that were never started are omitted.
        """
        return tuple((slot.pid, slot.deaths + 1) for slot in self._slots if slot.pid or slot.deaths)

    @property
    def calls(self) -> tuple[int, int, int]:
        """Number of workers, of those with a call, and of waiting calls."""
        return len(self._slots), len(self._slots) - len(self._idle), len(self._waiting)

    async def ready(self) -> None:
        """Returns once a worker takes calls. Raises the error of a start that fails before, or CallLost if stopped."""
        self._start_error = None if self.running else CallLost(LossCause.STOPPED)
        while not self.pids:
            if self._start_error is not None:
                raise self._start_error
            await self._start_ended.wait()

    async def call(self, call: object, memories: Sequence[SharedMemory] = (), charge: Charge = NO_CHARGE) -> Any:  # noqa: ANN401
        """The result of `call`, any value that can be pickled, and is small. `memories` stay open until this returns.
        `charge`: charged while a worker is at it.

        Raises:
            CallLost: the crash rules gave it up, or the pool is closed.
        """
        done = anyio.Event()
        waiting = WorkerCall(call, memories, charge, done.set)
        self._put(waiting)
        try:
            await done.wait()
        finally:
            waiting.abandoned = not waiting.done
            if waiting.abandoned:
                self._hurry(waiting)
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        return waiting.result()

    def call_from_thread(self, call: object, memories: Sequence[SharedMemory], wait_s: float) -> Any:  # noqa: ANN401
        """Makes a call like `call`, from any thread but the event loop's, which it blocks. Costs the loop less than a
        task.

        Raises:
            CallLost: also if no worker took it in `wait_s`. `memories` may be in use even then.
        """
        done = Lock()
        done.acquire()
        waiting = WorkerCall(call, memories, NO_CHARGE, done.release)
        self._from_thread(self._put, waiting)
        while not done.acquire(timeout=wait_s):
            if not waiting.taken:
                waiting.abandoned = True
                raise CallLost(LossCause.NO_WORKER)
        return waiting.result()

    def forget_closed_from_thread(self) -> None:
        """Does what `forget_closed` does, from any thread; returns at once."""
        with suppress(CallLost):  # stopped: no worker has anything
            self._from_thread(self.forget_closed)

    def forget_closed(self) -> None:
        """Has idle workers close memories that were closed here; busy workers do so after their call."""
        for slot in self._idle:
            slot.forget_closed()

    def rest(self, slot: WorkerSlot) -> None:
        self._end_call(slot)
        self._idle.append(slot)
        self._dispatch()

    def withdraw(self, slot: WorkerSlot) -> bool:
        was_idle = slot in self._idle
        if was_idle:
            self._idle.remove(slot)
        return was_idle

    def put_back(self, call: WorkerCall) -> None:
        call.taken = False
        if not call.abandoned:
            self._waiting.appendleft(call)
            self._dispatch()

    def report_start(self, error: Exception | None) -> None:
        self._start_error = error
        ended, self._start_ended = self._start_ended, anyio.Event()
        ended.set()

    def watch(self, process: WorkerProcess, on_end: Callable[[WorkerProcess], None]) -> None:
        self._tasks.start_soon(_watch, process, on_end)

    def _from_thread(self, function: Callable[..., None], *args: object) -> None:
        if not self.running:
            raise CallLost(LossCause.STOPPED)
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError as error:  # the loop is closed
            raise CallLost(LossCause.STOPPED) from error

    def _hurry(self, call: WorkerCall) -> None:
        for slot, running in self._busy.items():
            if running is call:
                slot.hurry()

    def _put(self, call: WorkerCall) -> None:
        if not self.running:
            call.fail(LossCause.STOPPED)
            return
        self._waiting.append(call)
        self._dispatch()

    async def _run(self, slot: WorkerSlot, ahead: bool) -> None:
        try:
            await slot.run(ahead)
        except Exception as error:
            self.report_start(error)
            raise
        finally:
            self.withdraw(slot)
            self._end_call(slot)

    async def _stop_when_cancelled(self) -> None:
        """Stops the pool when its tasks are cancelled, also from outside: then a caller that is not cancelled must not
        wait for workers that have ended.
        """
        try:
            await anyio.sleep_forever()
        finally:
            self._stop()

    def _stop(self) -> None:
        """Fails the calls that wait, and those that follow."""
        self.running = False
        while self._waiting:
            self._waiting.popleft().fail(LossCause.STOPPED)
        self.report_start(CallLost(LossCause.STOPPED))

    def _dispatch(self) -> None:
        """Gives each waiting call to the idle worker that is most ready for it, while there are both."""
        while self._idle and self._waiting:
            call = self._waiting.popleft()
            if call.abandoned:  # by a thread
                continue
            slot = max(self._idle, key=lambda slot: slot.readiness(call.memories))
            self._idle.remove(slot)
            self._busy[slot] = call
            call.charge.begin_work()
            slot.give(call)

    def _end_call(self, slot: WorkerSlot) -> None:
        """The slot is free again, or has ended."""
        if slot in self._busy:
            self._busy.pop(slot).charge.end_work()


async def _watch(process: WorkerProcess, on_end: Callable[[WorkerProcess], None]) -> None:
    with process.pid_file:
        try:
            await anyio.wait_readable(process.pid_file)
        except OSError as error:  # the next call notices its end instead
            log.warning("worker_not_watched", pid=process.pid, reason=str(error))
            return
    process.is_ready, process.has_ended = False, True
    on_end(process)
