"""Pages read block by block that PP-DocLayout finds: prompts by its classes, and its order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inkgate.bootstrap import build_parts
from inkgate.caller import NO_CALLER
from inkgate.engines.choose import page_layout
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import EngineFailed
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.layout.regions.doclayout import DocLayout
from inkgate.model_servers.server import ModelServer
from inkgate.page import RgbArray
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.settings import VllmSettings, load_settings
from inkgate_client.types import BlockType, PageResult, Task, TaskKind
from support.doclayout_models import ModelBox, write_model
from support.ppocr import ArrayPage
from support.stub_upstream import Reply, Request, StubUpstream, prompt_of, running_stub, words_as_tokens

SHADE = 90
FOUND = (
    ModelBox("table", (0.1, 0.1, 0.45, 0.3), 0.9, (3, 0)),
    ModelBox("chart", (0.55, 0.1, 0.9, 0.3), 0.9, (2, 0)),
    ModelBox("seal", (0.1, 0.4, 0.45, 0.6), 0.9, (1, 0)),
    ModelBox("vertical_text", (0.55, 0.4, 0.9, 0.6), 0.9, (0, 0)),
    ModelBox("image", (0.1, 0.7, 0.45, 0.8), 0.9, (4, 0)),
    ModelBox("display_formula", (0.55, 0.7, 0.9, 0.8), 0.9, (5, 0)),
)
ANSWERS = {
    "OCR:": "Ink flows.",
    "Table Recognition:": "<fcel>a<fcel>b<nl><fcel>1<fcel>2<nl>",
    "Chart Recognition:": "year | ink\n2020 | 7",
    "Seal Recognition:": "Office of Ink",
    "Formula Recognition:": "E = mc^2",
}


def page() -> ArrayPage:
    """A page with something striped in every box."""
    rgb: RgbArray = np.full((1000, 800, 3), 255, np.uint8)
    for found in FOUND:
        left, top, right, bottom = (round(share * side) for share, side in zip(found.box, (800, 1000) * 2, strict=True))
        rgb[top:bottom, left:right] = SHADE
        rgb[top + 4 : bottom - 4 : 9, left + 10 : right - 10] = SHADE + 12
    return ArrayPage(rgb)


def answer(request: Request) -> Reply:
    return Reply(words_as_tokens(ANSWERS[prompt_of(request)]))


async def read(preset: str, model: Path) -> tuple[PageResult, StubUpstream]:
    with running_stub(answer) as stub:
        settings = VllmSettings(start_s=0.001)
        server = ModelServer(stub.url, settings.connect_s, "")
        engine = VlmEngine(find_preset(preset), settings, server, BlockReaders(DocLayout(model, 1, 0.3)))
        await engine.start()
        try:
            return await engine.read(page(), Task(TaskKind.PARSE), NO_CALLER), stub
        finally:
            await engine.stop()


@pytest.mark.anyio
async def test_blocks_are_read_by_the_models_classes_in_the_models_order(tmp_path: Path) -> None:
    result, stub = await read("paddleocr-vl", write_model(tmp_path / "model.onnx", FOUND))

    assert sorted(prompt_of(request) for request in stub.seen) == sorted(ANSWERS)
    assert result.blocks is not None
    assert [block.type for block in result.blocks] == [
        BlockType.TEXT,
        BlockType.FIGURE,
        BlockType.FIGURE,
        BlockType.TABLE,
        BlockType.FIGURE,
        BlockType.FORMULA,
    ]
    assert result.markdown is not None
    places = [result.markdown.find(part) for part in ("Ink flows.", "Office of Ink", "2020", "<td>2</td>", "E = mc^2")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.anyio
async def test_a_model_that_reads_no_seals_is_not_asked_to(tmp_path: Path) -> None:
    _, stub = await read("paddleocr-vl-1.0", write_model(tmp_path / "model.onnx", FOUND))

    assert "Seal Recognition:" not in {prompt_of(request) for request in stub.seen}
    assert len(stub.seen) == len(ANSWERS) - 1


def test_the_settings_name_the_layout_model(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.onnx", [ModelBox("text", (0, 0, 1, 1), 0.5)])
    white = np.full((40, 30, 3), 255, np.uint8)

    named = page_layout(load_settings(engine={"layout": {"model": str(path)}}), OnnxRuntime(0))
    assert [region.label for region in named.find(white)] == ["text"]
    choosy = page_layout(load_settings(engine={"layout": {"model": str(path), "min_confidence": 0.6}}), OnnxRuntime(0))
    assert choosy.find(white) == []
    assert isinstance(page_layout(load_settings(), OnnxRuntime(0)), CdlaLayout)


def test_a_layout_model_that_is_none_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed) as caught:
        build_parts(load_settings(engine={"layout": {"model": str(tmp_path / "none.onnx")}}))
    assert caught.value.code == "layout_model_unusable"
    assert "none.onnx: there is no such file" in caught.value.detail
