"""The cells of a table from the tokens of a structure model: a flat HTML table without text.

Cells are placed as browsers place them (HTML standard, "Forming a table"): each in the first free column of its row.
The tokens come from a neural decoder, which may return any sequence: rows that are never closed, spans that reach out
of the table, no rows at all. Every sequence gives a grid in which no two cells overlap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from inkgate.layout.evidence import CellGuess
from inkgate_client.types import Box

WHOLE_CELL = "<td></td>"
OPENED_CELL = frozenset({"<td", "<td>"})
MAX_CELLS = 2000
"""Maximum cells of a table. The model writes 500 tokens, about as many cells; this bounds other models."""
MAX_COLUMNS = 100
"""Maximum columns. PubTabNet, on which the model was trained, has tables of up to 30."""
_SPAN: Final = re.compile(r'\s*(colspan|rowspan)="(\d{1,4})"')


@dataclass(frozen=True, slots=True)
class TableToken:
    """A token, and the box of the cell that it begins; None for other tokens."""

    text: str
    box: Box | None = None


@dataclass(slots=True)
class _OpenCell:
    box: Box
    row_span: int = 1
    column_span: int = 1


def cells_of(tokens: Sequence[TableToken]) -> tuple[CellGuess, ...]:
    """The cells by row, then by column; boxes as in the tokens. Empty if there is no cell.

    A row in which no cell begins is none, and neither is such a column: spans are cut to the rest.
    """
    placed: list[CellGuess] = []
    covered: set[tuple[int, int]] = set()
    row = 0
    for cells, header in _rows(tokens):
        column = 0
        first = len(placed)
        for cell in cells:
            while (row, column) in covered:
                column += 1
            if column >= MAX_COLUMNS or len(placed) >= MAX_CELLS:
                break
            wide = _free(covered, row, column, min(cell.column_span, MAX_COLUMNS - column))
            covered |= {(row + y, column + x) for y in range(cell.row_span) for x in range(wide)}
            placed.append(CellGuess(row, column, cell.row_span, wide, cell.box, header))
        row += len(placed) > first
    columns = max((cell.column for cell in placed), default=0) + 1
    return tuple(
        replace(
            cell,
            row_span=min(cell.row_span, row - cell.row),
            column_span=min(cell.column_span, columns - cell.column),
        )
        for cell in placed
    )


def _free(covered: set[tuple[int, int]], row: int, column: int, wide: int) -> int:
    """Returns how many of `wide` columns from `column` no cell of a row above covers; the first one is free."""
    return next((x for x in range(1, wide) if (row, column + x) in covered), wide)


def _rows(tokens: Sequence[TableToken]) -> list[tuple[list[_OpenCell], bool]]:
    """The cells of each row, and whether it is in the table's head. Cells before the first row make a row."""
    rows: list[tuple[list[_OpenCell], bool]] = [([], False)]
    header = False
    cell: _OpenCell | None = None
    for token in tokens:
        if token.text in ("<thead>", "</thead>"):
            header = token.text == "<thead>"
        if token.text in ("<tr>", "</tr>", "<thead>", "</thead>", "<tbody>", "</tbody>"):
            cell = None
            rows.append(([], header))
        elif token.box is not None:
            cell = _OpenCell(token.box)
            rows[-1][0].append(cell)
        elif cell is not None and (span := _SPAN.fullmatch(token.text)):
            count = min(max(int(span[2]), 1), MAX_COLUMNS)
            if span[1] == "colspan":
                cell.column_span = count
            else:
                cell.row_span = count
    return rows
