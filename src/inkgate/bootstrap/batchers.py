"""The batchers of the embedded engine's models: made when it is started, at work as long as the service."""

from __future__ import annotations

from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from inkgate.concurrency import Threads
from inkgate.engines.base import Batching, BatchModel
from inkgate.serving.batcher import Batcher, BatchFigures
from inkgate.settings import BatchingSettings

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class Batchers:
    """A NewBatching. `run` has to be running when it is called.

    Attributes:
        figures: what each batcher did, in the order in which they were made.
    """

    def __init__(self, settings: BatchingSettings) -> None:
        self.figures: list[BatchFigures] = []
        self._settings = settings
        self._at_work: TaskGroup | None = None

    def __call__(self, model: BatchModel[ItemT, ResultT]) -> Batching[ItemT, ResultT]:
        """A batcher around the model, at work."""
        if self._at_work is None:
            raise RuntimeError("an engine is started while the service doesn't run")
        batcher = Batcher(model, Threads("batches", self._settings.parallel).run, self._settings)
        self._at_work.start_soon(batcher.run)
        self.figures.append(batcher.figures)
        return batcher

    async def run(self) -> None:
        """Lets them work, until cancelled."""
        async with anyio.create_task_group() as at_work:
            self._at_work = at_work
            try:
                await anyio.sleep_forever()
            finally:
                self._at_work = None
