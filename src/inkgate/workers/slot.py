"""A slot of a pool of worker processes: one process at a time, its calls and its failures. The crash rules:

- A call whose worker ended before it had read the call is sent again.
- A hostile call (a stranger's document) that a worker dies of is at fault if it was the worker's first, or if it timed
  out; else it is sent again once, to a fresh worker, because an earlier call may have left the damage.
- Any other call that a worker dies of is sent again once, to the next free worker.

Restarts: workers on demand start with a call, which fails if none starts in `START_TRIES`. The others are kept running:
each is replaced when it ends, after a pause that doubles until one has lived for `stable_s`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import anyio
import structlog

from inkgate.supervision import Pauses
from inkgate.workers.process import END_GRACE_S, LossCause, WorkerDied, WorkerProcess
from inkgate.workers.wire import Outcome, SharedMemory, StartError
from inkgate_client.concurrency import Charge, Threads, loop_time

log = structlog.get_logger(__name__)

START_TRIES = 3
TRIES = 2
"""Attempts of a call that isn't hostile: one that is not at fault hardly ever meets two workers that die."""
MAX_STORED = 8
"""Maximum shared memories that a worker keeps; the least recently used one is closed, and sent again when needed."""


@dataclass(frozen=True, slots=True)
class WorkerType:
    """What a pool's workers run, and their limits.

    Attributes:
        name: for logs and background tasks.
        command: starts a worker; what `run_worker` expects is appended.
        arguments: one for each worker.
        decode: a call's result from the body of its reply; raises ValueError or TypeError if it makes no sense.
        start_error: the error that the body of a StartError tells.
        hostile: whether calls come from strangers.
        warm: number of workers that are started ahead of the first call, the others on demand; None: all are kept
            running, and calls wait for one that is ready.
        call_s, start_s: time limits of a call and of a start.
        abandoned_s: time limit of a call from when its caller has left.
        memory_mb: address space of a worker beyond its start; 0 for no limit.
        max_calls, max_growth_mb: a worker is replaced after this many calls, or if its memory between calls has grown
            by this much, so that small leaks don't add up.
        pause_s, max_pause_s, stable_s: see `Pauses`.
    """

    name: str
    command: Sequence[str]
    arguments: Sequence[str]
    decode: Callable[[bytes], Any] = bytes
    start_error: Callable[[bytes], Exception] = StartError
    hostile: bool = False
    warm: int | None = None
    call_s: float = 60.0
    start_s: float = 60.0
    abandoned_s: float = inf
    memory_mb: int = 0
    max_calls: float = inf
    max_growth_mb: float = inf
    pause_s: float = 0.25
    max_pause_s: float = 30.0
    stable_s: float = 60.0


class CallLost(Exception):
    """A call has no result. `cause`: why; the caller turns it into an error of its own."""

    def __init__(self, cause: LossCause) -> None:
        super().__init__(cause.value)
        self.cause = cause


@dataclass(eq=False, slots=True)
class WorkerCall:
    """A call with a waiting caller.

    Attributes:
        charge: charged while a worker is at it.
        on_done: called once `value` or `error` is set; on the event loop.
        taken: whether a slot has it.
        abandoned: whether its caller has left.
        deaths, unread: workers that died with it, and before they had read it.
    """

    call: object
    memories: Sequence[SharedMemory]
    charge: Charge
    on_done: Callable[[], None]
    value: Any = None
    error: Exception | None = None
    done: bool = False
    taken: bool = False
    abandoned: bool = False
    deaths: int = 0
    unread: int = 0

    def finish(self, value: object) -> None:
        self.value = value
        self._end()

    def fail(self, cause: LossCause) -> None:
        self.error = CallLost(cause)
        self._end()

    def result(self) -> Any:  # noqa: ANN401 - of the worker's type
        """The value. Raises CallLost."""
        error, self.error = self.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # the error holds this frame
        return self.value

    def _end(self) -> None:
        if not self.done:
            self.done = True
            self.on_done()


