"""Chooses where on a page the table model is asked, and whether it is believed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from inkgate.layout.evidence import Region, TableGuess
from inkgate.layout.order.frame import FloatArray, LayoutPiece, Row, measure, rows_of
from inkgate_client.types import BlockType, Box, Line, Size

MAX_TABLES = 12
"""Maximum tables of a page that the model is asked for; it takes about as long as half a page of text for each."""
MARGIN_X, MARGIN_Y = 0.3, 0.6
"""The model sees this much around the lines, in their heights: it was trained on tables that are cut out with the rules
above and below. Of 40 drawn tables it gets 98 % right so, and 88 % with a margin of 1."""
MIN_LINES, MIN_ROWS = 4, 2
CELL_GAP = 1.0
"""Cells are further apart than this, in line heights."""
FILLED = 0.8
"""Minimum share of width and of height that lines fill in an image that is nothing but a table. Whole pages have wider
margins, at least on one side; of dev's pages 5 % fill more."""
MIN_WIDE_ROWS = 0.45
"""Share of the rows with three or more cells in a table of three columns; cells of several lines make rows with fewer.
At most 0.36 on dev's receipts."""
MIN_PAIRED_ROWS = 0.85
"""Share of the rows with two cells in a table of two columns. Receipts have pairs in at most 0.79 of their rows."""
MAX_CHARACTERS = 20
"""Maximum of the median length of a table's lines: 1 to 19 characters in dev's tables, 25 or more in prose."""
TOUCHED, MIN_TOUCHED = 0.2, 0.8
"""The model is believed if the boxes of its cells cover this share of so many of the lines."""
MAX_INSIDE = 0.8
"""Regions of which at least this share lies in such a table are a part of it."""
MAX_SHARED = 0.1
"""Maximum share of cells that contain two lines beside each other: the model has merged columns."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A part of the page that may show a table.

    Attributes:
        box: around its lines, in pixels of the page.
        lines: those in it.
        region: the layout model's table or figure there; None: the whole image.
    """

    box: Box
    lines: Sequence[Line]
    region: Region | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the layout model says that it is a table."""
        return self.region is not None and self.region.type is BlockType.TABLE


def places_to_ask(regions: Sequence[Region], lines: Sequence[Line], size: Size) -> list[TablePlace]:
    """Returns the places where the page shows a table, best first: the layout model's tables; if it sees none, the
    whole image or figures whose lines are nothing but a table. Empty for pages of prose.
    """
    found = [_in_region(region, lines) for region in regions if region.type is BlockType.TABLE]
    if tables := [place for place in found if place is not None]:
        return tables[:MAX_TABLES]
    if is_only_table(lines, (0.0, 0.0, float(size.width), float(size.height))):
        return [TablePlace(_around(lines), lines)]
    figures = [_in_region(region, lines) for region in regions if region.type is BlockType.FIGURE]
    return [place for place in figures if place and place.region and is_only_table(place.lines, place.region.box)][
        :MAX_TABLES
    ]


def _in_region(region: Region, lines: Sequence[Line]) -> TablePlace | None:
    """The lines in the region; None if there are none."""
    boxes = np.array([line.box for line in lines], dtype=np.float64).reshape(-1, 4)
    inside = shares_in(boxes, np.array([region.box]))[:, 0] > 1 / 2
    held = [line for line, is_inside in zip(lines, inside.tolist(), strict=True) if is_inside]
    return TablePlace(_around(held), held, region) if held else None


def is_only_table(lines: Sequence[Line], box: Box) -> bool:
    """Whether the lines in a part of the page are nothing but a table: short, in aligned rows, from edge to edge."""
    if len(lines) < MIN_LINES or sorted(len(line.text) for line in lines)[len(lines) // 2] > MAX_CHARACTERS:
        return False
    frame = measure(lines)
    if frame.vertical or not _fills(frame.pieces, box):
        return False
    counts = [_cells(row) for row in rows_of(frame.pieces)]
    if len(counts) < MIN_ROWS:
        return False
    wide, paired = sum(count > 2 for count in counts), sum(count > 1 for count in counts)
    return wide >= MIN_WIDE_ROWS * len(counts) or (len(counts) > 2 and paired >= MIN_PAIRED_ROWS * len(counts))


def is_believed(guess: TableGuess, lines: Sequence[Line]) -> bool:
    """Whether a table that only the table model sees agrees with the lines: its cells cover them, and don't merge
    columns of them. `guess`: in pixels of the page, as the lines.
    """
    columns = max((cell.column + cell.column_span for cell in guess.cells), default=0)
    rows = max((cell.row + cell.row_span for cell in guess.cells), default=0)
    if rows < 2 or columns < 2 or not lines:
        return False
    boxes = np.array([line.box for line in lines])
    shares = shares_in(boxes, np.array([cell.box for cell in guess.cells]))
    merged = sum(_beside_each_other(boxes[inside > 1 / 2]) for inside in shares.T)
    touched = int((shares.max(axis=1) >= TOUCHED).sum())
    return touched >= MIN_TOUCHED * len(boxes) and merged <= MAX_SHARED * len(guess.cells)


def with_table(regions: Sequence[Region], place: TablePlace, guess: TableGuess) -> list[Region]:
    """The regions where the model is believed: a table in place of the figure or the titles that the layout model
    took it for.
    """
    found = place.region if place.region is not None and place.is_certain else _table(place, guess)
    if not regions:
        return [found]
    inside = shares_in(np.array([region.box for region in regions]), np.array([found.box]))[:, 0]
    drops = [
        region is place.region or (share >= MAX_INSIDE and (place.region is None or region.type is BlockType.FIGURE))
        for region, share in zip(regions, inside.tolist(), strict=True)
    ]
    return [found, *(region for region, dropped in zip(regions, drops, strict=True) if not dropped)]


def _table(place: TablePlace, guess: TableGuess) -> Region:
    if place.region is None:
        return Region(BlockType.TABLE, place.box, guess.confidence)
    return replace(place.region, type=BlockType.TABLE, label="")


def shares_in(boxes: FloatArray, others: FloatArray) -> FloatArray:
    """Share of each of `boxes` (N, 4) that lies in each of `others` (M, 4): (N, M)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    areas = np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), 1e-9)
    shared: FloatArray = np.clip(high - low, 0, None).prod(axis=2) / areas[:, None]
    return shared


