"""A document's path: order, window, failures of pages, deadline, and leaving early."""

import io
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from PIL import Image

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.open import Opener
from inkgate.documents.pages import parse_pages
from inkgate.errors import EngineFailed, InputRejected
from inkgate.page import Page
from inkgate.service.page import DEGRADED_NOTES, NO_SERVER
from inkgate.service.reader import CheckedOptions, Reader
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, DocumentStatus, PageResult, Task
from support.scripted_engine import PageScript, ScriptedEngine, at_once

pytestmark = pytest.mark.anyio

WINDOW = 3


def document(pages: int) -> Document:
    frames = [Image.new("L", (40 + number, 30), 255) for number in range(pages)]
    file = io.BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    return Document(file.getvalue(), "pages.tif")


@asynccontextmanager
async def reader_of(engine: ScriptedEngine, **limits: float) -> AsyncIterator[Reader]:
    settings = LimitSettings.model_validate({"page_window": WINDOW, **limits})
    async with Opener(settings, PdfSettings(warm_workers=0)) as opener:
        yield Reader(opener, engine, settings)


class Gates:
    """Holds every page back until it is let go."""

    def __init__(self) -> None:
        self._gates: defaultdict[int, anyio.Event] = defaultdict(anyio.Event)

    async def script(self, index: int) -> None:
        await self._gates[index].wait()

    def open(self, index: int) -> None:
        self._gates[index].set()


async def test_pages_come_in_order_though_they_are_done_in_another() -> None:
    gates = Gates()
    engine = ScriptedEngine(gates.script)
    async with reader_of(engine) as reader, reader.read(document(3), CheckedOptions(), NO_CALLER) as reading:
        for index in (2, 1, 0):
            gates.open(index)
        result = await reading.all()
    assert [page.text for page in result.pages] == ["page 0", "page 1", "page 2"]
    assert [page.width for page in result.pages] == [40, 41, 42]
    assert result.status is DocumentStatus.COMPLETE
    assert (result.name, result.mime_type, result.page_count, result.engine) == (
        "pages.tif",
        "image/tiff",
        3,
        "scripted",
    )


async def test_a_finished_page_is_handed_over_before_the_next_is_done() -> None:
    gates = Gates()
    async with (
        reader_of(ScriptedEngine(gates.script)) as reader,
        reader.read(document(2), CheckedOptions(), NO_CALLER) as reading,
    ):
        pages = aiter(reading)
        gates.open(0)
        assert (await anext(pages)).text == "page 0"
        gates.open(1)
        assert (await anext(pages)).text == "page 1"


async def test_a_consumer_that_stops_consuming_stops_the_reading() -> None:
    engine = ScriptedEngine()
    async with reader_of(engine) as reader, reader.read(document(20), CheckedOptions(), NO_CALLER) as reading:
        pages = aiter(reading)
        await anext(pages)
        for _ in range(50):
            await anyio.wait_all_tasks_blocked()
        assert len(engine.begun) <= WINDOW + 1
        assert engine.most_at_once <= WINDOW
        rest = [page.index async for page in pages]
    assert rest == list(range(1, 20))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputRejected("page_broken", "It is torn."), "page_broken"),
        (EngineFailed("engine_unavailable", "Not yet."), "engine_unavailable"),
        (ZeroDivisionError("a bug"), "engine_failed"),
    ],
)
async def test_a_page_that_fails_carries_its_error_and_the_others_are_answered(error: Exception, code: str) -> None:
    async def script(index: int) -> None:
        if index == 1:
            raise error

    async with (
        reader_of(ScriptedEngine(script)) as reader,
        reader.read(document(3), CheckedOptions(), NO_CALLER) as reading,
    ):
        result = await reading.all()
    assert result.status is DocumentStatus.PARTIAL
    assert [page.text for page in result.pages] == ["page 0", "", "page 2"]
    failed = result.pages[1].error
    assert failed is not None
    assert failed.code == code
    assert failed.remedy
    assert "bug" not in failed.detail


async def test_pages_that_are_not_read_in_time_fail_and_the_others_are_answered() -> None:
    async def script(index: int) -> None:
        if index > 0:
            await anyio.sleep_forever()

    engine = ScriptedEngine(script)
    async with (
        reader_of(engine, time_s=0.3) as reader,
        reader.read(document(8), CheckedOptions(), NO_CALLER) as reading,
    ):
        result = await reading.all()
    codes = [page.error and page.error.code for page in result.pages]
    assert codes == [None] + ["service_timeout"] * 7
    assert result.status is DocumentStatus.PARTIAL


async def test_leaving_early_cancels_what_is_being_read() -> None:
    gates, others_read = Gates(), anyio.Event()

    async def script(index: int) -> None:
        if index:
            others_read.set()
        await gates.script(index)

    engine = ScriptedEngine(script)
    async with reader_of(engine) as reader:
        async with reader.read(document(5), CheckedOptions(), NO_CALLER) as reading:
            gates.open(0)
            await anext(aiter(reading))
            await others_read.wait()
        assert not engine.running
        assert engine.cancelled


