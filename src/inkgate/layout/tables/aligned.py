"""Tables without drawn lines: rows of short cells that stand below each other in columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from inkgate.layout.order.frame import LayoutPiece, Row, rows_of
from inkgate.layout.tables.evidence import cells_in, is_believable, is_full, is_number
from inkgate.layout.tables.grid import Grid
from inkgate.layout.tables.words import grid_of

MIN_CELLS = 3
"""Minimum cells of a row: pairs of label and value are lines of a form or a receipt, not a table."""
MIN_ROWS = 3
"""Minimum rows with so many cells."""
HEADED_CELLS = 4
"""Two rows are enough if they have at least this many cells, the first words and the second numbers."""
ROW_GAP = 2.5
"""Rows of a table are at most this far apart, in line heights; ruled or shaded ones are further apart than text."""
FIGURE_GAP = 2.0
"""The same as ROW_GAP where the layout model sees a figure: the ticks of plots below each other are further apart."""
MAX_BETWEEN = 2
"""Maximum rows with fewer cells between two rows of a table: wrapped text and the titles of sections."""
SAME_CELL = 0.5
"""A cell stands below another if they share this part of the narrower one's width."""
MIN_SHARED = 0.6
"""Minimum share of the cells of a row that stand below cells of the row before: else another table begins."""


@dataclass(frozen=True, slots=True)
class AlignedTable:
    """A table found by its words alone: its pieces as a grid."""

    grid: Grid

    @property
    def indexes(self) -> frozenset[int]:
        """Indexes of the group's lines."""
        return frozenset(piece.index for piece in self.grid.pieces)


def aligned_tables(pieces: Sequence[LayoutPiece], unit: float, pictured: Collection[int] = ()) -> list[AlignedTable]:
    """The tables among the pieces of one flow, top to bottom.

    Args:
        pieces: those with a zone stand for it and end a table.
        unit: height of the page's lines.
        pictured: indexes of the lines that are in figures.
    """
    rows = rows_of([piece for piece in pieces if not piece.turned])
    found = (_table(run, unit) for run in _runs(rows, unit, frozenset(pictured)))
    return [table for table in found if table is not None]


def _runs(rows: Sequence[Row], unit: float, pictured: frozenset[int]) -> list[list[Row]]:
    """Stretches of rows that begin and end with rows of several cells, with few others between."""
    runs: list[list[Row]] = []
    run: list[Row] = []
    waiting: list[Row] = []
    for number, row in enumerate(rows):
        if run and (_is_far([*run, *waiting][-1], row, unit, pictured) or row[0].zone >= 0):
            runs.append(run)
            run, waiting = [], []
        if row[0].zone < 0 and len(cells_in(row)) >= MIN_CELLS:
            if run and not _continues(run, row):
                runs.append(run)
                run, waiting = [], []
            above = rows[number - 1] if number and not run else None
            if above and not _is_far(above, row, unit, pictured) and _names_columns(above, row):
                run = [above]
            run = [*run, *waiting, row]
            waiting = []
        elif run:
            waiting.append(row)
            if len(waiting) > MAX_BETWEEN:
                runs.append(run)
                run, waiting = [], []
    return [*runs, run] if run else runs


def _is_far(row: Row, other: Row, unit: float, pictured: frozenset[int]) -> bool:
    gap = min(piece.top for piece in other) - max(piece.bottom for piece in row)
    in_figure = any(piece.index in pictured for piece in [*row, *other])
    return gap > (FIGURE_GAP if in_figure else ROW_GAP) * unit


def _continues(run: Sequence[Row], row: Row) -> bool:
    """Whether the cells of the row stand below those of the last row of several cells."""
    above = next(cells_in(other) for other in reversed(run) if len(cells_in(other)) >= MIN_CELLS)
    here = cells_in(row)
    shared = sum(any(_are_stacked(a, b) for a in above) for b in here)
    return shared >= MIN_SHARED * min(len(here), len(above))


def _names_columns(row: Row, below: Row) -> bool:
    """Whether each piece of a row stands above another piece: names of columns, which may nearly touch each other."""
    cells = [(piece.left, piece.right) for piece in below]
    if len(row) < MIN_CELLS or any(piece.zone >= 0 for piece in row):
        return False
    under = [{i for i, cell in enumerate(cells) if _are_stacked((piece.left, piece.right), cell)} for piece in row]
    return all(len(found) == 1 for found in under) and len(set.union(*under)) == len(row)


def _are_stacked(a: tuple[float, float], b: tuple[float, float]) -> bool:
    narrow = max(min(a[1] - a[0], b[1] - b[0]), 1e-9)
    return min(a[1], b[1]) - max(a[0], b[0]) > SAME_CELL * narrow


def _table(run: Sequence[Row], unit: float) -> AlignedTable | None:
    full = [row for row in run if len(cells_in(row)) >= MIN_CELLS]
    if len(full) < MIN_ROWS and not (len(full) == 2 and len(run) == 2 and _is_headed(*full)):
        return None
    grid = grid_of([piece for row in run for piece in row])
    is_table = grid.columns >= MIN_CELLS and is_believable(grid, unit) and is_full(grid)
    return AlignedTable(replace(grid, geometric=True)) if is_table else None


def _is_headed(first: Row, second: Row) -> bool:
    """Whether both rows have the same number of cells, the first words and the second, below them, mostly numbers."""
    heads, values = cells_in(first), cells_in(second)
    if len(heads) != len(values) or len(heads) < HEADED_CELLS:
        return False
    if not all(
        _are_stacked(a, b) or _is_nearest(i, heads, b) for i, (a, b) in enumerate(zip(heads, values, strict=True))
    ):
        return False
    numbers = sum(is_number(piece.text) for piece in second)
    return not any(is_number(piece.text) for piece in first) and numbers * 2 >= len(second)


def _is_nearest(number: int, heads: Sequence[tuple[float, float]], cell: tuple[float, float]) -> bool:
    middle = sum(cell) / 2
    return min(range(len(heads)), key=lambda i: abs(sum(heads[i]) / 2 - middle)) == number