def _beside_each_other(boxes: FloatArray) -> bool:
    """Whether two of the boxes are in one row."""
    ordered = boxes[np.argsort(boxes[:, 0], kind="stable")]
    common = np.minimum(ordered[1:, 3], ordered[:-1, 3]) - np.maximum(ordered[1:, 1], ordered[:-1, 1])
    high = ordered[1:, 3] - ordered[1:, 1]
    return bool(((ordered[:-1, 2] <= ordered[1:, 0]) & (common > high / 2)).any())


def _cells(row: Row) -> int:
    """Pieces of a row that are far apart from each other."""
    return 1 + sum(b.left - a.right > CELL_GAP * min(a.height, b.height) for a, b in pairwise(row))


def _fills(pieces: Sequence[LayoutPiece], box: Box) -> bool:
    wide = max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
    high = max(piece.bottom for piece in pieces) - min(piece.top for piece in pieces)
    return wide >= FILLED * (box[2] - box[0]) and high >= FILLED * (box[3] - box[1])


def _around(lines: Sequence[Line]) -> Box:
    lefts, tops, rights, bottoms = zip(*(line.box for line in lines), strict=True)
    height = float(np.median([bottom - top for top, bottom in zip(tops, bottoms, strict=True)]))
    x, y = MARGIN_X * height, MARGIN_Y * height
    return (max(min(lefts) - x, 0.0), max(min(tops) - y, 0.0), max(rights) + x, max(bottoms) + y)
