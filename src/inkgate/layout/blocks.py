"""Blocks: paragraphs, tables and figures with the types of the layout's zones, their text and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inkgate.layout import markdown
from inkgate.layout.base import Region
from inkgate.layout.frame import LayoutPiece, Row, rows_of
from inkgate.layout.markdown import plain
from inkgate.layout.paragraphs import Paragraph
from inkgate.layout.tables import Grid, table_in
from inkgate.types import Block, BlockType, Box, Line

SAME_TITLE = 1.15
"""Titles whose heights differ by less than this factor have the same level."""
MAIN_TITLE = 1.35
"""A page's largest title has level 1 from this multiple of the line height on, else level 2."""


@dataclass(frozen=True, slots=True)
class BlockDraft:
    """A block before its lines are numbered. `region` is None if geometry alone decided."""

    type: BlockType
    paragraph: Paragraph
    region: Region | None = None
    grid: Grid | None = None

    @property
    def members(self) -> list[int]:
        """Indexes of the block's lines in the caller's sequence, in reading order; empty for a figure without text."""
        pieces = self.grid.pieces if self.grid else self.paragraph.pieces
        return [piece.index for piece in pieces if piece.index >= 0]


def draft_of(paragraph: Paragraph, region: Region | None, grid: Grid | None, *, parse: bool) -> BlockDraft:
    """The paragraph as a block of the region's type; without a region, as list or text.

    `parse`: tables are searched for in text, too.
    """
    if region is None or region.type is BlockType.TEXT:
        found = table_in(paragraph.rows) if parse and not paragraph.items else None
        if found is not None:
            return BlockDraft(BlockType.TABLE, paragraph, None, found)
        return BlockDraft(BlockType.LIST if paragraph.items else BlockType.TEXT, paragraph, region)
    return BlockDraft(region.type, paragraph, region, grid)


def levels_of(drafts: Sequence[BlockDraft], unit: float) -> dict[int, int]:
    """Heading levels, 1 to 6, of the drafts that are titles, by rank of their height."""
    heights = {
        i: sum(piece.height for piece in draft.paragraph.pieces) / len(draft.paragraph.pieces)
        for i, draft in enumerate(drafts)
        if draft.type is BlockType.TITLE
    }
    return levels_by_height(heights, unit)


def levels_by_height(heights: Mapping[int, float], unit: float) -> dict[int, int]:
    """Heading levels, 1 to 6, of titles by the height of their lines; `unit`: that of the page's text."""
    levels: dict[int, int] = {}
    level, reference = 0, 0.0
    for i in sorted(heights, key=lambda i: -heights[i]):
        if not levels:
            level, reference = (1 if heights[i] >= MAIN_TITLE * unit else 2), heights[i]
        elif heights[i] * SAME_TITLE < reference:
            level, reference = min(level + 1, 6), heights[i]
        levels[i] = level
    return levels


def box_of(draft: BlockDraft, lines: Sequence[Line]) -> Box:
    """The box around the block's lines, on the page; includes the region if it holds more than the lines."""
    boxes = [lines[i].box for i in draft.members]
    if draft.region is not None and (draft.type in (BlockType.TABLE, BlockType.FIGURE) or not boxes):
        boxes.append(draft.region.box)
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def block_of(draft: BlockDraft, lines: Sequence[Line], first: int, level: int | None) -> Block:
    """The finished block. `first`: number of its first line in the page's reading order."""
    text = _text(draft)
    count = len(draft.members)
    return Block(
        type=draft.type,
        box=box_of(draft, lines),
        lines=tuple(range(first, first + count)),
        text=text,
        markdown=_markdown(draft, text, level),
        level=level,
        confidence=draft.region.confidence if draft.region and not (draft.grid and draft.grid.ruled) else None,
    )


def _text(draft: BlockDraft) -> str:
    if draft.grid is None:
        return plain(draft.paragraph)
    return plain(Paragraph([line for row in draft.grid.cells for line in _printed(row, ruled=draft.grid.ruled)]))


def _printed(cells: list[list[LayoutPiece]], *, ruled: bool) -> list[Row]:
    """A table's row as lines of text: one line, or several if one cell fills a row of a ruled table."""
    filled = [cell for cell in cells if cell]
    return rows_of(filled[0]) if ruled and len(filled) == 1 else [[piece for cell in filled for piece in cell]]


def _markdown(draft: BlockDraft, text: str, level: int | None) -> str:
    if draft.type is BlockType.FIGURE or not text:
        return ""
    if draft.type is BlockType.TABLE and draft.grid is not None:
        return markdown.table(draft.grid)
    if draft.type is BlockType.TITLE:
        return markdown.title(markdown.join_lines(text.split("\n")), level or 1)
    if draft.type is BlockType.LIST and draft.paragraph.items:
        return markdown.listing(draft.paragraph)
    if draft.type is BlockType.FORMULA:
        return markdown.of_text(" ".join(text.split("\n")))
    return markdown.prose(draft.paragraph)