async def test_another_task_that_waits_for_a_page_is_told_that_the_block_was_left() -> None:
    engine = ScriptedEngine(Gates().script)
    told: list[str] = []

    async def wait(pages: AsyncIterator[PageResult]) -> None:
        with pytest.raises(RuntimeError) as raised:
            await anext(pages)
        told.append(str(raised.value))

    with anyio.fail_after(5):
        async with reader_of(engine) as reader, anyio.create_task_group() as tasks:
            reads = reader.read(document(2), CheckedOptions(), NO_CALLER)
            tasks.start_soon(wait, aiter(await reads.__aenter__()))
            await anyio.wait_all_tasks_blocked()
            await reads.__aexit__(None, None, None)
    assert told == ["The block of this reading was left before all pages were read."]


async def test_an_error_of_the_consumer_comes_out_as_itself() -> None:
    async with reader_of(ScriptedEngine()) as reader:
        with pytest.raises(LookupError, match="lost"):
            async with reader.read(document(5), CheckedOptions(), NO_CALLER) as reading:
                await anext(aiter(reading))
                raise LookupError("lost")


async def test_only_the_pages_asked_for_are_read() -> None:
    engine = ScriptedEngine()
    options = CheckedOptions(pages=parse_pages("2-3,5"))
    async with reader_of(engine) as reader, reader.read(document(6), options, NO_CALLER) as reading:
        assert reading.selected == (1, 2, 4)
        result = await reading.all()
    assert sorted(engine.begun) == [1, 2, 4]
    assert result.page_count == 6
    assert [page.index for page in result.pages] == [1, 2, 4]


@pytest.mark.parametrize(
    ("script", "pages", "code"),
    [(at_once, None, "too_many_pages"), (at_once, "9", "pages_invalid")],
)
async def test_a_selection_that_is_not_to_be_had_is_rejected(script: PageScript, pages: str | None, code: str) -> None:
    options = CheckedOptions(pages=parse_pages(pages) if pages else None)
    async with reader_of(ScriptedEngine(script), max_pages=4) as reader:
        with pytest.raises(InputRejected) as caught:
            async with reader.read(document(6), options, NO_CALLER):
                pass
    assert caught.value.code == code


async def test_a_reading_that_is_cancelled_while_its_caller_is_woken_ends_by_the_cancellation() -> None:
    """As where the save of a page and the news that the job was cancelled come in one transaction."""
    gates, saved = Gates(), anyio.Event()
    engine = ScriptedEngine(gates.script)
    scope = anyio.CancelScope()
    gates.open(0)

    async def read_all(reader: Reader) -> None:
        with scope:
            async with reader.read(document(3), CheckedOptions(), NO_CALLER) as reading:
                async for _ in reading:
                    await saved.wait()

    async with reader_of(engine) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(read_all, reader)
        await anyio.wait_all_tasks_blocked()
        saved.set()
        scope.cancel()
    assert scope.cancelled_caught


class SeveralEngines(ScriptedEngine):
    """Reads each page as another: by an engine, from a text layer, at reduced quality, not at all."""

    def __init__(self, *pages: PageResult) -> None:
        super().__init__()
        self.pages = pages

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return replace(self.pages[page.index], index=page.index)


LAYER, MODEL = PageResult(0, text="a", engine="text_layer"), PageResult(0, text="b", engine="model")
EMBEDDED = PageResult(0, text="c", engine="ppocr", degraded=(NO_SERVER,))
LOST = PageResult(0, engine="scripted", error=EngineFailed("engine_failed", "No.").as_page_error())
SMALL = replace(MODEL, degraded=("image",))


@pytest.mark.parametrize(
    ("pages", "engine", "notes"),
    [
        ((MODEL, MODEL), "model", []),
        ((EMBEDDED, EMBEDDED), "ppocr", [f"Pages 1-2: {DEGRADED_NOTES[NO_SERVER]}"]),
        ((MODEL, EMBEDDED, LAYER), "model+ppocr", [f"Page 2: {DEGRADED_NOTES[NO_SERVER]}"]),
        ((LAYER, LAYER), "text_layer", []),
        ((LOST, EMBEDDED), "ppocr", [f"Page 2: {DEGRADED_NOTES[NO_SERVER]}"]),
        ((LOST,), "scripted", []),
        ((replace(EMBEDDED, fields={"total": "3"}, degraded=()),), "ppocr+scripted", []),
        ((SMALL, MODEL, SMALL, SMALL, SMALL), "model", [f"Pages 1, 3-5: {DEGRADED_NOTES['image']}"]),
    ],
)
async def test_a_document_says_who_read_it_and_what_was_given_up(
    pages: tuple[PageResult, ...], engine: str, notes: list[str]
) -> None:
    async with (
        reader_of(SeveralEngines(*pages)) as reader,
        reader.read(document(len(pages)), CheckedOptions(), NO_CALLER) as reading,
    ):
        assert reading.engine == "scripted"
        result = await reading.all()
    assert (result.engine, list(result.notes)) == (engine, notes)
