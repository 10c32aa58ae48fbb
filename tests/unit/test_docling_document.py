"""Documents as docling's own document."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from inkgate.api.docling_document import docling_document
from inkgate_client.block_image import BlockImage
from inkgate_client.types import Block, BlockType, Box, DocumentResult, PageResult, Table, TableCell

SCHEMA = json.loads((Path(__file__).parents[1] / "data/docling_document.schema.json").read_text())
BOX: Box = (1, 2.344, 30, 40)
CELLS = (
    TableCell(0, 0, "Country", header=True, box=BOX),
    TableCell(0, 1, "EURm", header=True),
    TableCell(1, 0, "Egypt, Jordan", column_span=2),
)
BLOCKS = (
    Block(BlockType.HEADER, BOX, (), "Journal", "Journal"),
    Block(BlockType.TITLE, BOX, (), "Report", "# Report", level=1),
    Block(BlockType.TITLE, BOX, (), "Part", "## Part", level=2),
    Block(BlockType.LIST, BOX, (), "1. one\ngoes on\n2. two", "1. one goes on\n2. two"),
    Block(BlockType.TABLE, BOX, (), "Country EURm", "| Country | EURm |", table=Table(2, 2, CELLS)),
    Block(BlockType.FIGURE, BOX, (), "axis", "", image=BlockImage("page-1-1.png", "image/png", 3, 4, "aGk=")),
    Block(BlockType.CAPTION, BOX, (), "Fig. 1", "Fig. 1"),
    Block(BlockType.CHECKBOX, BOX, (), "", ""),
)


def shown(*pages: PageResult) -> dict[str, Any]:
    found = docling_document("a.b.pdf", DocumentResult("x", "application/pdf", 3, len(pages), "ppocr", pages))
    read: dict[str, Any] = orjson.loads(orjson.dumps(found))
    jsonschema_rs.validate(SCHEMA, read)
    return read


def in_order(document: dict[str, Any], item: dict[str, Any]) -> list[tuple[str, str]]:
    """The labels and texts of what is inside an item, in the order of reading."""
    found = []
    for child in item["children"]:
        _, array, number = child["$ref"].split("/")
        inner = document[array][int(number)]
        assert inner["self_ref"] == child["$ref"]
        assert inner["parent"]["$ref"] == item["self_ref"]
        found += [(inner["label"], inner.get("text", "")), *in_order(document, inner)]
    return found


def test_blocks_are_items_in_the_order_of_reading_and_count_through_the_document() -> None:
    first = PageResult(0, 100, 200, 144.0, blocks=BLOCKS, text="not used")
    second = PageResult(2, 50, 60, blocks=(BLOCKS[1],), text="not used")
    found = shown(first, second)
    assert (found["name"], found["origin"]["filename"]) == ("a.b", "a.b.pdf")
    assert found["pages"] == {
        "1": {"page_no": 1, "size": {"width": 100, "height": 200}},
        "3": {"page_no": 3, "size": {"width": 50, "height": 60}},
    }
    assert in_order(found, found["body"]) == [
        ("page_header", "Journal"),
        ("title", "Report"),
        ("section_header", "Part"),
        ("list", ""),
        ("list_item", "one goes on"),
        ("list_item", "two"),
        ("table", ""),
        ("picture", ""),
        ("caption", "Fig. 1"),
        ("text", "axis"),
        ("section_header", "Report"),
    ]
    texts = found["texts"]
    assert (texts[0]["content_layer"], texts[1]["content_layer"]) == ("furniture", "body")
    assert (texts[2]["level"], texts[3]["marker"], texts[3]["enumerated"]) == (1, "1.", True)
    assert texts[-1]["prov"] == [
        {"page_no": 3, "bbox": {"l": 1, "t": 2.34, "r": 30, "b": 40, "coord_origin": "TOPLEFT"}, "charspan": [0, 6]}
    ]
    assert found["pictures"][0]["captions"] == found["pictures"][0]["children"] == [{"$ref": "#/texts/5"}]
    assert found["pictures"][0]["image"] == {
        "mimetype": "image/png",
        "dpi": 144,
        "size": {"width": 3, "height": 4},
        "uri": "data:image/png;base64,aGk=",
    }


def test_cells_of_a_table_have_their_places() -> None:
    data = shown(PageResult(0, 9, 9, blocks=BLOCKS))["tables"][0]["data"]
    assert (data["num_rows"], data["num_cols"]) == (2, 2)
    places = [
        (
            cell["start_row_offset_idx"],
            cell["end_row_offset_idx"],
            cell["start_col_offset_idx"],
            cell["end_col_offset_idx"],
        )
        for cell in data["table_cells"]
    ]
    assert places == [(0, 1, 0, 1), (0, 1, 1, 2), (1, 2, 0, 2)]
    assert [cell["column_header"] for cell in data["table_cells"]] == [True, True, False]


def test_a_page_without_blocks_is_its_paragraphs() -> None:
    found = shown(PageResult(0, 10, 20, text="one\ntwo\n\nthree"), PageResult(1))
    assert in_order(found, found["body"]) == [("text", "one\ntwo"), ("text", "three")]
    assert list(found["pages"]) == ["1", "2"]


def test_a_document_of_many_pages_takes_little_more_memory_than_its_json() -> None:
    page = PageResult(0, 9, 9, blocks=BLOCKS * 10)
    result = DocumentResult("x", "application/pdf", 3, 300, "ppocr", (page,) * 300)
    tracemalloc.start()
    try:
        found = docling_document("a.pdf", result)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(orjson.dumps(found))
