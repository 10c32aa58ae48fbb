"""Blocks: paragraphs, tables and figures with the types of the layout's zones, their text and Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import Row, rows_of
from inkgate.layout.tables.blocks import table_markdown, table_of
from inkgate.layout.tables.grid import Grid, GridCell
from inkgate.layout.text import markdown
from inkgate.layout.text.hyphenation import NO_WORDS, Vocabulary, join_lines
from inkgate.layout.text.lists import listing
from inkgate.layout.text.markdown import plain
from inkgate.layout.text.paragraphs import Paragraph
from inkgate_client.coordinates import around
from inkgate_client.escape import of_text
from inkgate_client.types import Block, BlockType, Box, Line, mean_confidence

SAME_TITLE = 1.15
"""Titles whose heights differ by less than this factor have the same level."""
MAIN_TITLE = 1.35
"""A page's largest title has level 1 from this multiple of the line height on, else level 2."""
DEEPEST = 6
PLACED = frozenset({BlockType.TABLE, BlockType.FIGURE})
RARE = (2, 0.03)
"""A height that so few titles have, and a smaller share of them, makes no level of its own: the subtitle of a booklet,
a box set larger. A paper with 30 headings keeps all of its levels.
"""


@dataclass(frozen=True, slots=True)
class BlockDraft:
    """A block before its lines are numbered.

    Attributes:
        region: None if geometry alone decided.
        caption: of a figure.
        shown: its text stands in its own Markdown; that of a figure's caption stands in the figure's, and labels inside
            figures are left out.
        type_right, order_right: the probabilities that its type is right, and that it is read after the block before;
            None: unknown.
    """

    type: BlockType
    paragraph: Paragraph
    region: Region | None = None
    grid: Grid | None = None
    caption: Paragraph | None = None
    shown: bool = True
    type_right: float | None = None
    order_right: float | None = None

    @property
    def members(self) -> list[int]:
        """Indexes of the block's lines in the caller's sequence, in reading order; empty for a figure without text."""
        pieces = self.grid.pieces if self.grid else self.paragraph.pieces
        return [piece.index for piece in pieces if piece.index >= 0]


def draft_of(paragraph: Paragraph, region: Region | None, grid: Grid | None) -> BlockDraft:
    """The paragraph as a block of the region's type; without a region, as list or text."""
    if region is None or region.type is BlockType.TEXT:
        return BlockDraft(BlockType.LIST if paragraph.items else BlockType.TEXT, paragraph, region)
    return BlockDraft(region.type, paragraph, region, grid)


def levels_of(drafts: Sequence[BlockDraft], lines: Sequence[Line], *, vertical: bool = False) -> dict[int, int]:
    """Heading levels, 1 to 6, of the drafts that are titles, by rank of the height of their lines' boxes.

    `lines`: as published: the ink of a line is only as high as its letters happen to be. `vertical`: they run down.
    """
    heights = [_height(line, vertical=vertical) for line in lines]
    titles = {
        i: sum(heights[member] for member in draft.members) / len(draft.members)
        for i, draft in enumerate(drafts)
        if draft.type is BlockType.TITLE and draft.members
    }
    return levels_by_height(titles, max(1.0, median(heights)) if heights else 1.0)


def _height(line: Line, *, vertical: bool) -> float:
    (x0, y0), (x1, y1), _, (x3, y3) = line.quad
    across, down = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
    return min(across, down) if vertical else down


def levels_by_height(heights: Mapping[int, float], unit: float) -> dict[int, int]:
    """Heading levels, 1 to 6, of titles by the height of their lines; `unit`: that of the page's text."""
    groups = _without_rare(_by_height(heights), heights)
    first = 1 if groups and heights[groups[0][0]] >= MAIN_TITLE * unit else 2
    return {i: min(first + rank, DEEPEST) for rank, group in enumerate(groups) for i in group}


