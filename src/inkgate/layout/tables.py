"""Tables: the pieces inside a table's region as a grid of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.frame import LayoutPiece, rows_of

COVERED = 0.5
"""A piece is above another if they share this part of the narrower one's width."""
IN_ROW, IN_ROWS = 0.5, 0.6
"""Pieces beside a table belong to it if this share of them is this near to its rows, in their own heights."""
LEAST_ROWS, LEAST_CELLS, MOST_ROWS = 3, 3, 0.7
"""Minimum rows, cells, and share of rows with as many cells, of a table that the layout model did not find."""
CELL_GAP = 1.0
"""Cells are further apart than this, in line heights."""
VALLEY = 0.25
"""Columns are separated where at most this share of the rows has a piece between pieces of others on both sides."""
TRIM = 0.1
"""Share of its width by which each end of a cell is shortened: boxes of neighbours may touch."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells row by row, each with its pieces, in reading order. Every row has the same number of cells.

    `tops`: top of each row in ruled tables, whose cells may contain several rows of text each; else empty.
    """

    cells: list[list[list[LayoutPiece]]]
    tops: tuple[float, ...] = ()

    @property
    def ruled(self) -> bool:
        return bool(self.tops)

    @property
    def pieces(self) -> list[LayoutPiece]:
        """In reading order."""
        return [piece for row in self.cells for cell in row for piece in cell]

    @property
    def is_table(self) -> bool:
        """Whether it has at least two rows and two columns."""
        return len(self.cells) > 1 and len(self.cells[0]) > 1


def grid_of(pieces: Sequence[LayoutPiece]) -> Grid:
    """Rows by baseline; columns by the gaps in the pieces of all rows, except headings over several columns."""
    rows = rows_of(pieces)
    single = [piece for row in rows for piece in row if not _spans(piece, rows)]
    columns = _columns(single or list(pieces))
    cells: list[list[list[LayoutPiece]]] = []
    for row in rows:
        line: list[list[LayoutPiece]] = [[] for _ in columns]
        for piece in row:
            line[_column(piece, columns)].append(piece)
        cells.append(line)
    return Grid(cells)


def continuing_pieces(grid: Grid, beside: Sequence[LayoutPiece]) -> list[LayoutPiece]:
    """The pieces beside a table that continue its rows: a column that the layout model left out.

    `beside`: pieces in no zone, of the same flow as the table.
    """
    middles = np.array([piece.middle for piece in grid.pieces])
    low, high = min(piece.top for piece in grid.pieces), max(piece.bottom for piece in grid.pieces)
    near = [piece for piece in beside if low <= piece.middle <= high]
    hits = sum(float(np.abs(middles - piece.middle).min()) < IN_ROW * piece.height for piece in near)
    return near if near and hits >= IN_ROWS * len(near) else []


def with_stubs(grid: Grid, stubs: Sequence[LayoutPiece]) -> Grid:
    """The grid with the pieces of `continuing_pieces`: one more column on each side of a ruled table."""
    if not grid.ruled:
        return grid_of([*grid.pieces, *stubs])
    left = min(piece.left for piece in grid.pieces)
    before: list[list[LayoutPiece]] = [[] for _ in grid.cells]
    after: list[list[LayoutPiece]] = [[] for _ in grid.cells]
    for piece in stubs:
        row = max(0, int(np.searchsorted(grid.tops, piece.middle, side="right")) - 1)
        (before if piece.left < left else after)[row].append(piece)
    cells = [
        [*([ahead] if any(before) else []), *row, *([behind] if any(after) else [])]
        for ahead, row, behind in zip(before, grid.cells, after, strict=True)
    ]
    return Grid(cells, grid.tops)


def table_in(rows: Sequence[Sequence[LayoutPiece]]) -> Grid | None:
    """The rows as a grid if they are a table that the layout model missed: most rows have three or more cells."""
    if len(rows) < LEAST_ROWS or sum(_cells(row) >= LEAST_CELLS for row in rows) < MOST_ROWS * len(rows):
        return None
    grid = grid_of([piece for row in rows for piece in row])
    return grid if len(grid.cells[0]) >= LEAST_CELLS else None


def _cells(row: Sequence[LayoutPiece]) -> int:
    """Pieces of a row that are far apart from each other."""
    gaps = (b.left - a.right > CELL_GAP * min(a.height, b.height) for a, b in pairwise(row))
    return 1 + sum(gaps)


def _shared(a: LayoutPiece, b: LayoutPiece) -> bool:
    narrow = max(min(a.width, b.width), 1e-9)
    return min(a.right, b.right) - max(a.left, b.left) > COVERED * narrow


def _spans(piece: LayoutPiece, rows: Sequence[Sequence[LayoutPiece]]) -> bool:
    """Whether some other row has two or more pieces under or over this one."""
    return any(sum(_shared(piece, other) for other in row) > 1 for row in rows if piece not in row)


def _columns(pieces: Sequence[LayoutPiece]) -> list[tuple[float, float]]:
    """Stretches of x that belong to one column each, left to right.

    Columns are separated where no piece is, and where few are between many: a long cell may reach into its neighbour.
    """
    low = np.array([piece.left + TRIM * piece.width for piece in pieces])
    high = np.array([piece.right - TRIM * piece.width for piece in pieces])
    edges = np.unique(np.concatenate([low, high]))
    if len(edges) < 2:
        return [(float(low.min()), float(high.max()))]
    begun = np.searchsorted(np.sort(low), edges[:-1], side="right")
    ended = np.searchsorted(np.sort(high), edges[:-1], side="right")
    return [(float(edges[a]), float(edges[b])) for a, b in _parted(begun - ended, 0, len(edges) - 1)]


def _parted(cover: NDArray[np.int64], start: int, stop: int) -> list[tuple[int, int]]:
    """Runs of segments [a, b) in `cover[start:stop]`, split recursively at the deepest valley."""
    while start < stop and not cover[start]:
        start += 1
    while stop > start and not cover[stop - 1]:
        stop -= 1
    if start == stop:
        return []
    part = cover[start:stop]
    lower = np.minimum(np.maximum.accumulate(part), np.maximum.accumulate(part[::-1])[::-1])
    valley = int(np.argmin(part / lower))
    if part[valley] > VALLEY * lower[valley]:
        return [(start, stop)]
    return _parted(cover, start, start + valley) + _parted(cover, start + valley + 1, stop)


def _column(piece: LayoutPiece, columns: Sequence[tuple[float, float]]) -> int:
    """The first column that contains the piece, or the nearest."""
    for i, (low, high) in enumerate(columns):
        narrow = max(min(piece.width, high - low), 1e-9)
        if min(piece.right, high) - max(piece.left, low) > COVERED * narrow:
            return i
    middle = (piece.left + piece.right) / 2
    return min(range(len(columns)), key=lambda i: max(columns[i][0] - middle, middle - columns[i][1]))
