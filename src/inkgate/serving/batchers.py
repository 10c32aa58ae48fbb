"""The batchers of the embedded engine's models: created when it starts, and run as long as the service."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Generic, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.caller import Priority
from inkgate.concurrency import Threads
from inkgate.serving.batcher import Batcher, BatchFigures
from inkgate.serving.batching import Batching, BatchModel
from inkgate.settings import BatchingSettings
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.telemetry.observer import NO_OBSERVER, Observer

log = structlog.get_logger(__name__)

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class Batchers:
    """A NewBatching. `run` must be running when it is called, and may be run again after it ended.

    Attributes:
        figures: statistics of each batcher, in order of creation.
    """

    def __init__(
        self, settings: BatchingSettings, observer: Observer = NO_OBSERVER, supervisor: Supervisor | None = None
    ) -> None:
        """`supervisor` runs each batcher."""
        self.figures: list[BatchFigures] = []
        self._settings = settings
        self._observer = observer
        self._supervisor = supervisor or Supervisor()
        self._tasks: list[BackgroundTask] = []
        self._at_work: TaskGroup | None = None

    def __call__(self, model: BatchModel[ItemT, ResultT], name: str) -> Batching[ItemT, ResultT]:
        """A running batcher around the model."""
        if self._at_work is None:
            raise RuntimeError("an engine is started while the service doesn't run")
        batcher = Batcher(model, Threads("batches", self._settings.parallel).run, self._settings)
        batcher.figures.model = name
        task = BackgroundTask(f"batcher_{name}", batcher.run, needed=True)
        self._tasks.append(task)
        self._at_work.start_soon(self._supervisor.keep, task)
        self.figures.append(batcher.figures)
        return batcher if self._observer is NO_OBSERVER else _Timed(batcher, self._observer)

    async def run(self) -> None:
        """Runs the batchers until cancelled, then logs their statistics."""
        try:
            async with anyio.create_task_group() as at_work:
                self._at_work = at_work
                for task in self._tasks:
                    at_work.start_soon(self._supervisor.keep, task)
                await anyio.sleep_forever()
        finally:
            self._at_work = None
            for figures in self.figures:
                _log(figures)


class _Timed(Generic[ItemT, ResultT]):
    """A Batching around a Batching: reports the time of each page's items, including the wait for a batch."""

    def __init__(self, inner: Batching[ItemT, ResultT], observer: Observer) -> None:
        self._inner = inner
        self._observer = observer

    async def predict(self, items: Sequence[ItemT], priority: Priority) -> list[ResultT]:
        """As Batching.predict."""
        begun = perf_counter()
        results = await self._inner.predict(items, priority)
        if results:
            self._observer.stage("batch", perf_counter() - begun)
        return results


def _log(figures: BatchFigures) -> None:
    if figures.calls:
        log.info(
            "model_calls",
            model=figures.model,
            calls=figures.calls,
            mean_batch=round(figures.mean_batch, 1),
            padding_waste=round(figures.padding_waste, 3),
            mean_wait_ms=round(figures.mean_wait_s * 1000),
            longest_wait_ms=round(figures.longest_wait_s * 1000),
        )
