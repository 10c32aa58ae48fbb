"""CSV (RFC 4180): the tables of a document, for programs. An empty line separates tables; no tables, an empty file.

A text that a spreadsheet would take for a formula begins with an apostrophe, as OWASP recommends. Amounts such as
-12.50 stay as they are: programs read them, and a spreadsheet computes nothing with them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from inkgate_client.formats.tables import DocumentTable, tables_of
from inkgate_client.formats.text import printable
from inkgate_client.numbers import is_formula
from inkgate_client.types import DocumentResult


def render(result: DocumentResult) -> bytes:
    """The document's tables as CSV in UTF-8, with CRLF at line ends."""
    return "\r\n".join(csv_of(rows_of(table)) for table in tables_of(result)).encode()


def rows_of(table: DocumentTable) -> list[list[str]]:
    """The texts of the cells by row; a cell over several rows or columns has its text in the first place."""
    rows = [[""] * table.columns for _ in range(table.rows)]
    for row, cell in table.cells():
        rows[row][cell.column] = printable(cell.text).strip()
    return rows


def csv_of(rows: Sequence[Sequence[str]]) -> str:
    """One table as CSV."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([_safe(text) for text in row] for row in rows)
    return out.getvalue()


def _safe(text: str) -> str:
    return f"'{text}" if is_formula(text) else text
