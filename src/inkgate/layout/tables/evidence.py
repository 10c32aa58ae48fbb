"""What makes a grid a table: short cells in filled columns. Columns of prose are none, and neither are pairs here and
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.tables.grid import Grid

CELL_GAP = 1.0
"""Cells are further apart than this, in line heights."""
MIN_ROWS = 2
"""Minimum rows with two or more cells."""
MIN_FILLED = 0.5
"""Minimum share of filled cells, of the rows that have two or more."""
MIN_PAIRED = 0.5
"""Minimum share of the rows that have two or more cells."""
MIN_FILLED_BY_WORDS, MAX_HEADED = 0.6, 0.25
"""Minimum share of filled cells, and maximum share of the rows that have only the first, where words alone make the
table. In receipts, such rows name the goods, and those after them, with numbers, are no table without them."""
SEVERAL, MIN_WIDE_ROWS = 3, 0.45
"""Minimum share of rows with so many cells on a page that is a table. At most 0.36 on dev's receipts."""
PROSE_ASPECT = 8.0
"""Minimum width of a line of prose, in line heights: about 16 letters."""
PROSE_FILL = 0.7
"""A line that covers at least this share of its column's width fills it."""
PROSE_LINES, PROSE_SHARE = 3, 0.6
"""A column is prose from this many such lines on, if they are this share of its lines."""


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


def is_number(text: str) -> bool:
    """Whether a text has more digits than letters."""
    return sum(char.isdigit() for char in text) > sum(char.isalpha() for char in text)


def is_tabular(rows: Sequence[Sequence[LayoutPiece]]) -> bool:
    """Whether a page is nothing but a table: many rows have several cells, which receipts' rows don't."""
    return sum(len(cells_in(row)) >= SEVERAL for row in rows) >= MIN_WIDE_ROWS * max(len(rows), 1)


def is_believable(grid: Grid, unit: float) -> bool:
    """Whether a grid that no drawn lines prove is a table: most cells are filled, and at most one column is prose."""
    if not grid.is_table:
        return False
    filled = [sum(bool(cell.pieces) for cell in row) for row in grid.by_row]
    paired = [count for count in filled if count > 1]
    if len(paired) < max(MIN_ROWS, MIN_PAIRED * len(filled)):
        return False
    if sum(paired) < MIN_FILLED * grid.columns * len(paired):
        return False
    return sum(_is_prose(column, unit) for column in _columns(grid)) < 2


def is_full(grid: Grid) -> bool:
    """Whether a grid is so well filled that it is a table although the layout model sees none."""
    filled = [[cell.column for cell in row if cell.pieces] for row in grid.by_row]
    headed = sum(columns == [0] for columns in filled)
    return headed <= MAX_HEADED * grid.rows and sum(map(len, filled)) >= MIN_FILLED_BY_WORDS * len(grid.cells)


def _columns(grid: Grid) -> list[list[LayoutPiece]]:
    """The pieces of the cells that begin in each column."""
    columns: list[list[LayoutPiece]] = [[] for _ in range(grid.columns)]
    for cell in grid.cells:
        columns[cell.column] += cell.pieces
    return columns


def _is_prose(pieces: Sequence[LayoutPiece], unit: float) -> bool:
    """Whether the pieces of a column are lines of running text: long, and as wide as the column."""
    if len(pieces) < PROSE_LINES:
        return False
    width = max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
    height = max(median(piece.height for piece in pieces), unit / 2)
    full = [piece for piece in pieces if piece.width >= max(PROSE_ASPECT * height, PROSE_FILL * width)]
    return len(full) >= max(PROSE_LINES, PROSE_SHARE * len(pieces))
