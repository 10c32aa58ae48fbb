"""Excel: a sheet for each table of a document, with its spans, numbers as numbers, and texts never as formulas, even if
somebody edits the cell.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from inkgate_client.formats.tables import DocumentTable, tables_of
from inkgate_client.formats.text import printable
from inkgate_client.numbers import CellNumber, decimal_mark, is_formula, number_of
from inkgate_client.types import DocumentResult

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format as CellFormat
    from xlsxwriter.worksheet import Worksheet

_LONGEST_NAME = 31
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\]|^'+|'+$")
LONGEST_TEXT = 32_767
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
"""Limits of Excel."""
_WIDEST = 60
_MIN_WIDTH = 8


def render(result: DocumentResult) -> bytes:
    """The workbook. A document without tables has one empty sheet. Blocking."""
    tables = tables_of(result)
    out = io.BytesIO()
    with new_workbook(out, result.name) as book:
        formats = CellFormats(book)
        for name, table in zip(_names(tables), tables, strict=True):
            _fill(book.add_worksheet(name), table, formats)
        if not tables:
            book.add_worksheet("No tables")
    return out.getvalue()


def new_workbook(out: io.BytesIO, title: str = "") -> Workbook:
    """A workbook in which no text becomes a formula, a link or a number by itself."""
    from xlsxwriter import Workbook

    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = Workbook(out, options)
    book.set_properties({"title": printable(title)[:255], "comments": "Read by inkgate"})
    return book


class CellFormats:
    """The formats of cells, each made once."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._made: dict[tuple[bool, bool, str], CellFormat] = {}

    def of(self, text: str, number: CellNumber | None = None, *, header: bool = False) -> CellFormat:
        """The format of a cell with this text, which may be shown as a number."""
        return self._format(header, is_formula(text), "" if number is None else _number_format(number))

    def of_date(self) -> CellFormat:
        """The format of a cell with a date."""
        return self._format(False, False, "yyyy-mm-dd")  # noqa: FBT003 - neither a header nor quoted

    def _format(self, header: bool, quoted: bool, shown: str) -> CellFormat:
        key = (header, quoted, shown)
        if key not in self._made:
            properties: dict[str, object] = {"text_wrap": True, "valign": "top", "bold": header}
            properties["quote_prefix"] = quoted
            self._made[key] = self._book.add_format(properties | ({"num_format": shown} if shown else {}))
        return self._made[key]


def set_width(sheet: Worksheet, column: int, characters: int) -> None:
    """Makes a column as wide as its longest line, within limits."""
    sheet.set_column(column, column, min(max(characters + 2, _MIN_WIDTH), _WIDEST))


def _number_format(number: CellNumber) -> str:
    whole = "#,##0" if number.grouped else "0"
    return f"{whole}{'.' + '0' * number.decimals if number.decimals else ''}{'%' if number.percent else ''}"


def _fill(sheet: Worksheet, table: DocumentTable, formats: CellFormats) -> None:
    cells = [(row, cell, printable(cell.text).strip()) for row, cell in table.cells()]
    mark = decimal_mark(text for _, cell, text in cells if not cell.header)
    widths: dict[int, int] = {}
    for row, cell, text in cells:
        if row >= MAX_ROWS or cell.column >= MAX_COLUMNS:
            continue
        number = None if cell.header else number_of(text, mark)
        style = formats.of(text, number, header=cell.header)
        if cell.row_span > 1 or cell.column_span > 1:
            last = (min(row + cell.row_span, MAX_ROWS) - 1, min(cell.column + cell.column_span, MAX_COLUMNS) - 1)
            if last > (row, cell.column):
                sheet.merge_range(row, cell.column, *last, "", style)
        elif text:
            widths[cell.column] = max(widths.get(cell.column, 0), *map(len, text.split("\n")))
        if number is not None:
            sheet.write_number(row, cell.column, number.value, style)
        elif text:
            sheet.write_string(row, cell.column, text[:LONGEST_TEXT], style)
    for column, width in widths.items():
        set_width(sheet, column, width)
    if head := _head_rows(table):
        sheet.freeze_panes(head, 0)


def _head_rows(table: DocumentTable) -> int:
    """Number of leading rows in which all cells are headers."""
    plain = [row for row, cell in table.cells() if not cell.header]
    rows = min(plain, default=0)
    return rows if rows < table.rows else 0


def _names(tables: Sequence[DocumentTable]) -> Iterator[str]:
    """Names of sheets, each different: the table's caption, or its number and page."""
    taken: set[str] = set()
    for number, table in enumerate(tables, 1):
        name = next(each for each in _numbered(number, table.page) if each.lower() not in taken)
        name = sheet_name(table.caption, taken) or name
        taken.add(name.lower())
        yield name


def sheet_name(text: str, taken: Collection[str]) -> str:
    """`text` as the name of a sheet; empty if there is none like it, or it is among `taken`, in lower case."""
    name = _NOT_IN_NAMES.sub(" ", printable(text)).strip(" '")[:_LONGEST_NAME].strip(" '")
    return "" if name.lower() in taken or name.lower() == "history" else name


def _numbered(number: int, page: int) -> Iterator[str]:
    """Names of a table without a caption: the first one, and others if captions before have it."""
    name = f"Table {number}, page {page}"
    yield name
    yield from (f"{name} ({again})" for again in count(2))
