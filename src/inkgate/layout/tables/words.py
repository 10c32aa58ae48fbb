"""Tables: the pieces inside a table's region as a grid of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray, LayoutPiece, rows_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with, plain_grid

COVERED = 0.5
"""A piece is above another if they share this part of the narrower one's width."""
IN_ROW, IN_ROWS = 0.5, 0.6
"""Pieces beside a table belong to it if this share of them is this near to its rows, in their own heights."""
VALLEY = 0.25
"""Columns are separated where at most this share of the rows has a piece between pieces of others on both sides."""
TRIM = 0.1
"""Share of its width by which each end of a cell is shortened: boxes of neighbours may touch."""


def grid_of(pieces: Sequence[LayoutPiece]) -> Grid:
    """Rows by baseline; columns by the gaps in the pieces of all rows, except headings over several columns."""
    rows = rows_of(pieces)
    single = _single(rows)
    columns = _columns(single or list(pieces))
    stretches = np.array(columns, dtype=np.float64)
    cells: list[list[list[LayoutPiece]]] = []
    for row in rows:
        line: list[list[LayoutPiece]] = [[] for _ in columns]
        for piece in row:
            line[_column(piece, stretches)].append(piece)
        cells.append(line)
    return plain_grid(cells)


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
        return replace(grid_of([*grid.pieces, *stubs]), geometric=grid.geometric)
    left = min(piece.left for piece in grid.pieces)
    ahead = any(piece.left < left for piece in stubs)
    cells = [replace(cell, column=cell.column + ahead) for cell in grid.cells]
    for piece in stubs:
        row = max(0, int(np.searchsorted(grid.tops, piece.middle, side="right")) - 1)
        cells.append(GridCell(row, 0 if piece.left < left else grid.columns + ahead, (piece,)))
    return grid_with(cells, grid.tops)


def _single(rows: Sequence[Sequence[LayoutPiece]]) -> list[LayoutPiece]:
    """The pieces that have at most one piece of each other row under or over them."""
    pieces = [piece for row in rows for piece in row]
    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    left, right = np.array([(piece.left, piece.right) for piece in pieces], dtype=np.float64).reshape(-1, 2).T
    width = right - left
    single: list[LayoutPiece] = []
    for i, piece in enumerate(pieces):
        shared = np.minimum(right, right[i]) - np.maximum(left, left[i])
        covered = shared > COVERED * np.maximum(np.minimum(width, width[i]), 1e-9)
        others = places[covered & (places != places[i])]  # ascending
        if not (others[1:] == others[:-1]).any():
            single.append(piece)
    return single


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


def _column(piece: LayoutPiece, columns: FloatArray) -> int:
    """The first column that contains the piece, or the nearest. `columns`: (N, 2), as `_columns` gives them."""
    low, high = columns.T
    narrow = np.maximum(np.minimum(piece.width, high - low), 1e-9)
    held = np.minimum(piece.right, high) - np.maximum(piece.left, low) > COVERED * narrow
    if held.any():
        return int(np.argmax(held))
    middle = (piece.left + piece.right) / 2
    return int(np.argmin(np.maximum(low - middle, middle - high)))
