"""The embedded engine: PP-OCR models on the CPU."""

from __future__ import annotations

from functools import partial

import anyio

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.ppocr.models import BatchedModels, PpocrModels
from inkgate.engines.ppocr.page_read import PageRead
from inkgate.engines.ppocr.worker import models_of
from inkgate.engines.workers.pool import WorkerPool
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.layout.base import Layout
from inkgate.runtimes.base import Runtime
from inkgate.serving.batching import NewBatching, unbatched
from inkgate.settings import PpocrSettings
from inkgate.types import Page, PageResult, Task, TaskKind

KINDS = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks of this engine. The result of `spot`, lines with their boxes, is the same as of `text`."""


class PpOcr:
    """An Engine. Reads `settings.concurrent_pages` pages at once; the others wait before their pixels are rendered."""

    name = "ppocr"

    def __init__(
        self,
        settings: PpocrSettings,
        layout: Layout,
        models: Runtime | WorkerPool,
        batching: NewBatching = unbatched,
    ) -> None:
        """`layout` is used for Markdown and blocks only. `models`: run in this process or in workers. `batching`: for
        the models that read lines.
        """
        self._settings = settings
        self._load = partial(models_of, models) if isinstance(models, WorkerPool) else partial(PpocrModels.load, models)
        self._batching = batching
        self._layout = layout
        self._pages = anyio.CapacityLimiter(settings.concurrent_pages)
        self._threads = Threads("ppocr", settings.concurrent_pages)
        # One page is detected at a time per process: detection needs by far the most memory, and one call of the model
        # uses all cores anyway.
        self._detections = Threads("ppocr_detection", max(settings.workers, 1))
        self._models: BatchedModels | None = None

    async def start(self) -> None:
        """Loads the models.

        Raises:
            EngineFailed: "engine_unavailable": a model file is missing or broken; "provider_unavailable": a GPU.
        """
        try:
            models = await self._threads.run(self._load)
        except EngineFailed:
            raise
        except Exception as error:  # runtimes raise any exception for a broken file
            raise EngineFailed("engine_unavailable", "The embedded engine's models could not be loaded.") from error
        self._models = BatchedModels(
            models.detector,
            models.page_orientation,
            self._batching(models.recognizer, "recognizer"),
            self._batching(models.line_orientation, "line_orientation"),
        )

    async def stop(self) -> None:
        self._models = None

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. `timings_ms` has: render, orient, detect, recognize, layout, ruling, arrange."""
        if task.kind not in KINDS:
            raise InputRejected("task_unsupported", f"The embedded engine does not support {task.kind.value!r}.")
        if self._models is None:
            raise EngineFailed("engine_unavailable", "The embedded engine has not been started.")
        reading = PageRead(
            self._models, self._layout, self._threads, self._detections, self._settings, task, caller.priority
        )
        async with self._pages:
            try:
                return await reading.read(page)
            except InkgateError:
                raise
            except Exception as error:  # one page's failure must not spread: native code raises any exception
                raise EngineFailed("engine_failed", "The embedded engine failed on this page.") from error
