"""Fields of many documents as one table."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from inkgate.documents.files import field_tables
from inkgate.documents.files.field_tables import FieldsRow, as_csv, as_file, table_of_documents, tables_with_items

KINDS = {"/total": "money", "/date": "date", "/number": "text", "/items/-/amount": "money", "/items/-/name": "text"}
ROWS = [
    FieldsRow(
        "a.png",
        "receipt",
        "complete",
        {
            "total": "1818.70",
            "date": "2026-03-04",
            "number": "20417",
            "seller": {"town": "Oslo"},
            "items": [{"name": "=1+1", "amount": "12.00"}, {"name": "Tea", "amount": None}],
            "phones": ["1", "2"],
        },
        KINDS,
    ),
    FieldsRow("b.png", "", "needs_review", {"total": "18,70", "date": "soon", "items": []}, KINDS),
]


def test_excel_has_a_sheet_for_items_and_values_of_their_kinds() -> None:
    documents, items = tables_with_items(ROWS)
    assert documents.columns == (
        "file", "document_type", "status", "/total", "/date", "/number", "/seller/town", "/phones",
    )  # fmt: skip
    assert (items.name, items.columns) == ("items", ("file", "row", "/name", "/amount"))
    assert [(row["file"], row["row"], row["/name"]) for row in items.rows] == [
        ("a.png", 1, "=1+1"),
        ("a.png", 2, "Tea"),
    ]
    book = zipfile.ZipFile(io.BytesIO(as_file(ROWS, excel=True)))
    assert re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode()) == ["documents", "items"]
    first, second = (book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2))
    assert numbers(first) == {"D2": "1818.7", "E2": "46085"}, "an invoice number is no number, nor is 18,70"
    assert numbers(second) == {"B2": "1", "B3": "2", "D2": "12"}
    assert "<f>" not in first + second
    texts = book.read("xl/sharedStrings.xml").decode()
    assert all(f">{text}<" in texts for text in ("18,70", "soon", "20417", "=1+1", '["1", "2"]'))


def numbers(sheet: str) -> dict[str, str]:
    """The cells of a sheet that hold numbers, by their places."""
    cells = re.findall(r'<c r="(\w+)"([^>]*)><v>([^<]*)</v>', sheet)
    return {place: value for place, about, value in cells if 't="s"' not in about}


def test_a_value_is_of_the_kind_that_its_own_document_has_and_never_guessed() -> None:
    kinds = ({"/number": "text", "/items/-/code": "text"}, {"/number": "number", "/items/-/code": "number"})
    rows = [FieldsRow("a", "", "complete", {"number": "70", "items": [{"code": "71"}]}, each) for each in kinds]
    rows += [FieldsRow("c", "", "complete", {"number": "1,234", "size": 9**400}, kinds[1])]
    book = zipfile.ZipFile(io.BytesIO(as_file(rows, excel=True)))
    assert numbers(book.read("xl/worksheets/sheet1.xml").decode()) == {"D3": "70"}
    assert numbers(book.read("xl/worksheets/sheet2.xml").decode()) == {"B2": "1", "B3": "1", "C3": "71"}
    assert ">1,234<" in book.read("xl/sharedStrings.xml").decode(), "a person who types it may mean little more than 1"


def test_rows_that_a_sheet_has_no_room_for_are_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_tables, "MAX_ROWS", 3)
    rows = [FieldsRow(f"{number}.png", "receipt", "complete", {"total": number}, {}) for number in range(5)]
    book = zipfile.ZipFile(io.BytesIO(as_file(rows, excel=True)))
    names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
    assert names == ["documents", "documents 2", "documents 3"]
    found = [numbers(book.read(f"xl/worksheets/sheet{number}.xml").decode()) for number in (1, 2, 3)]
    assert found == [{"D2": "0", "D3": "1"}, {"D2": "2", "D3": "3"}, {"D2": "4"}]


def test_csv_has_arrays_in_their_cells_as_the_command_line_has() -> None:
    lines = as_csv(table_of_documents(ROWS)).splitlines()
    assert lines[0] == "file,document_type,status,total,date,number,seller/town,items,phones"
    assert lines[2] == 'b.png,,needs_review,"18,70",soon,,,[],'


def test_no_documents_and_names_that_excel_forbids_are_written() -> None:
    assert as_csv(table_of_documents([])).startswith("file,")
    arrays = {name: [{"x": 1}] for name in ("history", "documents", "a/b", "A~1b", "x" * 40)}
    book = zipfile.ZipFile(io.BytesIO(as_file([FieldsRow("a", "", "complete", arrays)], excel=True)))
    names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
    assert names == ["documents", "sheet 2", "sheet 3", "a b", "A~1b", "x" * 31]
    assert zipfile.ZipFile(io.BytesIO(as_file([], excel=True))).testzip() is None
