"""What every Engine does, asked of the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER
from inkgate.engines.base import Engine
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.model_servers.server import ModelServer
from inkgate.page import Pixels
from inkgate.runtimes.choose import open_runtime
from inkgate.service.page import PageReader
from inkgate.service.page_cache import page_cache
from inkgate.service.text_layer import TextLayers
from inkgate.serving.cache import MemoryStore
from inkgate.serving.quarantine import Quarantine
from inkgate.serving.threads import FairThreads
from inkgate.settings import PpocrSettings, Precision, RuntimeName, VllmSettings
from inkgate_client.types import PageResult, Size, Task, TaskKind, mean_confidence
from support.page_readers import page_reader
from support.ppocr import ArrayPage, drawn
from support.stub_upstream import Reply, Request, image_of, most_alike, running_stub, words_as_tokens

pytestmark = pytest.mark.anyio

TEXT = ["Invoice number 20417", "Total amount 42.50", "Thank you very much"]


SECOND = "second line"
SMALL = [drawn([text, SECOND], (400, 160)) for text in TEXT]


def read_by_stub(request: Request) -> Reply:
    """What a model would read of the pages here."""
    known = [drawn(TEXT), *SMALL]
    texts = ["\n".join(TEXT), *(f"{text}\n{SECOND}" for text in TEXT)]
    return Reply(words_as_tokens(texts[most_alike(image_of(request), known)]))


@contextmanager
def built(name: str) -> Iterator[Engine]:
    runtime = open_runtime(RuntimeName.AUTO, Precision.AUTO, threads=0)
    layout = CdlaLayout(runtime)
    ppocr = PpOcr(PpocrSettings(shortest_side=320), PageAnalysis(layout), runtime)
    if name == "vllm":
        preset = find_preset("paddleocr-vl")
        tasks = {kind: preset.tasks[kind] for kind in (TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT)}
        with running_stub(read_by_stub) as stub:
            yield VlmEngine(
                replace(preset, tasks=tasks, elements=None, classes={}), VllmSettings(), ModelServer(stub.url, 5)
            )
    elif name == "cached":
        yield page_reader(ppocr, cache=page_cache(MemoryStore(1_000_000), 60.0), quarantine=Quarantine())
    elif name == "text_layer_first":
        yield page_reader(ppocr, text_layers=TextLayers(PageAnalysis(layout), FairThreads(1)))
    else:
        yield ppocr


PLACING = ["ppocr", "text_layer_first"]
"""The engines that give words coordinates."""


@pytest.fixture(scope="module", params=[*PLACING, "vllm", "cached"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    with built(request.param) as engine:
        async with anyio.create_task_group() as background:
            if isinstance(engine, PageReader) and engine.cache is not None:
                background.start_soon(engine.cache.run)
            await engine.start()
            yield engine
            await engine.stop()
            await engine.stop()
            background.cancel_scope.cancel()


@pytest.fixture(scope="module", params=PLACING)
async def placing(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    with built(request.param) as engine:
        await engine.start()
        yield engine
        await engine.stop()


@pytest.fixture(scope="module")
def page() -> ArrayPage:
    return ArrayPage(drawn(TEXT))


def inside(result: PageResult) -> bool:
    """Whether every line and word lies on the page."""
    quads = [line.quad for line in result.lines] + [word.quad for line in result.lines for word in line.words]
    return all(0 <= x <= result.width and 0 <= y <= result.height for quad in quads for x, y in quad)


async def test_a_page_is_read_in_order_with_confidence(engine: Engine, page: ArrayPage) -> None:
    result = await engine.read(page, Task(), NO_CALLER)

    assert result.text.split() == " ".join(TEXT).split()
    assert (result.width, result.height, result.rotation, result.error) == (640, 360, 0, None)
    assert 0.5 <= (mean_confidence(result.lines or result.words) or 0) <= 1
    assert result.engine
    assert result.timings_ms
    assert all(value >= 0 for value in result.timings_ms.values())


async def test_words_are_placed(placing: Engine, page: ArrayPage) -> None:
    result = await placing.read(page, Task(), NO_CALLER)

    assert [line.text for line in result.lines] == TEXT
    assert inside(result)
    assert all(0.5 <= line.confidence <= 1 for line in result.lines)
    assert [word.text for word in result.lines[0].words] == TEXT[0].split()


async def test_every_line_is_in_a_block(placing: Engine, page: ArrayPage) -> None:
    parsed = await placing.read(page, Task(kind=TaskKind.PARSE), NO_CALLER)

    assert parsed.blocks
    assert sorted(index for block in parsed.blocks for index in block.lines) == [0, 1, 2]


async def test_blocks_and_markdown_are_made_for_parse_alone(engine: Engine, page: ArrayPage) -> None:
    text = await engine.read(page, Task(), NO_CALLER)
    parsed = await engine.read(page, Task(kind=TaskKind.PARSE), NO_CALLER)

    assert (text.blocks, text.markdown, text.header, text.footer) == (None, None, None, None)
    assert "layout" not in text.timings_ms
    assert parsed.blocks is not None
    shown = " ".join(part for part in (parsed.header, parsed.markdown, parsed.footer) if part)
    assert SequenceMatcher(None, shown.split(), " ".join(TEXT).split()).ratio() > 0.7


async def test_a_blank_page_is_empty_and_no_error(engine: Engine) -> None:
    for kind in (TaskKind.TEXT, TaskKind.PARSE):
        result = await engine.read(ArrayPage(np.full((400, 300, 3), 255, np.uint8)), Task(kind=kind), NO_CALLER)
        assert (result.lines, result.text, result.error) == ((), "", None)
        assert (result.width, result.height) == (300, 400)


@pytest.mark.parametrize("task_kind", [TaskKind.TABLE, TaskKind.EXTRACT, TaskKind.TRANSLATE])
async def test_what_it_cannot_do_is_rejected(engine: Engine, page: ArrayPage, task_kind: TaskKind) -> None:
    with pytest.raises(InputRejected) as rejected:
        await engine.read(page, Task(kind=task_kind), NO_CALLER)
    assert rejected.value.code == "task_unsupported"


async def test_pages_read_at_once_are_read_as_if_alone(engine: Engine) -> None:
    pages = [ArrayPage(pixels, index) for index, pixels in enumerate(SMALL)]
    results: dict[int, PageResult] = {}

    async def read(page: ArrayPage) -> None:
        results[page.index] = await engine.read(page, Task(), NO_CALLER)

    async with anyio.create_task_group() as tasks:
        for page in pages:
            tasks.start_soon(read, page)

    assert [results[index].text.splitlines()[0] for index in range(3)] == TEXT
    assert [results[index].index for index in range(3)] == [0, 1, 2]


async def test_a_page_that_is_broken_is_reported_as_such(engine: Engine) -> None:
    @dataclass(frozen=True)
    class Broken(ArrayPage):
        async def pixels(self, longest_side: int | None = None) -> Pixels:
            raise InputRejected("page_broken", f"The page could not be rendered at {longest_side} pixels.")

    with pytest.raises(InputRejected) as rejected:
        await engine.read(Broken(np.zeros((1, 1, 3), np.uint8)), Task(), NO_CALLER)
    assert rejected.value.code == "page_broken"


async def test_places_are_in_pixels_of_the_page_not_of_the_image(placing: Engine, page: ArrayPage) -> None:
    @dataclass(frozen=True)
    class Shrunk(ArrayPage):
        @property
        def size(self) -> Size:
            return Size(self.rgb.shape[1] * 3, self.rgb.shape[0] * 3)

        async def pixels(self, longest_side: int | None = None) -> Pixels:
            return replace(await ArrayPage.pixels(self, longest_side), scale=3.0)

    whole = await placing.read(page, Task(), NO_CALLER)
    shrunk = await placing.read(Shrunk(page.rgb), Task(), NO_CALLER)

    assert (shrunk.width, shrunk.height) == (1920, 1080)
    for one, other in zip(whole.lines, shrunk.lines, strict=True):
        assert np.allclose(np.array(one.quad) * 3, other.quad, atol=0.1)
