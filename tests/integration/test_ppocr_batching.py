"""The embedded engine behind the service's batchers: pages share calls, and read the same as alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from inkgate.caller import NO_CALLER
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.page import RgbArray
from inkgate.runtimes.base import Runtime
from inkgate.runtimes.choose import open_runtime
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.serving.batching import Batchers, BatchFigures
from inkgate.settings import PpocrSettings, Precision, RuntimeName
from inkgate_client.types import PageResult, Task
from support.ppocr import ArrayPage, drawn

pytestmark = pytest.mark.anyio

TEXTS = [[f"Line {page} of number {line}" for line in range(3)] for page in range(4)]
SETTINGS = PpocrSettings(shortest_side=320, concurrent_pages=4)


PAGES = [drawn(TEXTS[page % 4] + [f"{page} lines more, " * (page % 3 + 1)] * (page % 3)) for page in range(4)]
"""Four pages whose lines have many widths."""


@asynccontextmanager
async def started(runtime: Runtime, batchers: Batchers, settings: PpocrSettings = SETTINGS) -> AsyncIterator[PpOcr]:
    engine = PpOcr(settings, PageAnalysis(CdlaLayout(runtime)), runtime, batchers)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def read_at_once(engine: PpOcr, pages: list[RgbArray]) -> list[PageResult]:
    """All pages, at the same time; without what they took."""
    results: dict[int, PageResult] = {}

    async def one(number: int) -> None:
        results[number] = replace(await engine.read(ArrayPage(pages[number]), Task(), NO_CALLER), timings_ms={})

    async with anyio.create_task_group() as tasks:
        for number in range(len(pages)):
            tasks.start_soon(one, number)
    return [results[number] for number in sorted(results)]


async def read_batched(
    runtime: Runtime, pages: list[RgbArray], settings: PpocrSettings = SETTINGS, *, across_pages: bool = True
) -> tuple[list[PageResult], BatchFigures]:
    """All pages at the same time, and what the recogniser's batcher did."""
    batchers = Batchers(settings.batching, across_pages=across_pages)
    async with started(runtime, batchers, settings) as engine:
        results = await read_at_once(engine, pages)
    return results, batchers.by_model["recognizer"]


def confidences(page: PageResult) -> list[float]:
    """Of each line and of each word in it."""
    return [confidence for line in page.lines for confidence in (line.confidence, *(w.confidence for w in line.words))]


def without_confidences(page: PageResult) -> PageResult:
    lines = [
        replace(line, confidence=0.0, words=tuple(replace(word, confidence=0.0) for word in line.words))
        for line in page.lines
    ]
    return replace(page, lines=tuple(lines))


async def test_pages_share_calls_and_read_as_they_do_alone() -> None:
    pages = [drawn(texts) for texts in TEXTS]
    runtime = OnnxRuntime(1)
    async with started(runtime, Batchers(SETTINGS.batching)) as engine:
        alone = await read_at_once(engine, pages)
    together, recognizer = await read_batched(runtime, pages)
    assert [page.text for page in together] == [page.text for page in alone]
    assert [page.text.split("\n")[0] for page in alone] == [lines[0] for lines in TEXTS]
    assert recognizer.items == 12
    assert recognizer.calls < 12


@pytest.fixture(params=["openvino f32", "openvino bf16", "openvino int8", "onnxruntime f32"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    name, precision = request.param.split()
    return open_runtime(RuntimeName(name), Precision(precision), 0)


async def test_a_page_reads_the_same_to_the_last_bit_alone_and_beside_others(runtime: Runtime) -> None:
    settings = SETTINGS.model_copy(update={"concurrent_pages": len(PAGES)})
    async with started(runtime, Batchers(settings.batching), settings) as engine:
        alone = [(await read_at_once(engine, [page]))[0] for page in PAGES]
    together, recognizer = await read_batched(runtime, PAGES, settings)
    assert recognizer.calls < recognizer.items
    within, _ = await read_batched(runtime, PAGES, settings, across_pages=False)
    assert within == alone
    assert len({page.text for page in alone}) == len(PAGES)
    if runtime.name.startswith("openvino"):
        assert together == alone
        return
    # ONNX Runtime sums in another order where more lines share a call. On eight real pages no text differed, and no
    # confidence by more than 7e-8.
    assert [without_confidences(page) for page in together] == [without_confidences(page) for page in alone]
    assert [confidences(page) for page in together] == [pytest.approx(confidences(page), abs=1e-6) for page in alone]
