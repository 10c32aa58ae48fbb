"""CSV (RFC 4180): the tables of a document, for programs. An empty line separates tables; no tables, an empty file.

A text that a spreadsheet would take for a formula begins with an apostrophe, as OWASP recommends.
"""

from __future__ import annotations

import csv
import io

from inkgate.documents.formats.tables import DocumentTable, tables_of
from inkgate.documents.formats.text import printable
from inkgate.documents.numbers import is_number
from inkgate.types import DocumentResult

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def render(result: DocumentResult) -> bytes:
    """The document's tables as CSV in UTF-8, with CRLF at line ends."""
    return b"\r\n".join(_table(table) for table in tables_of(result))


def _table(table: DocumentTable) -> bytes:
    rows = [[""] * table.columns for _ in range(table.rows)]
    for row, cell in table.cells():
        rows[row][cell.column] = _safe(printable(cell.text).strip())
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not is_number(text) else text
