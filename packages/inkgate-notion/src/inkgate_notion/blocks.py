"""The text of a document as Notion's blocks, within the limits of a request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from inkgate.layout.text.markdown import left_out_blocks
from inkgate_client.block_parts import text_is_unplaced
from inkgate_client.formats.markdown import content_of, failure_note
from inkgate_client.formats.text import printable
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Table
from inkgate_notion.calls import Json
from inkgate_notion.cells import rich_text, units

MAX_CHILDREN: Final = 100
"""Maximum children of a block, in one request; also rows of a table."""
MAX_BYTES: Final = 300_000
"""Maximum size of the blocks of a request; Notion allows 500 KB, and 1,000 blocks with those inside of others."""
_MAX_ALL = 900
MAX_BLOCKS: Final = 20_000
"""Maximum blocks of a document, with the rows of its tables."""
MAX_TEXT_BYTES: Final = 15_000_000
"""Maximum size of the text of a document's blocks. With MAX_BLOCKS: about 200 requests. A delivery has four minutes,
and begins again after."""
_MAX_TABLE_BYTES = 100_000
_MAX_COLUMNS = 100
_LONGEST_EQUATION = 1000
_HEADING = re.compile(r"#{1,6}\s+")
_ITEM = re.compile(r" *(?P<mark>[-*+]|\d{1,9}[.)])\s+(?P<text>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(r"</?(?:mark|sub|sup|u|br)\s*/?>|<!--.{0,500}?-->", re.DOTALL)
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3})(?=\S)(.{1,500}?)(?<=\S)\1", re.DOTALL)
_GOES_ON = "The text goes on. The file has all of it."


def text_blocks(document: DocumentResult) -> list[Json]:
    """The pages' text. In documents of several pages, each begins with a heading that has its number."""
    blocks: list[Json] = []
    count = size = 0
    for block in _document_blocks(document):
        count, size = count + _count(block), size + len(orjson.dumps(block))
        if count > MAX_BLOCKS or size > MAX_TEXT_BYTES:
            return [*blocks, _text_block("paragraph", _GOES_ON)]
        blocks.append(block)
    return blocks


def batches(blocks: Sequence[Json]) -> Iterator[list[Json]]:
    """The blocks in order, as many at once as a request may have."""
    batch: list[Json] = []
    count = size = 0
    for block in blocks:
        block_count, block_size = _count(block), len(orjson.dumps(block))
        full = len(batch) == MAX_CHILDREN or count + block_count > _MAX_ALL or size + block_size > MAX_BYTES
        if batch and full:
            yield batch
            batch, count, size = [], 0, 0
        batch.append(block)
        count, size = count + block_count, size + block_size
    if batch:
        yield batch


def is_flat(blocks: Sequence[Json]) -> bool:
    """Whether no block has others inside."""
    return not any(_rows_of(block) for block in blocks)


def _rows_of(block: Json) -> Sequence[Json]:
    rows: Sequence[Json] = block["table"]["children"] if block["type"] == "table" else ()
    return rows


def _count(block: Json) -> int:
    """Blocks, with those inside."""
    return 1 + len(_rows_of(block))


def _document_blocks(document: DocumentResult) -> Iterator[Json]:
    several = document.page_count > 1
    for page in document.pages:
        if several:
            yield _text_block("heading_3", f"Page {page.index + 1}")
        yield from _page_blocks(page)


def _page_blocks(page: PageResult) -> Iterator[Json]:
    hidden = left_out_blocks(page.blocks or (), page.left_out)
    if text_is_unplaced(page):
        yield from _paragraphs(content_of(page))
    for number, block in enumerate(page.blocks or ()):
        if number not in hidden:
            yield from _block(block)
    if page.error is not None:
        yield _text_block("quote", _plain(failure_note(page.index, page.error).removeprefix("> ")))


def _block(block: Block) -> Iterator[Json]:
    if block.table is not None:
        yield from _table(block.table)
    elif block.type is BlockType.TITLE:
        level = min((block.level or 1) + 1, 3)  # the page's own title is above them
        yield from _filled(f"heading_{level}", _HEADING.sub("", block.markdown, count=1) or block.text)
    elif block.type is BlockType.FORMULA:
        yield _formula(block)
    elif block.checkbox is not None:
        to_do = {"rich_text": rich_text(block.checkbox.label), "checked": block.checkbox.checked}
        yield {"object": "block", "type": "to_do", "to_do": to_do}
    elif block.barcode is not None:
        yield _text_block("paragraph", f"{block.barcode.format}: {block.barcode.text}")
    elif block.stamp is not None:
        yield _text_block("paragraph", f"Stamp: {block.stamp.text}")
    else:
        yield from _paragraphs(block.markdown.removeprefix("> ") or block.text)


