"""inkgate's embedded engine in this process, from a file's bytes to its text: without HTTP, policies or cache."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from benchmarks.engines.closed import Read
from benchmarks.engines.sample import data_of
from inkgate.bootstrap.stack import pool_of, with_workers
from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.choose import embedded_engine, page_analysis, runtime_of
from inkgate.serving.batching import Batchers, BatchFigures
from inkgate.settings import Quality, load_settings
from inkgate_bench.accuracy.manifest import Entry
from inkgate_client.types import Document, Task


@dataclass
class OwnEngine:
    """A started engine. `figures`: of its recognizer's batcher."""

    engine: Engine
    opener: Opener
    runtime: str
    figures: BatchFigures

    async def read(self, entry: Entry) -> Read:
        document = Document(data_of(entry.file), entry.file.name)
        async with self.opener.open(document) as opened:
            result = await self.engine.read(await opened.page(0), Task(), NO_CALLER)
        return Read(result.text, dict(result.timings_ms))


@asynccontextmanager
async def started(quality: Quality = Quality.BEST) -> AsyncIterator[OwnEngine]:
    """The engine as the service starts it, with loaded models."""
    settings = with_workers(load_settings(None, engine={"ppocr": {"quality": quality}}))
    runtime, workers = runtime_of(settings), pool_of(settings.engine.ppocr)
    batchers = Batchers(settings.engine.ppocr.batching)
    async with Opener(settings.limits, settings.pdf) as opener, anyio.create_task_group() as background:
        if workers:
            background.start_soon(workers.run)
        await anyio.wait_all_tasks_blocked()
        analysis = page_analysis(settings, runtime)
        engine = embedded_engine(settings, analysis, workers or runtime, batchers)
        await engine.start()
        name = f"{runtime.name}, {settings.engine.ppocr.workers} workers" if workers else runtime.name
        yield OwnEngine(engine, opener, name, batchers.by_model["recognizer"])
        await engine.stop()
        background.cancel_scope.cancel()
