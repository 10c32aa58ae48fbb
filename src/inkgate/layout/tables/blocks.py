"""A grid as the table of a block: its cells with their lines, and its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from inkgate.layout.order.frame import LayoutPiece, rows_of
from inkgate.layout.tables.grid import Grid, GridCell
from inkgate.layout.tables.headers import with_headers
from inkgate.layout.text.hyphenation import join_lines
from inkgate.layout.text.paragraphs import row_text
from inkgate_client.coordinates import around
from inkgate_client.escape import escape
from inkgate_client.table_html import html_of
from inkgate_client.types import Box, Line, Table, TableCell, mean_confidence


def table_of(grid: Grid, lines: Sequence[Line], first: int) -> Table:
    """The grid's cells with their lines, which are numbered from `first` in reading order.

    `lines`: of the page, as the pieces index them.
    """
    grid = with_headers(grid)
    cells: list[TableCell] = []
    for cell in grid.cells:
        held = [lines[piece.index] for piece in cell.pieces if piece.index >= 0]
        cells.append(
            TableCell(
                cell.row,
                cell.column,
                cell_text(cell),
                cell.row_span,
                cell.column_span,
                tuple(range(first, first + len(held))),
                cell.box or _around(held),
                mean_confidence(held) if held else None,
                cell.header,
            )
        )
        first += len(held)
    return Table(grid.rows, grid.columns, tuple(cells))


def _around(lines: Sequence[Line]) -> Box | None:
    return around(line.box for line in lines) if lines else None


def cell_text(cell: GridCell) -> str:
    """The text of a cell on one line."""
    return join_lines([row_text(row) for row in _rows(cell.pieces)])


def _rows(pieces: Sequence[LayoutPiece]) -> list[list[LayoutPiece]]:
    """The pieces in their order; those on one row that follow each other are together."""
    numbers = {piece: number for number, row in enumerate(rows_of(pieces)) for piece in row}
    return [list(row) for _, row in groupby(pieces, key=lambda piece: numbers[piece])]


def table_markdown(table: Table) -> str:
    """A pipe table, whose first row is its head; HTML where cells span several places, or several rows are headers.

    Pipe tables can't show either; GitHub and most renderers show both kinds.
    """
    if any(cell.row_span > 1 or cell.column_span > 1 for cell in table.cells) or header_rows(table) > 1:
        return html_of(table)
    texts = [escape(cell.text).replace("|", "\\|") for cell in table.cells]
    rows = [texts[at : at + table.columns] for at in range(0, len(texts), table.columns)]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"|{' --- |' * table.columns}", *body])


def header_rows(table: Table) -> int:
    """Number of rows from the top whose cells are all headers."""
    plain = [cell.row for cell in table.cells if not cell.header]
    return min(plain, default=table.rows)
