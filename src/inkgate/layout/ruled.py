"""Ruled tables: puts pieces of text into the cells between a page's drawn lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.columns import flows_of
from inkgate.layout.frame import FloatArray, Frame, LayoutPiece, Row, rows_of
from inkgate.layout.tables import Grid
from inkgate.types import Box

TOUCH = 0.5
"""Cells whose gap is smaller than this share of the smaller one's height or width share a line."""
SAME_EDGE = 0.4
"""Cells whose starts differ by less than this share of a usual cell's height, or of a narrow one's width, start on one
line."""
BELONGS = 0.4
"""A line belongs to a table whose cells contain this share of it: it may cover the drawn lines between them."""
HELD = 0.6
"""It belongs to the cell that contains this much of that share."""
LEAST_FILLED, LEAST_FILLED_SHARE = 4, 0.3
"""Minimum number of cells with text in a table, and their share of all its cells: a plot's grid is empty."""
MOST_CROSSING = 0.3
"""In a table at most this share of the lines crosses cells."""
MOST_ROWS = 8.0
"""If cells contain more rows of text than this on average, they are panels of a page."""

BLOCK = 256
"""Number of cells compared with all others at once, to bound memory."""
MOST_PARTED = 0.2
"""If more than this share of the cells contains columns, the drawn lines separate a table's sections, not its cells."""
CELL_GAP = 1.0
"""Columns are further apart than this, in line heights."""


@dataclass(frozen=True, slots=True)
class RuledTable:
    """A table on the page: the `box` around its cells in pixels of the page, and its cells with their pieces."""

    box: Box
    grid: Grid


def groups_of(cells: Sequence[Box]) -> list[list[Box]]:
    """Cells that share lines with each other, as groups; upright boxes of any unit."""
    boxes = np.array(cells, dtype=np.float64).reshape(-1, 4)
    blocks = [_touching(boxes[at : at + BLOCK], boxes) for at in range(0, len(boxes), BLOCK)]
    joined = np.concatenate(blocks) if blocks else np.zeros((0, 0), dtype=np.bool_)
    groups: list[list[Box]] = []
    loose = np.ones(len(cells), dtype=np.bool_)
    while loose.any():
        group = np.zeros(len(cells), dtype=np.bool_)
        group[int(np.argmax(loose))] = True
        while (wider := np.logical_or.reduce(joined[group])).sum() > group.sum():
            group = wider
        loose &= ~group
        groups.append([cells[i] for i in np.flatnonzero(group).tolist()])
    return groups


def _touching(some: FloatArray, boxes: FloatArray) -> NDArray[np.bool_]:
    """For each of some cells, which of all cells share a line with it."""
    some_by, all_by = some[:, None, 2:] - some[:, None, :2], boxes[:, 2:] - boxes[:, :2]
    near = TOUCH * np.minimum(some_by, all_by).min(axis=2)
    gaps = np.maximum(some[:, None, :2], boxes[:, :2]) - np.minimum(some[:, None, 2:], boxes[:, 2:])
    found: NDArray[np.bool_] = (gaps.max(axis=2) < near) & (gaps.min(axis=2) < 0)
    return found


def ruled_tables(frame: Frame, cells: Sequence[Box]) -> list[RuledTable]:
    """The tables formed by the cells, if lines of text fill them; none on pages of vertical columns.

    `cells`: upright boxes in pixels of the page; on a skewed page, with the true size of the cells.
    """
    if frame.vertical:
        return []
    found = (_table(frame, group) for group in groups_of(cells))
    return [table for table in found if table is not None]


def _table(frame: Frame, cells: Sequence[Box]) -> RuledTable | None:
    boxes = np.array([_placed(frame, cell) for cell in cells])
    boxes = boxes[np.lexsort((boxes[:, 0], boxes[:, 1]))]
    held: list[list[LayoutPiece]] = [[] for _ in boxes]
    crossing = 0
    for piece in frame.pieces:
        inside = _shares(piece, boxes)
        if inside.sum() <= BELONGS:
            continue
        crossing += bool(inside.max() < HELD * inside.sum())
        held[_first(inside, boxes)].append(piece)
    filled = [pieces for pieces in held if pieces]
    count = sum(map(len, filled))
    if len(filled) < max(LEAST_FILLED, LEAST_FILLED_SHARE * len(held)) or crossing > MOST_CROSSING * count:
        return None
    rows = [rows_of(pieces) for pieces in filled]
    if sum(map(len, rows)) > MOST_ROWS * len(rows) or sum(map(_has_columns, rows)) > MOST_PARTED * len(rows):
        return None
    grid = _grid(boxes, held, frame.unit)
    lefts, tops, rights, bottoms = np.array(cells).T
    box = (float(lefts.min()), float(tops.min()), float(rights.max()), float(bottoms.max()))
    return RuledTable(box, grid) if grid.is_table else None


