"""Pictures of diagrams through a service: a model's answers as vLLM sends them, in every format."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from io import BytesIO

import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.files import word
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.layout.evidence import Region
from inkgate.model_servers.server import ModelServer
from inkgate.page import Page, RgbArray
from inkgate.settings import VllmSettings
from inkgate_client.codec import dump_page, load_page, page_to_dict
from inkgate_client.diagram import Diagram, DiagramCheck, DiagramRepair
from inkgate_client.formats import Format, render
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Task, TaskKind
from support.api_client import png, running_api
from support.fake_engine import FakeEngine
from support.ppocr import ArrayPage, drawn
from support.stub_upstream import Reply, prompt_of, running_stub, words_as_tokens

pytestmark = pytest.mark.anyio

PAGE = ArrayPage(drawn(["Start", "Check (twice)", "End"]))
SAID = "```mermaid\ngraph TD\nA[Start] --> B{Check (twice)}\nB -->|yes| C[End]\n```"
SOURCE = 'graph TD\nA[Start] --> B{"Check (twice)"}\nB -->|yes| C[End]'
CHARTED = PageResult(
    0,
    width=200,
    height=130,
    text="Start",
    blocks=(
        Block(
            BlockType.FIGURE,
            (0, 0, 200, 130),
            (),
            "Start",
            "",
            diagram=Diagram("flowchart", SOURCE, DiagramCheck.LIKELY),
        ),
    ),
)


class HalfChart:
    """A Layout: a chart in the upper part of a page, text in the lower."""

    def find(self, pixels: RgbArray) -> list[Region]:
        height, width = pixels.shape[:2]
        return [
            Region(BlockType.FIGURE, (0, 0, width, height * 0.6), 0.9, 0, "chart"),
            Region(BlockType.TEXT, (0, height * 0.6, width, height), 0.9, 1, "text"),
        ]


class ChartEngine(FakeEngine):
    """Finds the same flowchart on every page."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await super().read(page, task, caller)
        return replace(CHARTED, index=page.index)


async def read(said: Reply | str, preset: str = "hunyuanocr", kind: TaskKind = TaskKind.CHART) -> PageResult:
    with running_stub(said if isinstance(said, Reply) else Reply(words_as_tokens(said))) as stub:
        server = ModelServer(stub.url, 2)
        engine = VlmEngine(find_preset(preset), VllmSettings(start_s=0.001), server)
        await engine.start()
        try:
            return await engine.read(PAGE, Task(kind), NO_CALLER)
        finally:
            await engine.stop()


async def test_a_flowchart_becomes_a_block_with_mermaid_that_was_repaired() -> None:
    page = await read(SAID)
    (block,) = page.blocks or ()
    assert (block.type, block.box) == (BlockType.FIGURE, (0, 0, PAGE.size.width, PAGE.size.height))
    assert block.diagram is not None
    assert (block.diagram.mermaid, block.diagram.check) == (SOURCE, DiagramCheck.LIKELY)
    assert block.diagram.repairs == (DiagramRepair.QUOTES,)
    assert page.markdown == f"```mermaid\n{SOURCE}\n```"
    assert page.text == "Start\nCheck (twice)\nyes\nEnd"
    assert [word.text for word in page.words] == ["Start", "Check", "(twice)", "yes", "End"]
    assert load_page(dump_page(page)) == page


async def test_an_answer_that_was_cut_off_keeps_what_can_be_drawn() -> None:
    page = await read(Reply(words_as_tokens("```mermaid\ngraph TD\nA --> B\nB --> C[The la"), finish="length"))
    assert page.error is not None
    (block,) = page.blocks or ()
    assert block.diagram is not None
    assert (block.diagram.mermaid, block.diagram.repairs) == ("graph TD\nA --> B", (DiagramRepair.UNFINISHED,))


async def test_other_charts_are_tables_without_blocks() -> None:
    for preset, said in (("hunyuanocr", "| a | b |\n| --- | --- |\n| 1 | 2 |"), ("paddleocr-vl", "a | b\n1 | 2")):
        page = await read(said, preset)
        assert page.markdown == "| a | b |\n| --- | --- |\n| 1 | 2 |"
        assert page.blocks is None


async def test_every_format_shows_the_diagram() -> None:
    page = await read(SAID)
    result = DocumentResult("a.png", "image/png", 9, 1, page.engine, (page,))
    shown = {kind: render(result, kind).decode() for kind in Format}
    assert shown[Format.MERMAID] == SOURCE + "\n"
    assert shown[Format.MARKDOWN] == f"```mermaid\n{SOURCE}\n```\n"
    assert shown[Format.TEXT] == "Start\nCheck (twice)\nyes\nEnd\n"
    assert shown[Format.CSV] == ""
    assert "Check" in shown[Format.ALTO]
    assert "Check" in shown[Format.HOCR]
    assert page_to_dict(page)["blocks"][0]["diagram"] == {
        "kind": "flowchart",
        "mermaid": SOURCE,
        "check": "likely",
        "problem": "",
        "repairs": ["quotes"],
    }
    with zipfile.ZipFile(BytesIO(word.render(result))) as archive:
        content = archive.read("word/document.xml").decode()
    assert "A[Start] --&gt; B{" in content
    assert "```" not in content


async def test_several_diagrams_and_failed_pages_are_marked_in_one_file() -> None:
    page = await read(f"{SAID}\n\nand\n\n```mermaid\ngraph LR\nX --> Y\n```")
    result = DocumentResult("a.png", "image/png", 9, 1, page.engine, (page,))
    assert render(result, Format.MERMAID).decode() == (
        f"%% diagram 1, page 1\n{SOURCE}\n\n%% diagram 2, page 1\ngraph LR\nX --> Y\n"
    )


async def test_charts_that_the_layout_finds_are_drawn_too() -> None:
    def answer(request: dict[str, object]) -> Reply:
        return Reply(words_as_tokens(SAID if prompt_of(request) == "Chart Recognition:" else "Ink flows."))

    with running_stub(answer) as stub:
        engine = VlmEngine(
            find_preset("paddleocr-vl"),
            VllmSettings(start_s=0.001),
            ModelServer(stub.url, 2),
            BlockReaders(HalfChart()),
        )
        await engine.start()
        try:
            page = await engine.read(PAGE, Task(TaskKind.PARSE), NO_CALLER)
        finally:
            await engine.stop()
    diagrams = [block.diagram for block in page.blocks or () if block.diagram]
    assert [diagram.mermaid for diagram in diagrams] == [SOURCE]


async def test_a_model_without_the_task_says_which_presets_have_it() -> None:
    with pytest.raises(InputRejected, match="task_unsupported") as refused:
        await read(SAID, "olmocr-2")
    assert (
        "Presets that support chart: granite-docling, hunyuanocr-1.0, hunyuanocr-1.5, mineru-2.5,"
        in refused.value.detail
    )


async def test_the_service_answers_with_mermaid_alone() -> None:
    engine = ChartEngine()
    async with running_api(engine) as api:
        answer = await api.client.post("/ocr", files={"file": png()}, headers={"Accept": "text/vnd.mermaid"})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/vnd.mermaid; charset=utf-8"
        assert answer.text == SOURCE + "\n"
        assert engine.tasks[0].kind is TaskKind.CHART
