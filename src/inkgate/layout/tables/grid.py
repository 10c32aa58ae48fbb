"""The grid of a table: cells with spans that cover it, each with its pieces of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import product

from inkgate.layout.order.frame import LayoutPiece, mirrored, rows_of
from inkgate_client.types import Box


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell of a grid.

    Attributes:
        row, column: of its first place, from 0.
        pieces: in reading order.
        row_span, column_span: 1 or more.
        header: names a column or a row.
        box: in pixels of the page, if more is known than the boxes of its lines.
    """

    row: int
    column: int
    pieces: tuple[LayoutPiece, ...] = ()
    row_span: int = 1
    column_span: int = 1
    header: bool = False
    box: Box | None = None

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of every place that the cell covers."""
        rows = range(self.row, self.row + self.row_span)
        return list(product(rows, range(self.column, self.column + self.column_span)))


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table by row, then by column: each place of the grid belongs to one cell. Made by `grid_with`.

    Attributes:
        rows, columns: 1 or more.
        tops: top of each row in ruled tables, whose cells may contain several rows of text each; else empty.
    """

    rows: int
    columns: int
    cells: tuple[GridCell, ...]
    tops: tuple[float, ...] = ()

    @property
    def ruled(self) -> bool:
        return bool(self.tops)

    @property
    def pieces(self) -> list[LayoutPiece]:
        """The pieces in reading order."""
        return [piece for cell in self.cells for piece in cell.pieces]

    @property
    def is_table(self) -> bool:
        """Whether cells with pieces begin in at least two rows and two columns."""
        filled = [cell for cell in self.cells if cell.pieces]
        return len({cell.row for cell in filled}) > 1 and len({cell.column for cell in filled}) > 1

    @property
    def by_row(self) -> list[list[GridCell]]:
        """The cells that begin in each row, left to right."""
        found: list[list[GridCell]] = [[] for _ in range(self.rows)]
        for cell in self.cells:
            found[cell.row].append(cell)
        return found


def grid_with(cells: Iterable[GridCell], tops: tuple[float, ...] = ()) -> Grid:
    """The smallest grid with these cells; empty cells are added where none is. Keeps every piece.

    A cell that would cover a place of an earlier one, or one where another with pieces begins, is cut; if its first
    place is taken, its pieces are added to the cell there.
    """
    ordered = sorted(cells, key=lambda cell: (cell.row, cell.column))
    taken = {(cell.row, cell.column) for cell in ordered if cell.pieces}
    owners: dict[tuple[int, int], int] = {}
    placed: list[GridCell] = []
    for cell in ordered:
        owner = owners.get((cell.row, cell.column))
        if owner is not None:
            placed[owner] = replace(placed[owner], pieces=placed[owner].pieces + cell.pieces)
            continue
        fitting = _cut(cell, taken)
        owners.update(dict.fromkeys(fitting.places, len(placed)))
        taken.update(fitting.places)
        placed.append(fitting)
    rows = max((row for row, _ in owners), default=0) + 1
    columns = max((column for _, column in owners), default=0) + 1
    empty = [GridCell(*place) for place in product(range(rows), range(columns)) if place not in owners]
    return Grid(rows, columns, tuple(sorted(placed + empty, key=lambda cell: (cell.row, cell.column))), tops)


def _cut(cell: GridCell, taken: AbstractSet[tuple[int, int]]) -> GridCell:
    """The cell with the spans for which all its places but the first are free."""
    wide = 1
    while wide < cell.column_span and (cell.row, cell.column + wide) not in taken:
        wide += 1
    high = 1
    while high < cell.row_span and not any((cell.row + high, cell.column + across) in taken for across in range(wide)):
        high += 1
    return replace(cell, row_span=high, column_span=wide)


def without_empty_rows(grid: Grid) -> Grid:
    """The grid without rows in which no cell with pieces begins; spans over them are shorter."""
    filled = sorted({cell.row for cell in grid.cells if cell.pieces})
    numbers = {row: number for number, row in enumerate(filled)}
    cells = []
    for cell in grid.cells:
        rows = [numbers[row] for row in range(cell.row, cell.row + cell.row_span) if row in numbers]
        if rows:
            cells.append(replace(cell, row=rows[0], row_span=len(rows)))
    return grid_with(cells)


def from_right(grid: Grid) -> Grid:
    """The grid of a table that is read from right to left: its first column is at the right."""
    cells = []
    for cell in grid.cells:
        pieces = tuple(piece for row in rows_of(mirrored(cell.pieces)) for piece in row)
        cells.append(replace(cell, column=grid.columns - cell.column - cell.column_span, pieces=pieces))
    return replace(grid, cells=tuple(sorted(cells, key=lambda cell: (cell.row, cell.column))))


def plain_grid(rows: Sequence[Sequence[Sequence[LayoutPiece]]]) -> Grid:
    """A grid without spans from the pieces of each cell, row by row; all rows have as many cells."""
    cells = tuple(
        GridCell(row, column, tuple(pieces)) for row, cells in enumerate(rows) for column, pieces in enumerate(cells)
    )
    return Grid(len(rows), len(rows[0]), cells)
