"""The Markdown of a page in parts: headings, paragraphs, lists, tables and figures, with the blocks they come from.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkgate_client.block_parts import captions_of, is_list
from inkgate_client.formats.markdown import content_of
from inkgate_client.formats.text import printable
from inkgate_client.types import Block, BlockType, Box, PageResult

_FENCE = re.compile("`{3,}")
_TABLE, _TABLE_END, _FORMULA = "<table", "</table>", "$$"
_ENDS = (_TABLE_END, _FORMULA)
_HEADING = re.compile(r"(#{1,6})\s+(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_HYPHENS = "-\u00ad\u2010"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands. `page`: its number, from 1. `width`, `height`: of the page in pixels. `block`: index of the
    page's block.
    """

    page: int
    width: int
    height: int
    box: Box
    type: BlockType
    block: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page's Markdown.

    Attributes:
        page: its number, from 1.
        text: the Markdown, between empty lines.
        level: of a heading, 1 to 6; else 0.
        heading: the plain text of a heading in one line; else empty.
        captions: of a table or figure.
        together: parts in a row with the same number, which is not 0, belong together: a caption and what it describes.
        continues: a table that goes on from the page before.
    """

    page: int
    text: str
    type: BlockType
    level: int = 0
    heading: str = ""
    places: tuple[Place, ...] = ()
    captions: tuple[str, ...] = ()
    together: int = 0
    continues: bool = False


def parts_of(page: PageResult) -> list[Part]:
    """The parts of a page in their order. Joined by empty lines, they are its Markdown."""
    texts = list(_texts(printable(content_of(page))))
    blocks = page.blocks or ()
    of_text = _blocks_of_texts(texts, page)
    captions = captions_of(blocks)
    described = {caption: index for index, caption in captions.items()}
    parts = []
    for number, text in enumerate(texts):
        own = of_text.get(number, [])
        first = own[0] if own else -1
        caption = captions.get(first)
        found = _HEADING.fullmatch(text)
        kind = BlockType.TITLE if found else blocks[first].type if own else _type_of(text)
        table = blocks[first].table if own else None
        parts.append(
            Part(
                page.index + 1,
                text,
                kind,
                level=len(found[1]) if found else 0,
                heading=_plain_heading(found[2], blocks[first] if own else None) if found else "",
                places=tuple(_place(page, index, blocks[index]) for index in own),
                captions=() if caption is None else (" ".join(blocks[caption].text.split()),),
                together=(first if caption is not None else described.get(first, -1)) + 1,
                continues=table is not None and table.continues,
            )
        )
    return parts


def _texts(markdown: str) -> Iterator[str]:
    """The Markdown between empty lines. These separate nothing in code, tables in HTML and formulas."""
    lines = [line.rstrip() for line in markdown.split("\n")]
    last = {mark: max((n for n, line in enumerate(lines) if line.endswith(mark)), default=-1) for mark in _ENDS}
    part: list[str] = []
    end = ""
    for number, line in enumerate(lines):
        opened = "" if end else _end_of(line)
        if opened in _ENDS and last[opened] <= number:
            opened = ""  # it is never closed
        if part and not end and (opened or not line):
            yield "\n".join(part)
            part = []
        end = end or opened
        if line or end:
            part.append(line)
        if end and not opened and line.endswith(end) and (end in _ENDS or not line.strip("`")):
            yield "\n".join(part)
            part, end = [], ""
    if part:
        yield "\n".join(part).rstrip()


def _end_of(line: str) -> str:
    """What ends the code, table or formula over several lines that begins here; empty if none does."""
    if fence := _FENCE.match(line):
        return fence[0]
    if line.startswith(_TABLE) and _TABLE_END not in line:
        return _TABLE_END
    return _FORMULA if line == _FORMULA or (line.startswith(_FORMULA) and not line.endswith(_FORMULA)) else ""


def _blocks_of_texts(texts: Sequence[str], page: PageResult) -> dict[int, list[int]]:
    """The indexes of blocks by the number of the text that has their Markdown. A paragraph may have several."""
    places: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        places.setdefault(text, []).append(number)
    left_out = {line for part in page.left_out for line in part.lines}
    found: dict[int, list[int]] = {}
    cut: list[tuple[int, str]] = []
    for index, block in enumerate(page.blocks or ()):
        if block.type is not BlockType.FIGURE and block.lines and left_out.issuperset(block.lines):
            continue
        for text in _texts(printable(block.markdown)):
            if numbers := places.get(text):
                found.setdefault(numbers.pop(0), []).append(index)
            else:
                cut.append((index, text.rstrip(_HYPHENS)))
    free = [number for number in range(len(texts)) if number not in found]
    for index, text in cut:  # paragraphs that go on in another block
        joined = [number for number in free if text and text in texts[number]][:1]
        for number in joined:
            found.setdefault(number, []).append(index)
    return found


def _type_of(text: str) -> BlockType:
    """The type of Markdown of which no block is known."""
    if text.startswith(("|", "<table")):
        return BlockType.TABLE
    if text.startswith(("![", "> [Figure", "```mermaid")):
        return BlockType.FIGURE
    if text.startswith("$$"):
        return BlockType.FORMULA
    return BlockType.LIST if is_list(text) else BlockType.TEXT


def _plain_heading(markdown: str, block: Block | None) -> str:
    text = block.text if block is not None and block.type is BlockType.TITLE else _ESCAPE.sub(r"\1", markdown)
    return " ".join(text.split())


def _place(page: PageResult, index: int, block: Block) -> Place:
    return Place(page.index + 1, page.width, page.height, block.box, block.type, index)
