"""Where a page may show a table: in regions of the layout model, between drawn lines, and where words stand in columns.

A place is a stretch of rows. Nothing is decided here: scorer.py tells which places are tables, and with which cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inkgate.layout.evidence import Region, TableGuess
from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.frame import FloatArray, Frame, LayoutPiece, Row, rows_of
from inkgate.layout.order.turned import upright
from inkgate.layout.tables.ruled import RuledTable
from inkgate_client.coordinates import holds_middle
from inkgate_client.types import BlockType, Box

CELL_GAP = 1.0
"""Cells are further apart than this, in line heights."""
MAX_BETWEEN = 2
"""Maximum rows with fewer cells between two rows of a table: wrapped text and the titles of sections."""
ROW_GAP = 4.0
"""Rows of a table are at most this far apart, in line heights."""
MIN_SHARED = 0.6
"""Minimum share of the cells of a row that stand below cells of the row before: else another table begins."""
SIDE_GAP = 3.0
"""A gap of this width, in line heights, may part a table from the text beside it."""
SEVERAL, MIN_WIDE_ROWS = 3, 0.45
"""Minimum share of rows with so many cells on a page that is a table. At most 0.36 on dev's receipts."""
MAX_CHARACTERS = 40
"""Places whose median line is longer are prose unless lines are drawn; that of a table's cells is below 20."""
MAX_PLACES = 40
"""Maximum places of a page that are examined, the largest."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Rows that may be a table: `rows[start:stop]`. The others stand above and below it, in the same width.

    `ruled`: its cells between drawn lines, if it was found by these.
    """

    rows: tuple[Row, ...]
    start: int
    stop: int
    ruled: RuledTable | None = None

    @property
    def pieces(self) -> list[LayoutPiece]:
        return [piece for row in self.rows[self.start : self.stop] for piece in row]

    @property
    def key(self) -> frozenset[int]:
        """What is in it."""
        return frozenset(piece.index for piece in self.pieces)

    def trimmed(self, captions: frozenset[int] = frozenset()) -> TablePlace | None:
        """The place without running text and captions above and below; None if fewer than two rows are left.

        A row of several pieces as near to each other as words is a line of text. `captions`: indexes of their pieces.
        """
        if self.ruled:
            return self
        start, stop = self.start, self.stop
        while stop - start > 1 and _is_text(
            self.rows[start], captions, self.rows[start + 1], goes_on=start > self.start
        ):
            start += 1
        first_single = stop
        while first_single > start and len(self.rows[first_single - 1]) == 1:
            first_single -= 1
        texts = [n for n in range(first_single, stop) if _is_text(self.rows[n], captions)]
        stop = texts[0] if texts else stop
        return replace(self, start=start, stop=stop) if stop - start > 1 else None

    def moved(self, up: int, down: int) -> TablePlace | None:
        """The place with so many rows more above and below; None if that is none, or has fewer than two rows."""
        start, stop = self.start - up, self.stop + down
        if start < 0 or stop > len(self.rows) or stop - start < 2:
            return None
        return replace(self, start=start, stop=stop)


