"""Pages read block by block on a model server: what is cut out, what is asked, and how it is put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER, Caller, Priority
from inkgate.engines.base import Engine
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.layout.evidence import Region
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.page import Page, RgbArray
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.settings import ReadingMode, SchedulingSettings, VllmSettings
from inkgate_client.types import BlockType, PageResult, ReviewReason, Task, TaskKind, mean_confidence
from support.ppocr import ArrayPage, drawn
from support.stub_upstream import (
    Reply,
    Request,
    StubUpstream,
    error_reply,
    image_of,
    prompt_of,
    running_stub,
    words_as_tokens,
)

pytestmark = pytest.mark.anyio

PARSE = Task(TaskKind.PARSE)
SHADES = {
    BlockType.HEADER: 10,
    BlockType.TITLE: 40,
    BlockType.TEXT: 70,
    BlockType.TABLE: 100,
    BlockType.FORMULA: 130,
    BlockType.FIGURE: 160,
    BlockType.FOOTER: 190,
}
"""How dark each block of the page below is: what the stub knows it by."""
BOXES = {
    BlockType.HEADER: (100, 20, 700, 40),
    BlockType.TITLE: (100, 80, 700, 130),
    BlockType.TEXT: (100, 160, 700, 300),
    BlockType.TABLE: (100, 330, 700, 500),
    BlockType.FORMULA: (100, 530, 700, 600),
    BlockType.FIGURE: (100, 620, 700, 800),
    BlockType.FOOTER: (350, 950, 450, 970),
}
ANSWERS = {
    BlockType.HEADER: "A journal",
    BlockType.TITLE: "On ink",
    BlockType.TEXT: "Ink flows.\nIt dries.",
    BlockType.TABLE: "<fcel>a<fcel>b<nl><fcel>1<fcel>2<nl>",
    BlockType.FORMULA: "E = mc^2",
    BlockType.FOOTER: "17",
}


def page_of(kinds: Sequence[BlockType]) -> ArrayPage:
    """A page with a grey, striped box for each kind of block."""
    rgb: RgbArray = np.full((1000, 800, 3), 255, np.uint8)
    for kind in kinds:
        left, top, right, bottom = BOXES[kind]
        rgb[top:bottom, left:right] = SHADES[kind]
        rgb[top + 4 : bottom - 4 : 9, left + 10 : right - 10] = SHADES[kind] + 12
    return ArrayPage(rgb, index=2)


def kind_in(request: Request) -> BlockType:
    """The kind of block whose picture was sent."""
    image = image_of(request)
    middle = int(np.median(image[image.shape[0] // 2 - 1 : image.shape[0] // 2 + 2]))
    return min(SHADES, key=lambda kind: min(abs(SHADES[kind] - middle), abs(SHADES[kind] + 12 - middle)))


@dataclass
class FixedLayout:
    """A Layout with given blocks."""

    kinds: Sequence[BlockType]
    looks: int = 0

    def find(self, pixels: RgbArray) -> list[Region]:
        self.looks += 1
        factor = pixels.shape[1] / 800
        boxes = [tuple(side * factor for side in BOXES[kind]) for kind in self.kinds]
        return [Region(kind, (a, b, c, d), 0.9) for kind, (a, b, c, d) in zip(self.kinds, boxes, strict=True)]


def answered(**otherwise: Reply) -> Callable[[Request], Reply]:
    """A stub that answers each block with its text, or with what is given for its kind."""

    def script(request: Request) -> Reply:
        kind = kind_in(request)
        return otherwise.get(kind.value, Reply(words_as_tokens(ANSWERS[kind])))

    return script


@asynccontextmanager
async def engine_on(
    stub: StubUpstream,
    layout: FixedLayout,
    settings: VllmSettings | None = None,
    embedded: Engine | None = None,
    queue: WorkQueue | None = None,
) -> AsyncIterator[VlmEngine]:
    settings = settings or VllmSettings(start_s=0.001)
    server = ModelServer(stub.url, settings.connect_s, "")
    engine = VlmEngine(find_preset("paddleocr-vl"), settings, server, BlockReaders(layout, embedded, queue))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def read(
    script: Callable[[Request], Reply],
    kinds: Sequence[BlockType] = tuple(BOXES),
    *,
    task: Task = PARSE,
    settings: VllmSettings | None = None,
    embedded: Engine | None = None,
) -> tuple[PageResult, StubUpstream]:
    with running_stub(script) as stub:
        async with engine_on(stub, FixedLayout(kinds), settings, embedded) as engine:
            return await engine.read(page_of(kinds), task, NO_CALLER), stub


async def test_each_block_is_asked_for_with_its_own_prompt_and_figures_are_not() -> None:
    _, stub = await read(answered())

    asked = {kind_in(request): prompt_of(request) for request in stub.seen}
    assert asked == {
        BlockType.HEADER: "OCR:",
        BlockType.TITLE: "OCR:",
        BlockType.TEXT: "OCR:",
        BlockType.TABLE: "Table Recognition:",
        BlockType.FORMULA: "Formula Recognition:",
        BlockType.FOOTER: "OCR:",
    }


async def test_the_page_is_put_together_in_reading_order() -> None:
    result, _ = await read(answered())

    assert result.error is None
    assert (result.index, result.width, result.height, result.engine) == (2, 800, 1000, "paddleocr-vl-1.6")
    assert result.markdown is not None
    header, title, text, table, formula = result.markdown.split("\n\n")
    assert header == "A journal"
    assert title in {"# On ink", "## On ink"}
    assert text == "Ink flows.\nIt dries."
    assert table.startswith("<table>")
    assert "<td>2</td>" in table
    assert formula == "$$\nE = mc^2\n$$"
    assert (result.header, result.footer) == ("A journal", "17")
    assert result.text.startswith("A journal\n\nOn ink\n\nInk flows.\nIt dries.")
    assert result.blocks is not None
    assert [block.type for block in result.blocks] == [
        BlockType.HEADER,
        BlockType.TITLE,
        BlockType.TEXT,
        BlockType.TABLE,
        BlockType.FORMULA,
        BlockType.FIGURE,
        BlockType.FOOTER,
    ]
    assert result.blocks[2].box == pytest.approx(BOXES[BlockType.TEXT], abs=1)
    assert set(result.timings_ms) == {"render", "layout", "encode", "first_token", "generate", "parse"}


async def test_words_are_found_at_their_place_in_the_pages_text() -> None:
    result, _ = await read(answered())

    assert [result.text[word.start : word.start + len(word.text)] for word in result.words] == [
        word.text for word in result.words
    ]
    assert "dries." in [word.text for word in result.words]
    assert mean_confidence(result.words) == pytest.approx(np.exp(-0.1))


async def test_all_blocks_are_at_the_server_at_once() -> None:
    layout = FixedLayout(tuple(BOXES))
    with running_stub(lambda _: Reply(silent="at all")) as stub:
        async with engine_on(stub, layout) as engine, anyio.create_task_group() as tasks:
            tasks.start_soon(engine.read, page_of(tuple(BOXES)), PARSE, NO_CALLER)
            with anyio.fail_after(60):
                while stub.most_at_once < 6:  # noqa: ASYNC110 - it happens in the server's thread
                    await anyio.sleep(0.005)
            tasks.cancel_scope.cancel()
    assert stub.most_at_once == 6


class RecordingServer(ModelServer):
    """Notes the calls that it sends."""

    def __init__(self, url: str) -> None:
        super().__init__(url, 5, "")
        self.calls: list[ModelCall] = []

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        self.calls.append(call)
        async with super().send(call) as answer:
            yield answer


@pytest.mark.parametrize("kinds", [tuple(BOXES), ()], ids=["by block", "as one image"])
async def test_every_call_says_on_whose_behalf_and_which_page_it_is_for(kinds: Sequence[BlockType]) -> None:
    caller, page = Caller("ada", Priority.BATCH, flow="42"), page_of(kinds or (BlockType.TEXT,))
    with running_stub(answered() if kinds else Reply(["Hello"])) as stub:
        server = RecordingServer(stub.url)
        blocks = BlockReaders(FixedLayout(kinds))
        engine = VlmEngine(find_preset("paddleocr-vl"), VllmSettings(start_s=0.001), server, blocks)
        await engine.start()
        await engine.read(page, PARSE, caller)
        await engine.stop()
    assert len(server.calls) == (len(stub.seen) or 1)
    assert {(call.caller, call.content) for call in server.calls} == {(caller, page.content_key)}


async def test_a_block_that_fails_is_that_blocks_error() -> None:
    result, _ = await read(answered(table=error_reply(400, "too long")))

    assert result.error is not None
    assert result.error.code == "elements_failed"
    assert "1 of 6" in result.error.detail
    assert result.blocks is not None
    failed = [block for block in result.blocks if block.error is not None]
    assert [(block.type, block.error and block.error.code) for block in failed] == [
        (BlockType.TABLE, "upstream_rejected")
    ]
    assert "Ink flows." in result.text
    assert not result.lost


async def test_a_block_with_ink_of_which_the_model_reads_nothing_is_to_be_reviewed() -> None:
    kinds = (BlockType.TITLE, BlockType.TEXT, BlockType.FORMULA)
    page = page_of((BlockType.TITLE,))
    page.rgb[160:192, 110:650] = drawn(["Ink flows. It dries."], font_px=20)[:32, :540]
    page.rgb[560, 110:690] = 200  # a rule: not blank, and nothing to read
    with running_stub(lambda request: Reply([] if np.median(image_of(request)) > 200 else ["On ink"])) as stub:
        async with engine_on(stub, FixedLayout(kinds)) as engine:
            result = await engine.read(page, PARSE, NO_CALLER)
    assert len(stub.seen) == 3
    (note,) = result.review_notes
    assert (note.reason, note.box) == (ReviewReason.INK_WITHOUT_TEXT, BOXES[BlockType.TEXT])
    assert (result.text, result.error) == ("On ink", None)


async def test_where_no_block_can_be_read_the_page_fails_as_the_first_did() -> None:
    with pytest.raises(InputRejected, match="refused the request"):
        await read(lambda _: error_reply(400, "too long"))


async def test_a_block_that_runs_in_circles_is_read_by_the_embedded_engine() -> None:
    loop = Reply(["Ink flows.\n", "And so it goes. "], endless=True)
    embedded = FakeEmbeddedEngine()
    result, _ = await read(answered(text=loop), embedded=embedded)

    assert result.error is None
    assert embedded.sizes == [(604, 144)]
    assert "read by the other" in result.text
    changes = [attempt.change for attempt in result.attempts if attempt.change.startswith("block 3")]
    assert changes[0] == "block 3"
    assert changes[-1] == "block 3, engine embedded"
    assert "block 3, temperature 0.2" in changes


async def test_blocks_for_the_embedded_engine_wait_in_the_queue_of_all_that_it_reads() -> None:
    loop = Reply(["Ink flows.\n", "And so it goes. "], endless=True)
    embedded = FakeEmbeddedEngine()
    queue = WorkQueue(FixedLimit(1), SchedulingSettings())
    with running_stub(answered(text=loop)) as stub:
        async with (
            engine_on(stub, FixedLayout(tuple(BOXES)), None, embedded, queue) as engine,
            anyio.create_task_group() as tasks,
            queue.turn(Work(1, "somebody else")),
        ):
            tasks.start_soon(engine.read, page_of(tuple(BOXES)), PARSE, NO_CALLER)
            with anyio.fail_after(30):
                while not queue.waiting:  # noqa: ASYNC110 - the queue sets no event for it
                    await anyio.sleep(0.01)
            assert queue.backlog_tokens == 604 * 144 // 1000
            assert embedded.sizes is None
    assert embedded.sizes == [(604, 144)]
    assert (queue.started, queue.in_flight) == (2, 0)


async def test_a_block_that_finds_the_queue_full_keeps_the_model_s_text_and_error() -> None:
    loop = Reply(["Ink flows.\n", "And so it goes. "], endless=True)
    embedded = FakeEmbeddedEngine()
    queue = WorkQueue(FixedLimit(1), SchedulingSettings(max_waiting=1))
    with running_stub(answered(text=loop)) as stub:
        async with (
            engine_on(stub, FixedLayout(tuple(BOXES)), None, embedded, queue) as engine,
            AsyncExitStack() as held,
        ):
            await held.enter_async_context(queue.turn(Work(1, "somebody else")))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(held_turn, queue)
                await anyio.wait_all_tasks_blocked()
                result = await engine.read(page_of(tuple(BOXES)), PARSE, NO_CALLER)
                tasks.cancel_scope.cancel()
    assert embedded.sizes is None
    assert result.error is not None
    assert result.error.code == "elements_failed"
    last = [attempt for attempt in result.attempts if attempt.change == "block 3, engine embedded"][-1]
    assert last.error is not None
    assert last.error.code == "service_full"


async def held_turn(queue: WorkQueue) -> None:
    async with queue.turn(Work(1, "a third")):
        await anyio.sleep_forever()


async def test_where_the_embedded_engine_fails_too_the_blocks_text_is_kept_with_its_error() -> None:
    loop = Reply(["Ink flows.\n", "And so it goes. "], endless=True)
    result, _ = await read(answered(text=loop), embedded=FakeEmbeddedEngine(EngineFailed("engine_failed", "No.")))

    assert result.error is not None
    assert result.error.code == "elements_failed"
    assert result.text.count("Ink flows.") == 1


@pytest.mark.parametrize(
    ("kinds", "task"),
    [
        ((), PARSE),
        ((BlockType.FIGURE,), PARSE),
        (tuple(BOXES), Task(TaskKind.TABLE)),
        (tuple(BOXES), Task(TaskKind.SPOT)),
        (tuple(BOXES), Task(TaskKind.TEXT, whole_page=True)),
    ],
    ids=["nothing found", "a picture", "a table was asked for", "places were asked for", "so it was asked for"],
)
async def test_pages_without_blocks_are_read_whole(kinds: Sequence[BlockType], task: Task) -> None:
    def script(_: Request) -> Reply:
        return Reply(words_as_tokens("all of it"))

    with running_stub(script) as stub:
        async with engine_on(stub, FixedLayout(kinds)) as engine:
            await engine.read(page_of(tuple(BOXES)), task, NO_CALLER)
    assert len(stub.seen) == 1
    height, width = image_of(stub.seen[0]).shape[:2]
    assert width / height == pytest.approx(0.8, rel=0.02)


async def test_a_line_that_somebody_cut_out_is_no_page() -> None:
    layout = FixedLayout((BlockType.TEXT,))
    line = ArrayPage(np.ascontiguousarray(page_of((BlockType.TEXT,)).rgb[160:230]))
    with running_stub(Reply(words_as_tokens("a line"))) as stub:
        async with engine_on(stub, layout) as engine:
            result = await engine.read(line, Task(), NO_CALLER)
    assert (layout.looks, result.text) == (0, "a line")


async def test_reading_whole_pages_is_a_setting() -> None:
    settings = VllmSettings(start_s=0.001, reading=ReadingMode.PAGE)
    result, stub = await read(lambda _: Reply(words_as_tokens("all of it")), settings=settings)
    assert (len(stub.seen), result.text) == (1, "all of it")


@dataclass
class FakeEmbeddedEngine:
    """An Engine that reads anything, or fails."""

    fault: InkgateError | None = None
    sizes: list[tuple[int, int]] | None = None
    name: str = "embedded"

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        assert task.kind is TaskKind.TEXT
        pixels = await page.pixels()
        self.sizes = [*(self.sizes or []), (pixels.rgb.shape[1], pixels.rgb.shape[0])]
        if self.fault is not None:
            raise self.fault
        return PageResult(page.index, text="read by the other", engine=self.name)
