"""The tables of a document, for formats that show only these. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inkgate_client.types import BlockType, DocumentResult, Table, TableCell


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table, whole: with the rows on following pages. `page`: number of the first one, from 1. `caption`: in one
    line; empty if unknown.
    """

    page: int
    parts: tuple[Table, ...]
    caption: str = ""

    @property
    def columns(self) -> int:
        return max(part.columns for part in self.parts)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def header_rows(self) -> int:
        """How many of the first rows have only cells that name a column."""
        cells = self.parts[0].cells
        named = {cell.row for cell in cells if cell.header} - {cell.row for cell in cells if not cell.header}
        return next(row for row in range(self.parts[0].rows + 1) if row not in named)

    def cells(self) -> Iterator[tuple[int, TableCell]]:
        """The cells, each with its row in the whole table."""
        first = 0
        for part in self.parts:
            yield from ((first + cell.row, cell) for cell in part.cells)
            first += part.rows


def tables_of(result: DocumentResult) -> list[DocumentTable]:
    """All tables with known cells, in the document's order."""
    tables: list[DocumentTable] = []
    for page in result.pages:
        caption = ""
        for block in page.blocks or ():
            if block.table is not None:
                if block.table.continues and tables:
                    before = tables.pop()
                    tables.append(DocumentTable(before.page, (*before.parts, block.table), before.caption))
                else:
                    tables.append(DocumentTable(page.index + 1, (block.table,), caption))
            caption = " ".join(block.text.split()) if block.type is BlockType.CAPTION else ""
    return tables
