"""Grids from words alone: rows by baseline, columns by the gaps between the pieces of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray, LayoutPiece, Row
from inkgate.layout.tables.grid import Grid, GridCell, grid_with, plain_grid

COVERED = 0.5
"""A piece is above another if they share this part of the narrower one's width."""
VALLEY = 0.25
"""Columns are separated where at most this share of the rows has a piece between pieces of others on both sides."""
TRIM = 0.1
"""Share of its width by which each end of a cell is shortened: boxes of neighbours may touch."""
MAX_COMPARED = 600
"""Pieces that are compared with each other to find headings over several columns, to bound memory and time."""
IN_ROW, IN_ROWS = 0.5, 0.6
"""Pieces beside a table belong to it if this share of them is this near to its rows, in their own heights."""
APART = 1.5
"""Lines of one cell are closer to each other than those of two rows, by this factor."""


def grid_of(rows: Sequence[Row]) -> Grid:
    """Rows by baseline; columns by the gaps in the pieces of all rows, except headings over several columns."""
    pieces = [piece for row in rows for piece in row]
    columns = np.array(_columns(_single(rows) or pieces), dtype=np.float64)
    places = _places(pieces, columns).tolist()
    cells: list[list[list[LayoutPiece]]] = []
    at = 0
    for row in rows:
        line: list[list[LayoutPiece]] = [[] for _ in columns]
        for piece in row:
            line[places[at]].append(piece)
            at += 1
        cells.append(line)
    return plain_grid(cells)


def with_joined_rows(grid: Grid) -> Grid | None:
    """The grid with lines of text that are close to each other as one row; None if all are as close, or as far.

    `grid`: from `grid_of`. Rows of such tables are apart by more than the lines in their cells.
    """
    filled = [[piece for cell in row for piece in cell.pieces] for row in grid.by_row]
    tops = [min((piece.top for piece in row), default=0.0) for row in filled]
    bottoms = [max((piece.bottom for piece in row), default=0.0) for row in filled]
    heights = sorted(piece.height for row in filled for piece in row)
    if len(filled) < 2 or not all(filled):
        return None
    unit = max(heights[len(heights) // 2], 1e-6)
    steps = [below - above for above, below in pairwise((a + b) / 2 for a, b in zip(tops, bottoms, strict=True))]
    ordered = sorted(max(step, unit / 2) for step in steps)
    jump, split = max(((b / a, (a + b) / 2) for a, b in pairwise(ordered)), default=(0.0, 0.0))
    if jump < APART:
        return None
    numbers = [0]
    for step in steps:
        numbers.append(numbers[-1] + (step > split))
    return _renumbered(grid, numbers)


def with_continued_rows(grid: Grid) -> Grid | None:
    """The grid with rows that only go on with the words of the row above joined to it; None if there are none.

    Such a row has no number, and fewer filled cells, all below filled ones.
    """
    numbers = [0]
    above: set[int] = {cell.column for cell in grid.by_row[0] if cell.pieces}
    for row in grid.by_row[1:]:
        here = {cell.column for cell in row if cell.pieces}
        text = "".join(piece.text for cell in row for piece in cell.pieces)
        goes_on = here < above and not any(map(str.isdigit, text)) and len(above) > 2
        numbers.append(numbers[-1] + (not goes_on))
        above = above if goes_on else here
    return _renumbered(grid, numbers) if numbers[-1] + 1 < grid.rows else None


def continuing_pieces(grid: Grid, beside: Sequence[LayoutPiece]) -> list[LayoutPiece]:
    """The pieces beside a table that continue its rows: a column outside of its drawn lines.

    `beside`: pieces in no zone, of the same flow as the table.
    """
    middles = np.array([piece.middle for piece in grid.pieces])
    low, high = min(piece.top for piece in grid.pieces), max(piece.bottom for piece in grid.pieces)
    near = [piece for piece in beside if low <= piece.middle <= high]
    hits = sum(float(np.abs(middles - piece.middle).min()) < IN_ROW * piece.height for piece in near)
    return near if near and hits >= IN_ROWS * len(near) else []


def with_stubs(grid: Grid, stubs: Sequence[LayoutPiece]) -> Grid:
    """A drawn table with the pieces of `continuing_pieces`: one more column on each side."""
    left = min(piece.left for piece in grid.pieces)
    ahead = any(piece.left < left for piece in stubs)
    cells = [replace(cell, column=cell.column + ahead) for cell in grid.cells]
    for piece in stubs:
        row = max(0, int(np.searchsorted(grid.tops, piece.middle, side="right")) - 1)
        cells.append(GridCell(row, 0 if piece.left < left else grid.columns + ahead, (piece,)))
    return grid_with(cells, grid.tops)


def _renumbered(grid: Grid, numbers: Sequence[int]) -> Grid:
    """The cells of rows with the same number are joined."""
    rows: list[list[list[LayoutPiece]]] = [[[] for _ in range(grid.columns)] for _ in range(numbers[-1] + 1)]
    for cell in grid.cells:
        rows[numbers[cell.row]][cell.column] += cell.pieces
    return plain_grid(rows)


def _single(rows: Sequence[Row]) -> list[LayoutPiece]:
    """The pieces that have at most one piece of each other row under or over them."""
    pieces = [piece for row in rows for piece in row]
    if len(pieces) > MAX_COMPARED:
        return pieces
    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    left, right = np.array([(piece.left, piece.right) for piece in pieces], dtype=np.float64).reshape(-1, 2).T
    width = right - left
    shared = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    covered = shared > COVERED * np.maximum(np.minimum(width[:, None], width), 1e-9)
    covered &= places[:, None] != places
    starts = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1])
    single = np.add.reduceat(covered, starts, axis=1, dtype=np.int64).max(axis=1) < 2
    return [piece for piece, alone in zip(pieces, single.tolist(), strict=True) if alone]


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
    """Runs of segments [a, b) in `cover[start:stop]`, split again and again at the deepest valley."""
    runs: list[tuple[int, int]] = []
    todo = [(start, stop)]  # not by recursion: a table of hundreds of columns is as deep
    while todo:
        start, stop = todo.pop()
        filled = np.flatnonzero(cover[start:stop])
        if not len(filled):
            continue
        start, stop = start + int(filled[0]), start + int(filled[-1]) + 1
        part = cover[start:stop]
        lower = np.minimum(np.maximum.accumulate(part), np.maximum.accumulate(part[::-1])[::-1])
        valley = int(np.argmin(part / lower))
        if part[valley] > VALLEY * lower[valley]:
            runs.append((start, stop))
        else:
            todo += [(start + valley + 1, stop), (start, start + valley)]
    return runs


def _places(pieces: Sequence[LayoutPiece], columns: FloatArray) -> NDArray[np.int64]:
    """For each piece the first column that contains it, or the nearest. `columns`: (N, 2), as `_columns` gives them."""
    low, high = columns.T
    left, right = np.array([(piece.left, piece.right) for piece in pieces], dtype=np.float64).T[:, :, None]
    narrow = np.maximum(np.minimum(right - left, high - low), 1e-9)
    held = np.minimum(right, high) - np.maximum(left, low) > COVERED * narrow
    middle = (left + right) / 2
    nearest = np.maximum(low - middle, middle - high).argmin(axis=1)
    places: NDArray[np.int64] = np.where(held.any(axis=1), held.argmax(axis=1), nearest)
    return places
