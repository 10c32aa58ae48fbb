"""Ruled tables: puts pieces of text into the cells between a page's drawn lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.frame import FloatArray, Frame, LayoutPiece, rows_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with
from inkgate.layout.tables.headers import is_number
from inkgate_client.types import Box

TOUCH = 0.5
"""Cells whose gap is smaller than this share of the smaller one's height or width share a line."""
SAME_EDGE = 0.4
"""Cells whose starts differ by less than this share of a usual cell's height, or of a narrow one's width, start on one
line."""
BELONGS = 0.4
"""A line belongs to a table whose cells contain this share of it: it may cover the drawn lines between them."""
HELD = 0.6
"""Minimum part of that share in the cell to which the line belongs."""
SLIVER = 1.2
"""Empty cells narrower or lower than this, in line heights, are gaps in the drawing, or letters
that touch a line: no text fits in."""

SLIVERS_EDGE = 0.6
"""Cells beside such gaps start later than those above them, but never by more than this share of the narrowest cell."""

BLOCK = 256
"""Number of cells compared with all others at once, to bound memory."""


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
    """Returns, for each of some cells, which of all cells share a line with it."""
    some_by, all_by = some[:, None, 2:] - some[:, None, :2], boxes[:, 2:] - boxes[:, :2]
    near = TOUCH * np.minimum(some_by, all_by).min(axis=2)
    gaps = np.maximum(some[:, None, :2], boxes[:, :2]) - np.minimum(some[:, None, 2:], boxes[:, 2:])
    found: NDArray[np.bool_] = (gaps.max(axis=2) < near) & (gaps.min(axis=2) < 0)
    return found


def ruled_tables(frame: Frame, cells: Sequence[Box]) -> list[RuledTable]:
    """Groups of cells that may be tables, with their lines; none on pages of vertical columns.

    `cells`: upright boxes in pixels of the page; on a skewed page, with the true size of the cells.
    """
    if frame.vertical:
        return []
    found = (_table(frame, group) for group in groups_of(cells))
    return [table for table in found if table is not None]


def _table(frame: Frame, cells: Sequence[Box]) -> RuledTable | None:
    boxes = np.array([_placed(frame, cell) for cell in cells])
    order = np.lexsort((boxes[:, 0], boxes[:, 1]))
    boxes, cells = boxes[order], [cells[i] for i in order.tolist()]
    held: list[list[LayoutPiece]] = [[] for _ in boxes]
    for piece in frame.pieces:
        inside = _shares(piece, boxes)
        if inside.sum() > BELONGS:
            held[_first(inside, boxes)].append(piece)
    if not any(held):
        return None
    selected = [i for i, box in enumerate(boxes) if held[i] or min(box[2:] - box[:2]) >= SLIVER * frame.unit]
    grid = _grid(boxes[selected], [cells[i] for i in selected], [held[i] for i in selected], frame.unit)
    lefts, tops, rights, bottoms = np.array(cells).T
    box = (float(lefts.min()), float(tops.min()), float(rights.max()), float(bottoms.max()))
    return RuledTable(box, grid) if grid.is_table else None


def _placed(frame: Frame, cell: Box) -> Box:
    """The cell in the frame: rotated about the page, not enlarged."""
    left, top, right, bottom = cell
    x, y = (left + right) / 2, (top + bottom) / 2
    x, y, _, _ = frame.place((x, y, x, y))
    half_wide, half_high = (right - left) / 2, (bottom - top) / 2
    if frame.turn % 180 == 90:
        half_wide, half_high = half_high, half_wide
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
    flows = flows_of(pieces, unit) if len(pieces) > 1 else [pieces]
    return [piece for flow in flows for row in rows_of(flow) for piece in row]


def _grid(boxes: FloatArray, cells: Sequence[Box], held: Sequence[list[LayoutPiece]], unit: float) -> Grid:
    """Every edge at which cells begin makes a row or a column; a cell spans those that begin inside it.

    `boxes`: of the cells in the frame.
    """
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    narrow = float(wide.min())
    near = (max(SAME_EDGE * narrow, min(SLIVER * unit, SLIVERS_EDGE * narrow)), SAME_EDGE * float(np.median(high)))
    columns, lefts = _edges(boxes[:, 0], near[0])
    rows, tops = _edges(boxes[:, 1], near[1])
    found = [
        GridCell(
            rows[i],
            columns[i],
            tuple(_read(held[i], unit)),
            row_span=_span(tops, rows[i], bottom, near[1]),
            column_span=_span(lefts, columns[i], right, near[0]),
            box=cells[i],
        )
        for i, (right, bottom) in enumerate(boxes[:, 2:].tolist())
    ]
    return _with_lists(grid_with(found, tuple(tops)))


def _span(starts: Sequence[float], first: int, end: float, near: float) -> int:
    """Number of rows or columns from the first to the last that begins before the cell's end."""
    return max(1, sum(start < end - near for start in starts[first:]))


def _with_lists(grid: Grid) -> Grid:
    """The grid with every row that lists numbers, one per line of text, as several rows.

    In such a table the drawn lines separate columns, but not rows.
    """
    cells: list[GridCell] = list(grid.cells)
    tops = list(grid.tops)
    for row in reversed(range(grid.rows)):
        here = [cell for cell in cells if cell.row == row]
        lists = _listed(here)
        if not lists:
            continue
        more = len(lists) - 1
        cells = [_moved(cell, row, more) for cell in cells if cell.row != row] + [
            cell for number, parts in enumerate(lists) for cell in _parts_at(here, parts, row + number)
        ]
        tops[row + 1 : row + 1] = [min(p.top for part in parts for p in part) for parts in lists[1:]]
    return grid_with(cells, tuple(tops))


def _moved(cell: GridCell, row: int, more: int) -> GridCell:
    """A cell after the row became several: moved down if it begins below, higher if it spans the row."""
    if cell.row > row:
        return replace(cell, row=cell.row + more)
    return replace(cell, row_span=cell.row_span + more) if cell.row + cell.row_span > row else cell


def _parts_at(cells: Sequence[GridCell], parts: Sequence[Sequence[LayoutPiece]], row: int) -> list[GridCell]:
    """The cells of one row of text, each with its part of the pieces; their boxes are those of the text."""
    return [
        replace(cell, row=row, pieces=tuple(part), row_span=1, box=None)
        for cell, part in zip(cells, parts, strict=True)
    ]


def _listed(cells: Sequence[GridCell]) -> list[list[list[LayoutPiece]]]:
    """The rows of text in a row of cells, as rows of cells; empty unless a cell lists numbers, one per row."""
    rows = rows_of([piece for cell in cells for piece in cell.pieces])
    places = {piece.index: number for number, row in enumerate(rows) for piece in row}
    if (
        len(rows) < 2
        or any(cell.row_span > 1 for cell in cells)
        or not any(
            len({places[piece.index] for piece in cell.pieces}) == len(rows)
            and all(is_number(piece.text) for piece in cell.pieces)
            for cell in cells
        )
    ):
        return []
    numbers = range(len(rows))
    return [[[piece for piece in cell.pieces if places[piece.index] == number] for cell in cells] for number in numbers]


def _edges(starts: FloatArray, near: float) -> tuple[list[int], list[float]]:
    """Returns for each start its number among the distinct ones, and these: the first of each."""
    order = np.argsort(starts, kind="stable")
    numbers = np.zeros(len(starts), dtype=np.int64)
    distinct = np.concatenate([[True], np.diff(starts[order]) > near])
    numbers[order] = np.cumsum(distinct) - 1
    return [int(number) for number in numbers], [float(start) for start in starts[order][distinct]]
