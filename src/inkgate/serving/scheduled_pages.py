"""Schedules pages at the engine. Pages are not rendered while they wait."""

from __future__ import annotations

from time import perf_counter

from inkgate.caller import Caller
from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.serving.degradation import Degradation
from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.work import Work
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.types import Page, PageResult, Task

_PIXELS_PER_TOKEN = 1000
"""A page is charged by its pixels, in thousands: its rendering and reading time and memory grow with them."""


class ScheduledPages(EngineWrapper):
    """An Engine around an Engine: a page waits for a slot of the scheduler, charged to the current caller."""

    def __init__(
        self, inner: Engine, scheduler: Scheduler, degradation: Degradation, observer: Observer = NO_OBSERVER
    ) -> None:
        """`degradation` decides when batches are refused. `observer` gets the wait and the read time."""
        super().__init__(inner)
        self._scheduler = scheduler
        self._degradation = degradation
        self._observer = observer

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "service_full": it would wait too long, or too many wait already.
            InputRejected, EngineFailed: its deadline passed before it got a slot; see `timeout_error`.
        """
        self._degradation.check(caller.priority)
        work = Work.for_caller(caller, max(1, page.size.pixels // _PIXELS_PER_TOKEN))
        asked = perf_counter()
        async with self._scheduler.slot(work) as slot:
            begun = perf_counter()
            self._observer.stage("wait", begun - asked)
            result = await self._inner.read(page, task, caller)
            self._observer.stage("engine", perf_counter() - begun)
            if result.error is not None:
                slot.report(WorkOutcome.FAILED)
            return result
