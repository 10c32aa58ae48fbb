"""Fields of many documents as one table: a row a document. The command line and the web page write it.

CSV has arrays as JSON in their cells. Excel has a sheet for each array of objects, such as a receipt's items: a row an
object.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from pydantic import TypeAdapter

from inkgate.documents.files.excel import (
    LONGEST_TEXT,
    MAX_COLUMNS,
    MAX_ROWS,
    CellFormats,
    new_workbook,
    set_width,
    sheet_name,
)
from inkgate_client.fields.values import Extraction
from inkgate_client.formats.text import printable
from inkgate_client.numbers import CellNumber, is_formula, number_of

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

FIRST_COLUMNS: Final = ("file", "document_type", "status")
_DOCUMENTS: Final = "documents"
_NUMBER_KINDS: Final = frozenset({"money", "number"})
_INDEX: Final = re.compile(r"(?<=/)\d+(?=/|$)")
_MAX_EXACT: Final = 2**53
"""Largest number up to which a spreadsheet has every integer."""
_FIRST_DATE: Final = date(1900, 3, 1)
"""Excel counts a day that never was before it."""


@dataclass(frozen=True, slots=True)
class FieldsRow:
    """The fields of a document.

    Attributes:
        file: name of the document.
        document_type: empty if it is of none.
        status: as ExtractionStatus has it, or `reviewed`.
        data: the values, as the schema has them.
        kinds: kinds of the values by path, such as `/items/-/amount`. Amounts, numbers and dates become those of Excel.
    """

    file: str
    document_type: str
    status: str
    data: Mapping[str, Any]
    kinds: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, file: str, found: Extraction) -> FieldsRow:
        """The row of an extraction."""
        kinds = {_INDEX.sub("-", path): each.kind for path, each in found.fields.items()}
        return cls(file, found.document_type, found.status.value, found.data, kinds)


Cells = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FieldTable:
    """A table: its rows by the paths of their values, and the kinds of these for each row: documents of two types may
    have a path in common.
    """

    name: str
    rows: Sequence[Cells]
    kinds: Sequence[Mapping[str, str]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Paths of all values, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def parts(self, max_rows: int) -> Iterator[FieldTable]:
        """The table in parts of at most `max_rows` rows; at least one."""
        yield FieldTable(self.name, self.rows[:max_rows], self.kinds[:max_rows])
        for at in range(max_rows, len(self.rows), max_rows):
            name = f"{self.name} {at // max_rows + 1}"
            yield FieldTable(name, self.rows[at : at + max_rows], self.kinds[at : at + max_rows])

    @property
    def places(self) -> int:
        """Rows x columns."""
        return len(self.rows) * len(self.columns)


def table_of_documents(rows: Sequence[FieldsRow]) -> FieldTable:
    """A row a document, arrays as values."""
    return FieldTable(_DOCUMENTS, [_head(row) | flat_values(row.data) for row in rows], [row.kinds for row in rows])


def tables_with_items(rows: Sequence[FieldsRow]) -> Iterator[FieldTable]:
    """A row a document, without its arrays of objects; then a table for each of these: a row an object."""
    documents: list[Cells] = []
    arrays: dict[str, tuple[list[Cells], list[Mapping[str, str]]]] = {}
    for row in rows:
        cells = dict(flat_values(row.data))
        for path in [path for path, value in cells.items() if is_items(value)]:
            own, kinds = arrays.setdefault(path, ([], []))
            prefix = f"{path}/-"
            of_row = {name.removeprefix(prefix): kind for name, kind in row.kinds.items() if name.startswith(prefix)}
            for number, item in enumerate(cells.pop(path), start=1):
                own.append({"file": row.file, "row": number} | flat_values(item))
                kinds.append(of_row)
        documents.append(_head(row) | cells)
    # A document without items has an empty array.
    documents = [{path: value for path, value in row.items() if path not in arrays} for row in documents]
    yield FieldTable(_DOCUMENTS, documents, [row.kinds for row in rows])
    for path, (items, kinds) in arrays.items():
        yield FieldTable(path.removeprefix("/"), items, kinds)


def _head(row: FieldsRow) -> dict[str, object]:
    return dict(zip(FIRST_COLUMNS, (row.file, row.document_type, row.status), strict=True))


def is_items(value: object) -> TypeGuard[list[dict[str, object]]]:
    """Whether a value is an array of objects, which has at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def flat_values(data: Mapping[str, object], above: str = "") -> dict[str, Any]:
    """Values by path; arrays are values."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        path = f"{above}/{name}"
        flat |= flat_values(value, path) if isinstance(value, dict) else {path: value}
    return flat


def as_csv(table: FieldTable) -> str:
    """The table as CSV. Paths of fields lose their first slash, and what a spreadsheet would run is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = table.columns or FIRST_COLUMNS
    writer.writerow([_csv_cell(name.removeprefix("/")) for name in columns])
    for row in table.rows:
        writer.writerow([_csv_cell(row.get(name)) for name in columns])
    return out.getvalue()


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if is_formula(value) else value
    return json.dumps(value, ensure_ascii=False)