def _paragraphs(markdown: str) -> Iterator[Json]:
    """Paragraphs, headings and items of lists."""
    for part in printable(markdown).split("\n\n"):
        if heading := _HEADING.match(part):
            level = min(heading.group().count("#") + 1, 3)
            yield from _filled(f"heading_{level}", part[heading.end() :])
        elif _ITEM.match(part):
            yield from _items(part)
        else:
            yield from _filled("paragraph", part)


def _items(markdown: str) -> Iterator[Json]:
    """Numbers stay text: they are what is printed, and may begin anywhere."""
    items: list[tuple[str, str]] = []
    for line in markdown.split("\n"):
        found = _ITEM.fullmatch(line)
        if found is not None:
            numbered = found["mark"][0].isdigit()
            kind = "paragraph" if numbered else "bulleted_list_item"
            items.append((kind, f"{found['mark']} {found['text']}" if numbered else found["text"]))
        elif line.strip():
            kind, text = items.pop() if items else ("paragraph", "")
            items.append((kind, f"{text}\n{line.strip()}"))
    for kind, text in items:
        yield from _filled(kind, text)


def _filled(kind: str, markdown: str) -> Iterator[Json]:
    """A block of this type, or several if the text is too long for one; none without text."""
    text = _plain(markdown).strip()
    while text:
        most, text = text[:_LONGEST_BLOCK], text[_LONGEST_BLOCK:]
        yield _text_block(kind, most)


_LONGEST_BLOCK = 8_000
"""Characters of a block, so that its pieces of rich text are below Notion's limit, whatever they are."""


def _text_block(kind: str, text: str) -> Json:
    return {"object": "block", "type": kind, kind: {"rich_text": rich_text(text)}}


def _formula(block: Block) -> Json:
    latex = printable(block.markdown).strip()
    inside = latex.removeprefix("$$").removesuffix("$$").strip()
    if latex.startswith("$$") and inside and units(inside) <= _LONGEST_EQUATION:
        return {"object": "block", "type": "equation", "equation": {"expression": inside}}
    return _text_block("paragraph", block.text or latex)


def _table(table: Table) -> Iterator[Json]:
    """One table, or several if it has more rows than a request may have; paragraphs if it has too many columns."""
    rows: list[list[str]] = [[""] * table.columns for _ in range(table.rows)]
    for each in table.cells:
        rows[each.row][each.column] = " ".join(printable(each.text).split())
    headers = {each.row for each in table.cells if each.header}
    if table.columns > _MAX_COLUMNS or any(_size(row) > _MAX_TABLE_BYTES for row in rows):
        for row in rows:
            yield from _filled("paragraph", " | ".join(row))
        return
    first = size = 0
    for number, row in enumerate(rows):
        size += _size(row)
        if number - first == MAX_CHILDREN or (number > first and size > _MAX_TABLE_BYTES):
            yield _table_block(rows[first:number], headed=first in headers)
            first, size = number, _size(row)
    yield _table_block(rows[first:], headed=first in headers)


def _size(row: Sequence[str]) -> int:
    """Returns about how large it is in JSON: each piece of text has some 60 bytes around it."""
    return sum(len(text.encode("utf-8", "replace")) + 60 for text in row)


def _table_block(rows: Sequence[Sequence[str]], *, headed: bool) -> Json:
    children = [
        {"object": "block", "type": "table_row", "table_row": {"cells": [rich_text(text) for text in row]}}
        for row in rows
    ]
    table = {
        "table_width": len(rows[0]),
        "has_column_header": headed,
        "has_row_header": False,
        "children": children,
    }
    return {"object": "block", "type": "table", "table": table}


def _plain(markdown: str) -> str:
    """Markdown of running text without its marks."""
    text = _TAG.sub("", printable(markdown).replace("  \n", "\n"))
    return _ESCAPE.sub(r"\1", _EMPHASIS.sub(r"\2", text))