def _has_columns(rows: Sequence[Row]) -> bool:
    """Whether at least two rows of a cell have pieces that are far apart."""
    return sum(any(b.left - a.right > CELL_GAP * min(a.height, b.height) for a, b in pairwise(row)) for row in rows) > 1


def _placed(frame: Frame, cell: Box) -> Box:
    """The cell in the frame: rotated about the page, not enlarged."""
    left, top, right, bottom = cell
    x, y = (left + right) / 2, (top + bottom) / 2
    x, y, _, _ = frame.place((x, y, x, y))
    half_wide, half_high = (right - left) / 2, (bottom - top) / 2
    return (x - half_wide, y - half_high, x + half_wide, y + half_high)


def _shares(piece: LayoutPiece, boxes: FloatArray) -> FloatArray:
    """Share of the piece that lies in each of the boxes."""
    low = np.maximum(boxes[:, :2], (piece.left, piece.top))
    high = np.minimum(boxes[:, 2:], (piece.right, piece.bottom))
    shared: FloatArray = np.clip(high - low, 0, None).prod(axis=1)
    return shared / max(piece.width * piece.height, 1e-9)


def _first(inside: FloatArray, boxes: FloatArray) -> int:
    """The cell of the piece; of several that it crosses, the leftmost that contains a fair part of it."""
    if inside.max() >= HELD * inside.sum():
        return int(np.argmax(inside))
    fair = np.flatnonzero(inside >= inside.max() / 2)
    return int(fair[np.argmin(boxes[fair, 0])])


def _read(pieces: list[LayoutPiece], unit: float) -> list[LayoutPiece]:
    """The pieces of a cell, top to bottom."""
    return [piece for flow in (flows_of(pieces, unit) if pieces else []) for row in rows_of(flow) for piece in row]


def _grid(boxes: FloatArray, held: Sequence[list[LayoutPiece]], unit: float) -> Grid:
    """Every edge at which cells begin makes a row or a column; a cell that spans several is put into the first."""
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    columns = _edges(boxes[:, 0], SAME_EDGE * float(wide.min()))
    rows = _edges(boxes[:, 1], SAME_EDGE * float(np.median(high)))
    cells: list[list[list[LayoutPiece]]] = []
    tops: list[float] = []
    for row in range(max(rows) + 1):
        here = [i for i, number in enumerate(rows) if number == row]
        line: list[list[LayoutPiece]] = [[] for _ in range(max(columns) + 1)]
        for i in here:
            line[columns[i]] += held[i]
        parts = _listed(line) or [[_read(pieces, unit) for pieces in line]]
        cells += parts
        first = float(boxes[here, 1].min())
        tops += [first, *(min(piece.top for cell in part for piece in cell) for part in parts[1:])]
    return Grid(cells, tuple(tops))


def _listed(cells: Sequence[list[LayoutPiece]]) -> list[list[list[LayoutPiece]]]:
    """The rows of text in a row of cells, as rows of cells; empty unless a cell lists numbers, one per row.

    In such a table the drawn lines separate columns, but not rows.
    """
    rows = rows_of([piece for cell in cells for piece in cell])
    places = {piece.index: number for number, row in enumerate(rows) for piece in row}
    if len(rows) < 2 or not any(
        len({places[piece.index] for piece in cell}) == len(rows) and all(_is_number(piece.text) for piece in cell)
        for cell in cells
    ):
        return []
    numbers = range(len(rows))
    return [[[piece for piece in cell if places[piece.index] == number] for cell in cells] for number in numbers]


def _is_number(text: str) -> bool:
    return sum(char.isdigit() for char in text) > sum(char.isalpha() for char in text)


def _edges(starts: FloatArray, near: float) -> list[int]:
    """For each start its number among the distinct ones."""
    order = np.argsort(starts, kind="stable")
    numbers = np.zeros(len(starts), dtype=np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(np.diff(starts[order]) > near)])
    return [int(number) for number in numbers]
