"""The embedded engine behind the service's batchers: pages share calls, and read the same as alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from inkgate.bootstrap.batchers import Batchers
from inkgate.engines.alone import each_alone
from inkgate.engines.base import NewBatching
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.errors import EngineFailed
from inkgate.layout.cdla import CdlaLayout
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.settings import BatchingSettings, PpocrSettings
from inkgate.types import PageResult, Task
from support.ppocr import ArrayPage, drawn

pytestmark = pytest.mark.anyio

TEXTS = [[f"Line {page} of number {line}" for line in range(3)] for page in range(4)]
SETTINGS = PpocrSettings(shortest_side=320, concurrent_pages=4)


@asynccontextmanager
async def started(batching: NewBatching) -> AsyncIterator[PpOcr]:
    runtime = OnnxRuntime(1)
    engine = PpOcr(SETTINGS, CdlaLayout(runtime), runtime, batching)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def read(engine: PpOcr) -> list[PageResult]:
    """All pages, at once."""
    results: dict[int, PageResult] = {}

    async def one(number: int) -> None:
        results[number] = await engine.read(ArrayPage(drawn(TEXTS[number])), Task())

    async with anyio.create_task_group() as tasks:
        for number in range(len(TEXTS)):
            tasks.start_soon(one, number)
    return [results[number] for number in sorted(results)]


async def test_pages_share_calls_and_read_as_they_do_alone() -> None:
    async with started(each_alone) as engine:
        alone = await read(engine)
    batchers = Batchers(BatchingSettings())
    async with anyio.create_task_group() as background:
        background.start_soon(batchers.run)
        await anyio.wait_all_tasks_blocked()
        async with started(batchers) as engine:
            together = await read(engine)
        background.cancel_scope.cancel()
    assert [page.text for page in together] == [page.text for page in alone]
    assert [page.text.split("\n")[0] for page in alone] == [lines[0] for lines in TEXTS]
    recognizer = batchers.figures[0]
    assert recognizer.items == 12
    assert recognizer.calls < 12


async def test_an_engine_is_not_started_where_nothing_runs() -> None:
    runtime = OnnxRuntime(1)
    with pytest.raises((RuntimeError, EngineFailed)):
        await PpOcr(SETTINGS, CdlaLayout(runtime), runtime, Batchers(BatchingSettings())).start()
