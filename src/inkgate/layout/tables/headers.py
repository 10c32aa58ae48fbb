"""Which rows of a table are its header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.tables.grid import Grid, GridCell

MAX_ROWS = 3
"""Maximum rows of a header."""
MAX_NUMBERS = 0.6
"""A column is of numbers if this share of its filled cells is."""
_YEAR = re.compile(r"\W*(?:19|20)\d\d\W*")


def is_number(text: str) -> bool:
    """Whether a text has more digits than letters."""
    return sum(char.isdigit() for char in text) > sum(char.isalpha() for char in text)


def with_headers(grid: Grid) -> Grid:
    """The grid with its header marked, unless a model already did: words above numbers, or a full first row.

    A header has several rows only where its cells span rows or columns.
    """
    if any(cell.header for cell in grid.cells):
        return grid
    count = _header_rows(grid)
    return replace(grid, cells=tuple(replace(cell, header=cell.row < count) for cell in grid.cells))


def _header_rows(grid: Grid) -> int:
    count = 1
    while count < min(MAX_ROWS, grid.rows - 1) and _reaches_below(grid, count):
        count += 1
    if count >= grid.rows or _reaches_below(grid, count):
        return 0
    rows = grid.by_row
    head, body = [cell for row in rows[:count] for cell in row], [cell for row in rows[count:] for cell in row]
    if any(_is_value(cell) for cell in head) or not any(cell.pieces for cell in head):
        return 0
    columns = {column for column in range(grid.columns) if _is_of_numbers(column, body)}
    named = {column for cell in head if cell.pieces for column in range(cell.column, cell.column + cell.column_span)}
    return count if columns & named or len(named) >= grid.columns - 1 > 0 else 0


def _reaches_below(grid: Grid, count: int) -> bool:
    """Whether a cell of the first rows spans rows beyond them, or columns that cells below divide: names for those."""
    above = [cell for cell in grid.cells if cell.row < count]
    if any(cell.row + cell.row_span > count for cell in above):
        return True
    last = [cell for cell in above if cell.row == count - 1 and 1 < cell.column_span < grid.columns]
    below = [cell for cell in grid.cells if cell.row == count]
    return any(
        sum(bool(cell.pieces) and cell.column in range(head.column, head.column + head.column_span) for cell in below)
        > 1
        for head in last
    ) and not any(_is_value(cell) for cell in below)


def _is_value(cell: GridCell) -> bool:
    """Whether a cell has a number that is no year: header of columns by year are common."""
    text = " ".join(piece.text for piece in cell.pieces)
    return is_number(text) and not _YEAR.fullmatch(text)


def _is_of_numbers(column: int, cells: Sequence[GridCell]) -> bool:
    filled = [cell for cell in cells if cell.column == column and cell.pieces]
    numbers = sum(is_number(" ".join(piece.text for piece in cell.pieces)) for cell in filled)
    return bool(filled) and numbers >= MAX_NUMBERS * len(filled)
