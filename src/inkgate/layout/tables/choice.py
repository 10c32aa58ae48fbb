"""The choice between grids of one table: the one that explains its words without splitting or lumping them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from inkgate.layout.order.frame import LayoutPiece, rows_of
from inkgate.layout.tables.evidence import CELL_GAP, is_number
from inkgate.layout.tables.grid import Grid, GridCell

MAX_WRONG, FEW_WRONG = 0.1, 0.03
"""A grid agrees with the words if at most this share of them contradicts it, and needs no other if at most that does:
cells that lump the words of two columns are few, but wrong."""


def best_grid(grids: Sequence[Grid]) -> Grid | None:
    """The first grid that hardly any of its words contradict, else the one they contradict least; None without grids.

    `grids`: of the same pieces, the most trusted first.
    """
    wrong = [contradictions(grid) for grid in grids]
    for grid, count in zip(grids, wrong, strict=True):
        if count <= FEW_WRONG * len(grid.pieces):
            return grid
    return min(zip(wrong, range(len(grids)), grids, strict=True), key=lambda found: found[:2])[2] if grids else None


def agrees(grid: Grid) -> bool:
    """Whether nearly all words are in cells that explain where they stand."""
    return contradictions(grid) <= MAX_WRONG * len(grid.pieces)


def contradictions(grid: Grid) -> int:
    """Number of pieces that contradict the grid.

    These are pieces beside each other on one line of text that are in one cell although far apart, in different rows,
    or in columns of another order; and numbers below each other in one cell.
    """
    cells = {piece: cell for cell in grid.cells for piece in cell.pieces}
    count = sum(_lumped(cell) for cell in grid.cells)
    for row in rows_of(grid.pieces):
        for left, right in pairwise(row):
            count += cells[left] is not cells[right] and not _are_beside(cells[left], cells[right])
    return count


def _lumped(cell: GridCell) -> int:
    """Pieces of a cell that are far apart on one line of text, and numbers below each other."""
    rows = rows_of(cell.pieces)
    far = sum(b.left - a.right > CELL_GAP * min(a.height, b.height) for row in rows for a, b in pairwise(row))
    return far + max(0, sum(_is_numbers(row) for row in rows) - 1)


def _is_numbers(row: Sequence[LayoutPiece]) -> bool:
    return is_number(" ".join(piece.text for piece in row))


def _are_beside(left: GridCell, right: GridCell) -> bool:
    """Whether the cells share a row, and the left one ends before the right one begins."""
    shared = min(left.row + left.row_span, right.row + right.row_span) > max(left.row, right.row)
    return shared and left.column + left.column_span <= right.column