def as_workbook(tables: Sequence[FieldTable]) -> bytes:
    """An Excel workbook with a sheet for each table, and more for one with more rows than a sheet has. Blocking."""
    out = io.BytesIO()
    with new_workbook(out) as book:
        formats, taken = CellFormats(book), set[str]()
        parts = (part for table in tables for part in table.parts(MAX_ROWS - 1))
        for number, table in enumerate(parts, start=1):
            name = sheet_name(table.name, taken) or f"sheet {number}"
            taken.add(name.lower())
            _fill(book.add_worksheet(name), table, formats)
    return out.getvalue()


def as_file(rows: Sequence[FieldsRow], *, excel: bool) -> bytes:
    """The table as a file of CSV or Excel. Blocking."""
    if excel:
        return as_workbook(tuple(tables_with_items(rows)))
    # With a byte order mark, without which spreadsheets take UTF-8 for another encoding.
    return as_csv(table_of_documents(rows)).encode("utf-8-sig")


def _fill(sheet: Worksheet, table: FieldTable, formats: CellFormats) -> None:
    columns = (table.columns or FIRST_COLUMNS)[:MAX_COLUMNS]
    rows = table.rows
    for at, name in enumerate(columns):
        title = printable(name.removeprefix("/"))[:LONGEST_TEXT]
        sheet.write_string(0, at, title, formats.of(title, header=True))
        texts = [_write(sheet, (number, at), row.get(name), kinds.get(name, ""), formats)
                 for number, (row, kinds) in enumerate(zip(rows, table.kinds, strict=False), start=1)]  # fmt: skip
        set_width(sheet, at, max(len(line) for text in [title, *texts] for line in text.split("\n")))
    sheet.freeze_panes(1, 1)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(columns) - 1)


def _write(sheet: Worksheet, place: tuple[int, int], value: object, kind: str, formats: CellFormats) -> str:
    """Writes a cell. Returns its text."""
    if value is None or value in ("", []):
        return ""
    if isinstance(value, bool):
        sheet.write_boolean(*place, value, formats.of(""))
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = printable(text).strip()[:LONGEST_TEXT]
    if isinstance(value, int | float):
        if abs(value) <= _MAX_EXACT:  # not so infinity and NaN
            sheet.write_number(*place, value, formats.of(""))
            return text
    elif kind in _NUMBER_KINDS and (number := number_of(text, ".")) is not None and not number.grouped:
        sheet.write_number(*place, number.value, formats.of(text, CellNumber(number.value, number.decimals)))
        return text
    elif kind == "date" and (day := _day(text)) is not None:
        sheet.write_datetime(*place, day, formats.of_date())
        return text
    sheet.write_string(*place, text, formats.of(text))
    return text


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day >= _FIRST_DATE else None


parse_rows = TypeAdapter(list[FieldsRow]).validate_json
"""The rows that a client sent as JSON. Raises ValueError."""
