"""Levels of headings over a whole document: headings of one size have one level on every page. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from inkgate.layout.regions.styles import em_of
from inkgate.layout.text.blocks import DEEPEST, levels_by_height
from inkgate_client.types import Block, BlockType, Line, PageResult

_NUMBER = re.compile(r"^\s*(\d{1,2}(?:\.\d{1,2})*)\.?\s+\S")
_MARKS = re.compile(r"^#{1,6}(?= )")
MIN_NUMBERED = 2
"""Numbers of headings (`2`, `2.1`) tell their levels from this many numbered headings on."""
_FULL_HEIGHT = 0.93
"""Height of the boxes that a detector finds around lines, in ems, whatever their letters."""


@dataclass(frozen=True, slots=True)
class _Heading:
    """`key`: numbers of its page and of its block."""

    key: tuple[int, int]
    size: float
    depth: int


def with_levels(pages: Sequence[PageResult]) -> Sequence[PageResult]:
    """The pages with levels of headings by their sizes in the whole document, and by their numbers if they have some.

    Pages of a document of which a heading has no lines stay as they are: its model has seen what it looks like.
    """
    headings = [
        _Heading((p, b), _size(page, block), _depth(block.text))
        for p, page in enumerate(pages)
        for b, block in enumerate(page.blocks or ())
        if block.type is BlockType.TITLE
    ]
    if not headings or any(heading.size <= 0 for heading in headings):
        return pages
    text = _text_size(pages)
    # Headings in the text's size or smaller are set apart by weight alone, and are of one level.
    sizes = {i: max(heading.size, text) for i, heading in enumerate(headings)}
    by_size = levels_by_height(sizes, text)
    levels = _by_number(headings, by_size)
    return [_leveled(page, levels.get(p, {})) for p, page in enumerate(pages)]


def _by_number(headings: Sequence[_Heading], by_size: Mapping[int, int]) -> dict[int, dict[int, int]]:
    """Levels of the headings, by page and block; those with numbers are as deep below the first as their numbers."""
    numbered = [i for i, heading in enumerate(headings) if heading.depth]
    levels: dict[int, dict[int, int]] = {}
    for i, heading in enumerate(headings):
        levels.setdefault(heading.key[0], {})[heading.key[1]] = by_size[i]
    if len(numbered) >= MIN_NUMBERED:
        shallowest = min(headings[i].depth for i in numbered)
        first = min(by_size[i] for i in numbered if headings[i].depth == shallowest)
        top = max(1, first - shallowest + 1)
        for i in numbered:
            p, b = headings[i].key
            levels[p][b] = min(top + headings[i].depth - 1, DEEPEST)
    elif numbered and headings[numbered[0]].depth > 1:  # `3.4` stands below a chapter that is not in this document
        p, b = headings[numbered[0]].key
        levels[p][b] = max(levels[p][b], headings[numbered[0]].depth)
    return levels


def _depth(text: str) -> int:
    found = _NUMBER.match(text)
    return found[1].count(".") + 1 if found else 0


def _text_size(pages: Sequence[PageResult]) -> float:
    """The size of the document's text; the median over its lines."""
    sizes = [
        line_size(page, page.lines[i])
        for page in pages
        for block in page.blocks or ()
        if block.type is BlockType.TEXT
        for i in block.lines
    ]
    return median(sizes) if sizes else 1.0


def _size(page: PageResult, block: Block) -> float:
    """The size of the block's font in pixels; 0 if it is unknown."""
    sizes = [line_size(page, page.lines[i]) for i in block.lines]
    return median(sizes) if sizes else 0.0


def line_size(page: PageResult, line: Line) -> float:
    """The size of the line's font in pixels."""
    first, second, third, fourth = line.quad
    height = (math.dist(first, fourth) + math.dist(second, third)) / 2
    return em_of(line.text, height) if page.source == "text_layer" or line.confidence == 1.0 else height / _FULL_HEIGHT


def _leveled(page: PageResult, levels: Mapping[int, int]) -> PageResult:
    blocks = tuple(
        replace(block, level=levels[i], markdown=_MARKS.sub("#" * levels[i], block.markdown))
        if levels.get(i, block.level) != block.level
        else block
        for i, block in enumerate(page.blocks or ())
    )
    return page if blocks == page.blocks else replace(page, blocks=blocks)