def _by_height(heights: Mapping[int, float]) -> list[list[int]]:
    """The titles in groups of nearly equal height, highest first."""
    groups: list[list[int]] = []
    for i in sorted(heights, key=lambda i: -heights[i]):
        if not groups or heights[i] * SAME_TITLE < heights[groups[-1][0]]:
            groups.append([])
        groups[-1].append(i)
    return groups


def _without_rare(groups: Sequence[list[int]], heights: Mapping[int, float]) -> list[list[int]]:
    """The groups, with those of rare heights in the nearest of the others. The highest title is the document's."""
    common = [group for n, group in enumerate(groups) if n == 0 or not _is_rare(len(group), len(heights))]
    usual = [median(heights[i] for i in group) for group in common]
    for group in (group for group in groups if group not in common):
        height = median(heights[i] for i in group)
        common[min(range(len(common)), key=lambda n: abs(math.log(usual[n] / height)))] += group
    return common


def _is_rare(count: int, titles: int) -> bool:
    return count <= RARE[0] and count < RARE[1] * titles


def box_of(draft: BlockDraft, lines: Sequence[Line]) -> Box:
    """The box around the block's lines, on the page; includes the region if it holds more than the lines."""
    boxes = [lines[i].box for i in draft.members]
    if draft.region is not None and (draft.type in (BlockType.TABLE, BlockType.FIGURE) or not boxes):
        boxes.append(draft.region.box)
    return around(boxes)


def block_of(
    draft: BlockDraft, lines: Sequence[Line], first: int, level: int | None, known: Vocabulary = NO_WORDS
) -> Block:
    """The finished block. `first`: number of its first line in the page's reading order; `known`: words of the page."""
    text = _text(draft)
    count = len(draft.members)
    table = table_of(draft.grid, lines, first) if draft.type is BlockType.TABLE and draft.grid else None
    return Block(
        type=draft.type,
        box=box_of(draft, lines),
        lines=tuple(range(first, first + count)),
        text=text,
        markdown=table_markdown(table) if table is not None else _markdown(draft, text, level, known),
        level=level,
        confidence=mean_confidence([lines[i] for i in draft.members]),
        type_confidence=_type_confidence(draft),
        order_confidence=draft.order_right,
        table=table,
    )


def _type_confidence(draft: BlockDraft) -> float | None:
    """Of the model that decided: the table scorer, the layout model for figures, else the layout network."""
    if draft.type_right is not None and (draft.region is None or draft.type not in PLACED):
        return draft.type_right
    return draft.region.confidence if draft.region else draft.type_right


def _text(draft: BlockDraft) -> str:
    if draft.grid is None:
        return plain(draft.paragraph)
    return plain(Paragraph([line for row in draft.grid.by_row for line in _printed(row, ruled=draft.grid.ruled)]))


def _printed(cells: list[GridCell], *, ruled: bool) -> list[Row]:
    """A table's row as lines of text: one line, or several if one cell fills a row of a ruled table."""
    filled = [list(cell.pieces) for cell in cells if cell.pieces]
    return rows_of(filled[0]) if ruled and len(filled) == 1 else [[piece for cell in filled for piece in cell]]


def _markdown(draft: BlockDraft, text: str, level: int | None, known: Vocabulary) -> str:
    if draft.type is BlockType.FIGURE:
        caption = join_lines(plain(draft.caption).split("\n"), known) if draft.caption else ""
        inside = of_text(text) if draft.shown else ""
        return "\n\n".join(part for part in (markdown.figure(caption), inside) if part)
    if not draft.shown or not text:
        return ""
    if draft.type is BlockType.TITLE:
        return markdown.title(join_lines(text.split("\n"), known), level or 1)
    if draft.type is BlockType.LIST and draft.paragraph.items:
        return listing(draft.paragraph, known)
    if draft.type is BlockType.FORMULA:
        return of_text(" ".join(text.split("\n")))
    return markdown.prose(draft.paragraph, known)