def places_of(
    frame: Frame,
    rows: Sequence[Row],
    regions: Sequence[Region],
    ruled: Sequence[RuledTable],
    guesses: Sequence[TableGuess],
) -> list[TablePlace]:
    """The places of a page, none twice. `rows`: of its level pieces."""
    found: dict[frozenset[int], TablePlace] = {}
    sources = (_ruled(rows, ruled), _boxed(frame, rows, regions, guesses), _aligned(frame, rows))
    for place in (place for source in sources for place in source):
        lengths = sorted(len(piece.text) for piece in place.pieces)
        if place.ruled or lengths[len(lengths) // 2] <= MAX_CHARACTERS:
            found.setdefault(place.key, place)
    return sorted(found.values(), key=lambda place: -len(place.key))[:MAX_PLACES]


def _is_text(row: Row, captions: frozenset[int], below: Sequence[LayoutPiece] = (), *, goes_on: bool = False) -> bool:
    if all(piece.index in captions for piece in row):
        return True
    if len(cells_in(row)) > 1:
        return False
    text = row[0].text.strip()
    return 1 < len(row) < len(cells_in(below)) or len(text) > MAX_CHARACTERS or (goes_on and text[:1].islower())


def _ruled(rows: Sequence[Row], tables: Sequence[RuledTable]) -> Iterable[TablePlace]:
    for table in tables:
        taken = {piece.index for piece in table.grid.pieces}
        left = min(piece.left for piece in table.grid.pieces)
        right = max(piece.right for piece in table.grid.pieces)
        place = _among(rows, taken, left, right)
        if place is not None:
            yield replace(place, ruled=table)


def _boxed(
    frame: Frame, rows: Sequence[Row], regions: Sequence[Region], guesses: Sequence[TableGuess]
) -> Iterable[TablePlace]:
    """The regions of tables and figures, and what the table model looked at: as wide as these, and as the page."""
    boxes = [frame.place(region.box) for region in regions if region.type in (BlockType.TABLE, BlockType.FIGURE)]
    for box in [*boxes, *(frame.place(guess.box) for guess in guesses)]:
        inside = held_in(box, frame.pieces)
        if sum(piece.turn != 0 for piece in inside) * 2 > len(inside):
            turned = rows_of(upright(inside))
            yield TablePlace(tuple(turned), 0, len(turned))
            continue
        taken = {piece.index for piece in inside if piece.turn == 0}
        for left, right in ((box[0], box[2]), (-np.inf, np.inf)):
            place = _among(rows, taken, left, right)
            if place is not None:
                yield place


def held_in(box: Box, pieces: Iterable[LayoutPiece]) -> list[LayoutPiece]:
    """The pieces whose middle is in a box of the frame."""
    return [piece for piece in pieces if holds_middle(box, (piece.left, piece.top, piece.right, piece.bottom))]


def _among(rows: Sequence[Row], taken: Iterable[int], left: float, right: float) -> TablePlace | None:
    """The rows of a part of the page's width from the first to the last that has a piece of `taken`."""
    wanted = frozenset(taken)
    cut = [[piece for piece in row if left <= (piece.left + piece.right) / 2 <= right] for row in rows]
    kept = tuple(row for row in cut if row)
    held = [number for number, row in enumerate(kept) if any(piece.index in wanted for piece in row)]
    return TablePlace(kept, held[0], held[-1] + 1) if held else None


def _aligned(frame: Frame, rows: Sequence[Row]) -> Iterable[TablePlace]:
    """Stretches of rows whose cells stand below each other, in each column of text and over the whole page."""
    if not any(len(cells_in(row)) > 1 for row in rows):
        return
    level = [piece for piece in frame.pieces if not piece.turned]
    flows = [rows]
    places = {piece.index: number for number, row in enumerate(rows) for piece in row}
    for flow in flows_of(level, frame.unit):
        inside = {piece.index for piece in flow}
        if len(inside) < len(level):
            touched = sorted({places[index] for index in inside if index in places})
            flows.append([[piece for piece in rows[number] if piece.index in inside] for number in touched])
    for flow_rows in flows:
        wide = _runs(flow_rows, frame.unit, 3)
        for start, stop in _runs(flow_rows, frame.unit, 2):
            inner = [run for run in wide if start <= run[0] and run[1] <= stop]
            ends = [(start, inner[0][0]), (inner[-1][1], stop)] if inner else []
            for first, end in [(start, stop), *inner, *(part for part in ends if part[1] - part[0] > 1)]:
                yield TablePlace(tuple(flow_rows), first, end)
            yield from _sides(rows, flow_rows[start:stop], frame.unit)


def _sides(rows: Sequence[Row], run: Sequence[Row], unit: float) -> Iterable[TablePlace]:
    """The parts left and right of the widest gap in a run: a block of text beside a table."""
    edges = sorted((piece.left, piece.right) for row in run for piece in row)
    gaps, reach = [(0.0, 0.0)], edges[0][1]
    for left, right in edges:
        gaps.append((left - reach, (left + reach) / 2))
        reach = max(reach, right)
    gap, middle = max(gaps)
    if gap > SIDE_GAP * unit and any(row[0].left < middle < row[-1].right for row in run):
        for low, high in ((-np.inf, middle), (middle, np.inf)):
            taken = [p.index for row in run for p in row if low <= (p.left + p.right) / 2 <= high]
            place = _among(rows, taken, low, high)
            if place is not None and place.stop - place.start > 1:
                yield place


def _runs(rows: Sequence[Row], unit: float, least: int) -> list[tuple[int, int]]:
    """Stretches of rows that begin and end with rows of several cells, with few others between."""
    runs: list[tuple[int, int]] = []
    start, last = -1, -1
    above: list[tuple[float, float]] = []
    for number, row in enumerate(rows):
        cells = cells_in(row)
        if start >= 0 and (_gap(rows[number - 1], row) > ROW_GAP * unit or number - last > MAX_BETWEEN + 1):
            runs.append((start, last + 1))
            start = -1
        if len(cells) < least:
            continue
        if start >= 0 and not _are_below(above, cells):
            runs.append((start, last + 1))
            start = -1
        start = number if start < 0 else start
        last, above = number, cells
    runs += [(start, last + 1)] if start >= 0 else []
    return [(first, end) for first, end in runs if end - first > 1]


def _gap(row: Row, below: Row) -> float:
    return min(piece.top for piece in below) - max(piece.bottom for piece in row)


def cells_in(row: Sequence[LayoutPiece]) -> list[tuple[float, float]]:
    """Left and right of the cells of a row: pieces that are near to each other are one."""
    cells: list[tuple[float, float]] = []
    height = 0.0
    for piece in row:
        if cells and piece.left - cells[-1][1] <= CELL_GAP * min(height, piece.height):
            cells[-1] = (cells[-1][0], max(cells[-1][1], piece.right))
        else:
            cells.append((piece.left, piece.right))
        height = piece.height
    return cells


def _are_below(above: Sequence[tuple[float, float]], cells: Sequence[tuple[float, float]]) -> bool:
    shared = sum(any(min(a[1], b[1]) > max(a[0], b[0]) for a in above) for b in cells)
    return shared >= MIN_SHARED * min(len(above), len(cells))


def shares_in(boxes: FloatArray, others: FloatArray) -> FloatArray:
    """Share of each of `boxes` (N, 4) that lies in each of `others` (M, 4): (N, M)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    areas = np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), 1e-9)
    shared: FloatArray = np.clip(high - low, 0, None).prod(axis=2) / areas[:, None]
    return shared


def is_tabular(rows: Sequence[Row]) -> bool:
    """Whether a page is nothing but a table: many rows have several cells, which receipts' rows don't."""
    return sum(len(cells_in(row)) >= SEVERAL for row in rows) >= MIN_WIDE_ROWS * max(len(rows), 1)
