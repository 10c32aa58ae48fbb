"""Policies around an engine: quarantine, schedule, degrade, break, and record progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import anyio

from inkgate.caller import Caller
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import Blame, from_page_error
from inkgate.page import Page
from inkgate.serving.breaker import Breaker
from inkgate.serving.degradation import Degradation, DegradationLevel
from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.quarantine import Quarantine
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.work import Work
from inkgate.settings import DegradationSettings
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.types import PageResult, Task, TaskKind


class Quarantined(EngineWrapper):
    """An Engine around an Engine: refuses pages in quarantine. Crashes are reported to `quarantine.died`.

    It wraps the scheduler, so that suspects that wait for each other take no slots at the engine.
    """

    def __init__(self, inner: Engine, quarantine: Quarantine) -> None:
        super().__init__(inner)
        self._quarantine = quarantine

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read.

        Raises:
            InputRejected: "content_quarantined".
        """
        if not page.content_key:
            return await self._inner.read(page, task, caller)
        async with self._quarantine.reading(page.content_key):
            return await self._inner.read(page, task, caller)


_PIXELS_PER_TOKEN = 1000
"""A page is charged by its pixels, in thousands: its rendering and reading time and memory grow with them."""


class ScheduledPages(EngineWrapper):
    """An Engine around an Engine: a page waits for a slot of the scheduler, charged to its caller."""

    def __init__(
        self,
        inner: Engine,
        scheduler: Scheduler,
        degradation: Degradation,
        observer: Observer = NO_OBSERVER,
        time_s: float = math.inf,
    ) -> None:
        """`degradation` decides when batches are refused. `observer` gets the wait and the read time. `time_s`: of a
        page at the engine if its caller has no deadline, as jobs have none: their wait for a slot is not limited.
        """
        super().__init__(inner)
        self._scheduler = scheduler
        self._degradation = degradation
        self._observer = observer
        self._time_s = time_s

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
            result = await self._limited(page, task, caller)
            self._observer.stage("engine", perf_counter() - begun)
            if result.error is not None:
                slot.report(WorkOutcome.FAILED)
            return result

    async def _limited(self, page: Page, task: Task, caller: Caller) -> PageResult:
        if caller.deadline < math.inf:  # the reader keeps it
            return await self._inner.read(page, task, caller)
        with anyio.move_on_after(self._time_s):
            return await self._inner.read(page, task, caller)
        raise caller.timeout_error(f"The page was not read within {self._time_s:g} s at the engine.")


class EngineProgress:
    """When the engine last made progress, and the number of pages in it.

    Attributes:
        pages: number of pages at the engine.
    """

    def __init__(
        self,
        responded_at: Callable[[], float] = lambda: -math.inf,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`responded_at`: when a model server last sent part of a response. `clock` in seconds."""
        self.pages = 0
        self._responded_at = responded_at
        self._clock = clock
        self._read_at = -math.inf
        self._since = -math.inf

    @property
    def progressed_at(self) -> float:
        """Clock time in seconds when a page was last read or part of a response arrived."""
        return max(self._read_at, self._responded_at())

    @property
    def stuck_s(self) -> float:
        """Seconds without progress while pages are at the engine; 0 without pages."""
        return self._clock() - max(self._since, self.progressed_at) if self.pages else 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context of one page at the engine."""
        if not self.pages:
            self._since = self._clock()
        self.pages += 1
        try:
            yield
        finally:
            self.pages -= 1

    def page_read(self) -> None:
        """Records that the engine has read a page."""
        self._read_at = self._clock()


class ProgressRecorded(EngineWrapper):
    """An Engine around an Engine: records its progress."""

    def __init__(self, inner: Engine, progress: EngineProgress) -> None:
        super().__init__(inner)
        self._progress = progress

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        with self._progress.reading():
            result = await self._inner.read(page, task, caller)
            if result.error is None or from_page_error(result.error).blame is Blame.PAGE:
                self._progress.page_read()
            return result


class Degrading(EngineWrapper):
    """An Engine around an Engine: reduces the task as the level says, and lists it in `PageResult.degraded`."""

    def __init__(
        self, inner: Engine, degradation: Degradation, settings: DegradationSettings, embedded: Engine | None
    ) -> None:
        """`embedded`: reads batch work before it is shed; None if `inner` is the embedded engine."""
        super().__init__(inner)
        self._degradation = degradation
        self._settings = settings
        self._embedded = embedded

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        levels = self._degradation.levels(caller.priority)
        given_up: list[str] = []
        if DegradationLevel.IMAGE in levels:
            task = replace(task, image_scale=self._settings.image_scale)
            given_up.append(DegradationLevel.IMAGE.value)
        if DegradationLevel.OUTPUT in levels:
            task = replace(task, detect_rotation=False, max_output_tokens=self._settings.max_output_tokens)
            given_up.append(DegradationLevel.OUTPUT.value)
        engine = self._inner
        if DegradationLevel.EMBEDDED in levels and self._embedded is not None and task.kind in _OF_EMBEDDED:
            engine = self._embedded
            given_up.append(DegradationLevel.EMBEDDED.value)
        result = await engine.read(page, task, caller)
        return replace(result, degraded=(*result.degraded, *given_up)) if given_up else result


_OF_EMBEDDED = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})


class Guarded(EngineWrapper):
    """An Engine around an Engine, behind a breaker."""

    def __init__(self, inner: Engine, breaker: Breaker) -> None:
        super().__init__(inner)
        self._breaker = breaker

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "engine_breaker_open".
        """
        begun = anyio.current_time()

        def timed_out() -> bool:
            """Whether the engine used most of the service's time limit and did not finish: it hangs or is too slow.

            A client's own timeout says nothing about the engine, nor does a page that started late.
            """
            now = anyio.current_time()
            return not caller.deadline_given and now >= caller.deadline and now - begun >= caller.patience_s / 2

        async with self._breaker.guard(timed_out, page.content_key):
            return await self._inner.read(page, task, caller)
