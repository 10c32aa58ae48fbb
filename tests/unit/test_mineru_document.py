"""Pages as MinerU's own files have them."""

from __future__ import annotations

from typing import Any

import orjson

from inkgate.api.mineru_document import MineruPage
from inkgate_client.block_image import BlockImage
from inkgate_client.types import (
    Block,
    BlockType,
    LeftOut,
    LeftOutReason,
    Line,
    PageError,
    PageResult,
    Quad,
    Table,
    TableCell,
)


def quad(top: float) -> Quad:
    return ((10, top), (90, top), (90, top + 10), (10, top + 10))


BOX = (10.0, 20.0, 50.0, 100.0)
PLACE = [100, 100, 500, 500]
CELLS = (TableCell(0, 0, "a<b", header=True), TableCell(1, 0, "c"))
PAGE = PageResult(
    2,
    100,
    200,
    lines=(Line("first", quad(20), 1.0), Line("second", quad(40), 1.0), Line("7", quad(190), 1.0)),
    blocks=(
        Block(BlockType.HEADER, BOX, (), "Journal", "Journal"),
        Block(BlockType.TITLE, BOX, (), "Part", "###### Part", level=6),
        Block(BlockType.TEXT, BOX, (0, 1), "first\nsecond", "first second"),
        Block(BlockType.LIST, BOX, (), "- one\n2. two", "- one\n2. two"),
        Block(BlockType.CAPTION, (10, 5, 50, 19), (), "Table 1", "Table 1"),
        Block(BlockType.TABLE, BOX, (), "a<b c", "| a<b |", table=Table(2, 1, CELLS)),
        Block(BlockType.FIGURE, BOX, (), "axis", "", image=BlockImage("page-3-1.png", "image/png", 3, 4, "aGk=")),
        Block(BlockType.FORMULA, BOX, (), "x^2", "$$\nx^2\n$$"),
        Block(BlockType.FORMULA, BOX, (), "x2", "x2"),
        Block(BlockType.CHECKBOX, BOX, (), "", ""),
    ),
    left_out=(LeftOut("7", LeftOutReason.PAGE_NUMBER, (2,)),),
)


def test_blocks_are_entries_in_the_order_of_reading_and_then_what_is_outside() -> None:
    entries = MineruPage(PAGE).content
    assert all(entry["page_idx"] == 2 for entry in entries)
    assert [entry.pop("bbox") for entry in entries] == [PLACE] * 8 + [[100, 950, 900, 1000]]
    for entry in entries:
        del entry["page_idx"]
    html = "<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td>c</td></tr></tbody></table>"
    image = {"img_path": "images/page-3-1.png", "image_caption": [], "image_footnote": [], "content": "axis"}
    assert entries == [
        {"type": "text", "text": "Part", "text_level": 4},
        {"type": "text", "text": "first second"},
        {"type": "list", "sub_type": "text", "list_items": ["- one", "2. two"]},
        {"type": "table", "img_path": "", "table_caption": ["Table 1"], "table_footnote": [], "table_body": html},
        {"type": "image", **image},
        {"type": "equation", "text": "$$\nx^2\n$$", "text_format": "latex"},
        {"type": "text", "text": "x2"},
        {"type": "header", "text": "Journal"},
        {"type": "page_number", "text": "7"},
    ]


def kinds(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["type"] for block in blocks]


def test_a_page_has_lines_with_their_places_and_parts_of_tables_and_images() -> None:
    page = orjson.loads(orjson.dumps(MineruPage(PAGE).middle))
    assert (page["page_size"], page["page_idx"]) == ([100, 200], 2)
    assert page["preproc_blocks"] == page["para_blocks"]
    blocks = page["para_blocks"]
    assert kinds(blocks) == ["title", "text", "list", "table", "image", "interline_equation", "text"]
    assert kinds(page["discarded_blocks"]) == ["header", "page_number"]
    assert [(line["bbox"], line["spans"][0]["content"]) for line in blocks[1]["lines"]] == [
        ([10, 20, 90, 30], "first"),
        ([10, 40, 90, 50], "second"),
    ]
    assert kinds(blocks[3]["blocks"]) == ["table_body", "table_caption"]
    assert blocks[3]["bbox"] == [10, 5, 50, 100]
    assert blocks[4]["blocks"][0]["lines"][0]["spans"][0]["image_path"] == "page-3-1.png"


def test_a_page_without_blocks_is_its_paragraphs() -> None:
    page = MineruPage(PageResult(0, 10, 20, text="one\ntwo\n\nthree"))
    assert [(entry["text"], entry["bbox"]) for entry in page.content] == [
        ("one two", [0, 0, 1000, 1000]),
        ("three", [0, 0, 1000, 1000]),
    ]
    assert MineruPage(PageResult(1)).content == []


def test_a_page_that_failed_says_so() -> None:
    page = MineruPage(PageResult(1, error=PageError("engine_failed", "No luck.", "Try again.")))
    assert [entry["text"] for entry in page.content] == ["Page 2 could not be read: No luck."]
    assert page.middle["para_blocks"][0]["lines"][0]["spans"][0]["content"] == "Page 2 could not be read: No luck."
