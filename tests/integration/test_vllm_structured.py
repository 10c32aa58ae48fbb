"""Answers in a JSON schema, models that find blocks themselves, and answers that give blocks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest

from inkgate.caller import NO_CALLER
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.layout.evidence import Region
from inkgate.model_servers.server import ModelServer
from inkgate.page import RgbArray
from inkgate.settings import VllmSettings
from inkgate_client.types import BlockType, Size, Task, TaskKind
from support.ppocr import ArrayPage
from support.stub_upstream import Reply, Request, StubUpstream, error_reply, image_of, prompt_of, running_stub

pytestmark = pytest.mark.anyio

EXTRACT = Task(TaskKind.EXTRACT, fields=("total", "date"))
PARSE = Task(TaskKind.PARSE)


def striped(height: int = 1400, width: int = 1000) -> ArrayPage:
    """A page that is not blank, darker from top to bottom."""
    rgb: RgbArray = np.full((height, width, 3), 255, np.uint8)
    rgb[::7] = np.linspace(200, 0, len(rgb[::7])).astype(np.uint8)[:, None, None]
    return ArrayPage(rgb)


class OneBlock:
    """A Layout that finds one block of text."""

    def find(self, pixels: RgbArray) -> list[Region]:
        height, width = pixels.shape[:2]
        return [Region(BlockType.TEXT, (0, 0, width, height), 0.9)]


@asynccontextmanager
async def engine_on(stub: StubUpstream, name: str, settings: VllmSettings) -> AsyncIterator[VlmEngine]:
    engine = VlmEngine(find_preset(name), settings, ModelServer(stub.url, 10), BlockReaders(OneBlock()))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def refusing(answer: str, status: int = 400) -> Callable[[Request], Reply]:
    """A server that knows no schemas."""

    def script(request: Request) -> Reply:
        if "response_format" in request:
            return error_reply(status, "Grammar error: unsupported. Secret.")
        return Reply([answer])

    return script


async def test_a_schema_is_sent_for_fields_and_for_nothing_else() -> None:
    with running_stub(lambda _: Reply(['{"total": "3.50", "date": null}'])) as stub:
        async with engine_on(stub, "hunyuanocr", VllmSettings()) as engine:
            result = await engine.read(striped(), EXTRACT, NO_CALLER)
            await engine.read(striped(), Task(), NO_CALLER)
        async with engine_on(stub, "hunyuanocr", VllmSettings(structured_fields=False)) as engine:
            await engine.read(striped(), EXTRACT, NO_CALLER)
    assert result.fields == {"total": "3.50", "date": None}
    forced, text, free = stub.seen
    assert forced["response_format"]["json_schema"]["schema"]["required"] == ["total", "date"]
    assert "response_format" not in text
    assert "response_format" not in free


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_the_schema_is_asked_without_and_then_for_a_while_never_with(status: int) -> None:
    with running_stub(refusing('{"total": "3.50"}', status)) as stub:
        async with engine_on(stub, "glm-ocr", VllmSettings()) as engine:
            results = [await engine.read(striped(), EXTRACT, NO_CALLER) for _ in range(2)]
    assert [result.fields for result in results] == [{"total": "3.50"}] * 2
    assert ["response_format" in request for request in stub.seen] == [True, False, False]


async def test_a_request_that_is_refused_without_a_schema_too_says_nothing_about_schemas() -> None:
    with running_stub(lambda _: error_reply(400, "No.")) as stub:
        async with engine_on(stub, "qwen3-vl", VllmSettings()) as engine:
            for _ in range(2):
                with pytest.raises(InputRejected) as refused:
                    await engine.read(striped(), EXTRACT, NO_CALLER)
    assert refused.value.code == "upstream_rejected"
    assert ["response_format" in request for request in stub.seen] == [True, False, True, False]


async def test_what_was_not_asked_for_and_is_no_value_is_dropped() -> None:
    wild = {"total": {"amount": 3.5}, "date": "x" * 5000, "other": "1", "more": []}
    with running_stub(lambda _: Reply([json.dumps(wild)])) as stub:
        async with engine_on(stub, "qwen2.5-vl", VllmSettings()) as engine:
            result = await engine.read(striped(), EXTRACT, NO_CALLER)
    assert result.fields == {"total": None, "date": None}


async def test_a_forced_answer_that_ends_in_blanks_only_is_complete_and_is_stopped() -> None:
    with running_stub(lambda _: Reply(['{"total": "3.50", "date": null', *[" \n" * 20] * 9], endless=True)) as stub:
        async with engine_on(stub, "qwen-vl", VllmSettings()) as engine:
            result = await engine.read(striped(), EXTRACT, NO_CALLER)
    assert (result.fields, result.error) == ({"total": "3.50", "date": None}, None)
    assert len(stub.seen) == 1


LAYOUT = (
    "<|box_start|>100 100 900 200<|box_end|><|ref_start|>title<|ref_end|><|rotate_up|>\n"
    "<|box_start|>100 300 200 900<|box_end|><|ref_start|>text<|ref_end|><|rotate_right|>\n"
    "<|box_start|>300 300 900 900<|box_end|><|ref_start|>image<|ref_end|><|rotate_up|>\n"
)


def mineru(layout: Reply) -> Callable[[Request], Reply]:
    def script(request: Request) -> Reply:
        if prompt_of(request) == "\nLayout Detection:":
            return layout
        wide, high = image_of(request).shape[1::-1]
        return Reply([f"{'wide' if wide > high else 'high'}"])

    return script


async def test_a_model_with_a_layout_of_its_own_finds_the_blocks_and_reads_each_upright() -> None:
    with running_stub(mineru(Reply([LAYOUT]))) as stub:
        async with engine_on(stub, "mineru", VllmSettings()) as engine:
            result = await engine.read(striped(), PARSE, NO_CALLER)
    assert image_of(stub.seen[0]).shape == (1036, 1036, 3)
    assert result.markdown == "# wide\n\nwide"
    assert result.blocks is not None
    assert [(block.type, block.text) for block in result.blocks] == [
        (BlockType.TITLE, "wide"),
        (BlockType.TEXT, "wide"),
        (BlockType.FIGURE, ""),
    ]
    assert result.blocks[1].box == pytest.approx((100, 420, 200, 1260), abs=1)
    assert [attempt.change for attempt in result.attempts] == ["layout", "block 1", "block 2"]


@pytest.mark.parametrize(
    ("layout", "texts"),
    [
        (error_reply(500, "Broken."), ["high"]),  # the layout model's one block
        (Reply([LAYOUT], finish="length"), ["high"]),
        (Reply(["nothing"]), None),  # the whole page
    ],
)
async def test_without_a_layout_from_the_model_the_page_is_read_all_the_same(
    layout: Reply, texts: list[str] | None
) -> None:
    with running_stub(mineru(layout)) as stub:
        async with engine_on(stub, "mineru", VllmSettings()) as engine:
            result = await engine.read(striped(), PARSE, NO_CALLER)
    assert result.text == "high"
    assert [block.text for block in result.blocks or ()] == (texts or [])


async def test_places_in_pixels_of_the_image_that_the_model_saw_become_those_of_the_page() -> None:
    page = striped(8000, 6000)
    limits = find_preset("dots.mocr").plan(TaskKind.PARSE).limits

    def script(request: Request) -> Reply:
        height, width = image_of(request).shape[:2]
        seen = limits.resized(Size(width, height))
        cells = [
            {"bbox": [0, 0, seen.width / 2, seen.height / 2], "category": "Text", "text": "Half."},
            {"bbox": [0, seen.height - 40, 40, seen.height], "category": "Page-footer", "text": "- 17 -"},
        ]
        return Reply([json.dumps(cells)])

    with running_stub(script) as stub:
        async with engine_on(stub, "dots.mocr", VllmSettings()) as engine:
            result = await engine.read(page, PARSE, NO_CALLER)
    assert image_of(stub.seen[0]).shape[0] < 8000
    assert result.blocks is not None
    assert result.blocks[0].box == pytest.approx((0, 0, 3000, 4000), abs=1)
    assert (result.markdown, result.footer) == ("Half.", "- 17 -")
    assert [part.text for part in result.left_out] == ["- 17 -"]


async def test_a_model_without_a_prompt_gets_the_image_only() -> None:
    with running_stub(lambda _: Reply(["# A"])) as stub:
        async with engine_on(stub, "lightonocr", VllmSettings()) as engine:
            await engine.read(striped(), PARSE, NO_CALLER)
    (request,) = stub.seen
    assert [part["type"] for part in request["messages"][-1]["content"]] == ["image_url"]
    assert max(image_of(request).shape) == 1400
