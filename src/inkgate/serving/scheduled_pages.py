"""Pages wait for their turn here, ordered, and without their pixels."""

from __future__ import annotations

from time import perf_counter

from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.serving.degradation import Degradation
from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.work import current_caller
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.types import Page, PageResult, Task

_PIXELS_PER_TOKEN = 1000
"""A page is charged by its pixels, in thousands: time and memory to make and read it follow them."""


class ScheduledPages(EngineWrapper):
    """An Engine around an Engine: a page is read when the scheduler gives it a turn, on behalf of who asked for it."""

    def __init__(
        self, inner: Engine, scheduler: Scheduler, degradation: Degradation, observer: Observer = NO_OBSERVER
    ) -> None:
        """`degradation`: says when batches are refused instead. `observer`: gets the wait and the read time."""
        super().__init__(inner)
        self._scheduler = scheduler
        self._degradation = degradation
        self._observer = observer

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "service_full": it would wait too long, or too many wait already.
            InputRejected, EngineFailed: its deadline came before its turn; see `time_over`.
        """
        self._degradation.check(current_caller().priority)
        work = current_caller().work(max(1, page.size.pixels // _PIXELS_PER_TOKEN))
        asked = perf_counter()
        async with self._scheduler.turn(work) as turn:
            begun = perf_counter()
            self._observer.stage("wait", begun - asked)
            result = await self._inner.read(page, task)
            self._observer.stage("engine", perf_counter() - begun)
            if result.error is not None:
                turn.report(WorkOutcome.FAILED)
            return result
