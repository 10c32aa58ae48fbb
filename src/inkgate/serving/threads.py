"""Threads for blocking work on behalf of callers, shared fairly between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import ParamSpec, TypeVar

import anyio.from_thread

from inkgate.caller import Caller
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import Turn, WorkQueue
from inkgate.settings import SchedulingSettings
from inkgate_client.concurrency import INLINE_BYTES, pausing, run_charged

P = ParamSpec("P")
T = TypeVar("T")

_SLICE_MS = 20
"""Long work gives up its turn after this time, if other work waits for one."""
_BYTES_PER_MS = 100_000
"""Estimate of what a thread parses, copies or renders, until its time is known."""


class FairThreads:
    """Threads for blocking work on behalf of callers, who share them by measured time, as they share an engine.

    A cancelled caller returns at once. A thread that still runs for it keeps its turn, and its request is charged,
    until the thread ends: what runs must use nothing that its caller frees. Used from one event loop.
    """

    def __init__(self, limit: int, scheduling: SchedulingSettings | None = None) -> None:
        """`limit`: threads at once. `scheduling`: how callers share them."""
        self._queue = WorkQueue(FixedLimit(limit), scheduling or SchedulingSettings(), timed=True)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a thread."""
        return self._queue.waiting

    async def run(self, caller: Caller, cost_ms: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `function(*args, **kwargs)`, run in a thread. `cost_ms`: estimated time."""
        async with self._queue.turn(Work.for_caller(caller, max(1, cost_ms))) as turn:
            return await run_charged(turn, function, *args, **kwargs)

    async def run_large(
        self, caller: Caller, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs `function` like `run`, but at once if `size`, the bytes that it works on, is at most INLINE_BYTES: it
        would take less than a turn does.
        """
        if size <= INLINE_BYTES:
            return function(*args, **kwargs)
        return await self.run(caller, 1 + size // _BYTES_PER_MS, function, *args, **kwargs)

    async def run_long(self, caller: Caller, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `function` like `run`, but it may take long and calls `concurrency.pause` at its steps: after
        `_SLICE_MS`, other callers go first, and once its own caller has left, it ends there.
        """
        turn = _LongTurn(self._queue, Work.for_caller(caller, _SLICE_MS))
        await turn.begin()
        error: BaseException | None = None
        try:
            with pausing(turn.pause):
                return await run_charged(turn, function, *args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            turn.leave(error)


class _LongTurn:
    """The turns of one work in a thread, one after another. It is their Charge."""

    def __init__(self, queue: WorkQueue, work: Work) -> None:
        self._queue = queue
        self._work = work
        self._turn: Turn | None = None
        self._left = False
        self._until = math.inf

    async def begin(self) -> None:
        """Waits for a turn."""
        self._turn = await self._queue.begin(self._work)
        self._until = perf_counter() + _SLICE_MS / 1000

    def begin_work(self) -> None:
        if self._turn is not None:
            self._turn.begin_work()

    def end_work(self) -> None:
        if self._turn is not None:
            self._turn.end_work()

    def leave(self, error: BaseException | None) -> None:
        """The caller has left, by `error` or without one. The turn ends with the work."""
        self._left = True
        if self._turn is not None:
            self._turn.leave(error)

    def pause(self) -> None:
        """Lets others go first. In the thread; raises if the caller has left."""
        if perf_counter() < self._until:
            return
        anyio.from_thread.check_cancelled()
        if self._queue.waiting:
            anyio.from_thread.run(self._begin_again)
        else:
            self._until = perf_counter() + _SLICE_MS / 1000

    async def _begin_again(self) -> None:
        if self._end():
            await self.begin()
            self.begin_work()
            if self._left:  # meanwhile
                self.leave(None)

    def _end(self) -> bool:
        """Ends the turn; false if there is none, or the caller has left, so that it ends with the work."""
        turn = self._turn
        if turn is None or self._left:
            return False
        self._turn = None
        turn.end_work()
        turn.leave(None)
        return True