class SlotOwner(Protocol):
    """The pool, as its slots see it."""

    running: bool
    threads: Threads

    def rest(self, slot: WorkerSlot) -> None:
        """Adds an idle slot."""
        ...

    def withdraw(self, slot: WorkerSlot) -> bool:
        """Removes a slot that takes no calls for now. False if it was not idle."""
        ...

    def put_back(self, call: WorkerCall) -> None:
        """Has the next free worker take a call that lost its worker."""
        ...

    def report_start(self, error: Exception | None) -> None:
        """Tells those who wait for a worker that a start has ended."""
        ...

    def watch(self, process: WorkerProcess, on_end: Callable[[WorkerProcess], None]) -> None:
        """Calls `on_end` when the process has ended."""
        ...


class WorkerSlot:
    """One place of a pool: serves one call at a time, in the worker process that it owns, and handles its failures.

    Attributes:
        deaths: number of processes that died, including those killed for exceeding time or memory.
    """

    def __init__(self, worker_type: WorkerType, argument: str, pool: SlotOwner) -> None:
        self.deaths = 0
        self._type = worker_type
        self._argument = argument
        self._pool = pool
        self._pauses = Pauses(self._type.pause_s, self._type.max_pause_s, self._type.stable_s)
        self._pause_s = 0.0
        self._began = 0.0
        self._process: WorkerProcess | None = None
        self._stored: dict[int, SharedMemory] = {}
        self._call: WorkerCall | None = None
        self._wake = anyio.Event()

    @property
    def pid(self) -> int:
        """PID of the worker process; 0 for none."""
        return self._process.pid if self._process else 0

    @property
    def is_ready(self) -> bool:
        return self._process is not None and self._process.is_ready

    def readiness(self, memories: Sequence[SharedMemory]) -> int:
        """How ready this slot is: 2 if its worker has one of the memories, 1 if it has a worker, else 0."""
        if any(memory.number in self._stored for memory in memories):
            return 2
        return int(self.is_ready)

    def give(self, call: WorkerCall) -> None:
        """Gives the slot its next call. Only while idle."""
        call.taken = True
        self._call = call
        self._wake.set()

    def hurry(self) -> None:
        """Has the call in progress end soon, as its caller has left."""
        if self._process is not None and self._process.is_ready:
            self._process.limit(self._type.abandoned_s)

    def forget_closed(self) -> None:
        """Has the worker close memories that were closed here. Only while idle."""
        for memory in [memory for memory in self._stored.values() if memory.closed]:
            self._forget(memory)

    async def run(self, ahead: bool) -> None:
        """Serves calls until cancelled; then ends its process. `ahead`: starts a worker before the first call.

        May be run again after a failure. The call in progress is then sent again, once.
        """
        try:
            if ahead:
                await self._try_start()
            while True:
                await self._rest()
                if self._call is not None:
                    await self._serve_one(self._call)
                    self._call = None
                self.forget_closed()
        finally:
            self._pool.withdraw(self)  # while its process ends, it must be given no call
            self._give_up()
            await self._discard()

    def _give_up(self) -> None:
        """Passes the call in progress on, which is not at fault for the end of this task."""
        call, self._call = self._call, None
        if call is None or call.done:
            return
        call.deaths += 1
        if self._pool.running and call.deaths < TRIES:
            self._pool.put_back(call)
        else:
            call.fail(LossCause.STOPPED)

    async def _rest(self) -> None:
        """Is idle until it has a call or its worker ends. Before, replaces a worker that has ended."""
        if self._process is not None and not self._process.is_ready:
            await self._lose()
        while self._process is None and self._type.warm is None:
            await anyio.sleep(self._pause_s)
            await self._try_start()
        self._wake = anyio.Event()
        self._pool.rest(self)
        await self._wake.wait()

    def _event(self, name: str) -> str:
        """The name of an event in the log."""
        return f"{self._type.name}_{name}"

    def _on_end(self, process: WorkerProcess) -> None:
        if process is self._process and self._pool.withdraw(self):
            self._wake.set()

    async def _serve_one(self, call: WorkerCall) -> None:
        try:
            await self._serve(call)
        except Exception:  # per-call border: the slot serves the next call after any failure
            log.exception(self._event("call_failed"))
            call.fail(LossCause.FAILED)
            await self._discard()

    async def _try_start(self) -> None:
        try:
            await self._started(1 if self._type.warm is None else START_TRIES)
        except CallLost:  # was logged; the first call will report it, or another start follows
            return

    async def _started(self, tries: int) -> WorkerProcess:
        """The running worker, or a new one. One that is killed before it is ready is replaced.

        Raises:
            CallLost: no worker starts.
        """
        for _ in range(tries):
            if self._process is not None:
                break
            try:
                return await self._start()
            except (OSError, StartError, WorkerDied) as error:
                reason = self._type.start_error(error.body) if isinstance(error, StartError) else error
                log.warning(self._event("worker_not_started"), reason=str(reason))
                await self._lose()
                self._pool.report_start(reason)
                if not isinstance(error, WorkerDied) or error.cause is LossCause.TIMEOUT:
                    break
        if self._process is None:
            raise CallLost(LossCause.NOT_STARTED)
        return self._process

    async def _start(self) -> WorkerProcess:
        self._began = loop_time()
        kind = self._type
        self._process = WorkerProcess.spawn(kind.command, kind.memory_mb, self._argument, self._pool.threads)
        self._pool.watch(self._process, self._on_end)
        await self._process.ready(kind.start_s)
        self._pause_s = 0.0
        self._pool.report_start(None)
        return self._process

    async def _serve(self, call: WorkerCall) -> None:
        """Runs `call` by the crash rules."""
        while not call.abandoned:
            used = self._process is not None and self._process.calls > 0
            try:
                value, outcome = await self._attempt(call)
            except CallLost as lost:
                call.fail(lost.cause)
                return
            except WorkerDied as death:
                log.warning(self._event("worker_lost"), pid=self.pid, cause=death.cause.value)
                await self._lose()
                if not self._may_retry(call, death, used):
                    call.fail(death.cause)
                    return
                if self._type.warm is None:
                    self._pool.put_back(call)
                    return
                continue
            if outcome is Outcome.OUT_OF_MEMORY:
                await self._discard()
                if used:
                    continue
                call.fail(LossCause.MEMORY)
                return
            await self._recycle()
            call.finish(value)
            return

    def _may_retry(self, call: WorkerCall, death: WorkerDied, used: bool) -> bool:
        """Whether to send a call again that a worker died with. `used`: the worker had served another before."""
        if not death.had_call:
            call.unread += 1
            return call.unread <= START_TRIES + len(self._type.arguments)
        call.deaths += 1
        if self._type.hostile:
            return used and death.cause is not LossCause.TIMEOUT
        return call.deaths < TRIES

    async def _attempt(self, call: WorkerCall) -> tuple[Any, Outcome]:
        process = await self._started(START_TRIES)
        # No await between here and sending, so that memories stay open until they are sent.
        if call.abandoned:
            return None, Outcome.DONE
        known = {memory.number for memory in call.memories if memory.number in self._stored}
        for memory in call.memories:
            if memory.retained:
                self._keep(memory)
        reply = await process.call(call.call, call.memories, known, self._type.call_s)
        if reply.outcome is not Outcome.DONE:
            return None, Outcome.OUT_OF_MEMORY
        try:
            size = len(reply.body)
            return await self._pool.threads.run_large(size, self._type.decode, reply.body), Outcome.DONE
        except (ValueError, TypeError) as error:
            raise WorkerDied(await process.stop(grace_s=END_GRACE_S)) from error

    def _keep(self, memory: SharedMemory) -> None:
        """Marks a memory as the last used of those that the worker keeps."""
        known = self._stored.pop(memory.number, None)
        while known is None and len(self._stored) >= MAX_STORED:
            self._forget(next(iter(self._stored.values())))
        self._stored[memory.number] = memory

    def _forget(self, memory: SharedMemory) -> None:
        del self._stored[memory.number]
        if self._process is not None:
            self._process.forget(memory.number)

    async def _recycle(self) -> None:
        """Ends a worker that has served many calls or has grown."""
        process = self._process
        if process is not None and (
            process.calls >= self._type.max_calls
            or process.private_mb - process.start_private_mb > self._type.max_growth_mb
        ):
            await self._discard()

    async def _lose(self) -> None:
        """Discards a worker that has died, and decides when the next one may start."""
        self.deaths += self._process is not None
        self._pause_s = self._pauses.after(loop_time() - self._began)
        await self._discard()

    async def _discard(self) -> None:
        process, self._process = self._process, None
        self._stored.clear()
        if process is not None:
            await process.stop()
            log.info(self._event("worker_ended"), pid=process.pid)
