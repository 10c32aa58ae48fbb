"""Pages in Arabic and Hebrew: read from right to left, and said to be so in every format that can."""

import io

import docx
from lxml import etree

from inkgate.documents.files import word
from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import PageEvidence
from inkgate_client.formats import alto, hocr
from inkgate_client.table_html import html_of
from inkgate_client.text_direction import runs_from_right
from inkgate_client.types import Block, BlockType, DocumentResult, Line, PageResult, Size, Table, TableCell, Word
from support import alto_rules

SIZE = Size(1000, 1400)
ARABIC, HEBREW, LATIN = "هذه فاتورة رقم 12", "זהו מבחן 34", "An invoice"


def line(text: str, left: float, top: float, right: float) -> Line:
    return Line(text, ((left, top), (right, top), (right, top + 20), (left, top + 20)), 0.99)


def test_the_letters_tell_the_direction() -> None:
    texts = {
        ARABIC: True,
        HEBREW: True,
        "سلام دنیا Google": True,
        LATIN: False,
        "": False,
        "12/03": False,
        "中文": False,
    }
    texts |= {"The word שלום": False, "١٢٣": False}
    assert {text: runs_from_right(text) for text in texts} == texts


def page() -> PageResult:
    words = tuple(
        Word(text, ((left, 100), (left + 70, 100), (left + 70, 120), (left, 120)), 1.0)
        for text, left in zip(ARABIC.split(), (800, 700, 600, 500), strict=True)
    )
    lines = (Line(ARABIC, ((500, 100), (870, 100), (870, 120), (500, 120)), 1.0, words), line(LATIN, 100, 200, 300))
    table = Table(1, 2, (TableCell(0, 0, HEBREW), TableCell(0, 1, "40.00")))
    blocks = (
        Block(BlockType.TEXT, lines[0].box, (0,), ARABIC, ARABIC),
        Block(BlockType.TEXT, lines[1].box, (1,), LATIN, LATIN),
        Block(BlockType.TABLE, (100, 300, 900, 340), (), HEBREW, html_of(table), table=table),
    )
    return PageResult(0, 1000, 1400, lines=lines, blocks=blocks, text=f"{ARABIC}\n\n{LATIN}")


def document() -> DocumentResult:
    return DocumentResult("page.pdf", "application/pdf", 1, 1, "ppocr", (page(),))


def test_hocr_says_the_direction_of_paragraphs() -> None:
    root = etree.fromstring(hocr.render(document()))
    assert [element.get("dir") for element in root.iter() if element.get("class") == "ocr_par"][:2] == ["rtl", None]


def test_alto_says_the_direction_of_blocks_and_lines_and_is_valid() -> None:
    data = alto.render(document())
    root = etree.fromstring(data)
    found = [element.get("BASEDIRECTION") for element in root.iter() if element.tag.endswith(("TextBlock", "TextLine"))]
    assert found[:4] == ["rtl", "rtl", None, None]
    assert root.get("SCHEMAVERSION") == "4.3"
    assert alto_rules.violations(data) == []
    spaces = [element.attrib for element in root.iter() if element.tag.endswith("}SP")]
    assert [space["HPOS"] for space in spaces] == ["770", "670", "570"]


def test_tables_begin_at_the_right() -> None:
    assert html_of(Table(1, 1, (TableCell(0, 0, HEBREW),))).startswith('<table dir="rtl">')
    assert html_of(Table(1, 1, (TableCell(0, 0, LATIN),))).startswith("<table>")


def test_word_has_paragraphs_and_tables_from_right_to_left() -> None:
    written = docx.Document(io.BytesIO(word.render(document())))
    marked = {paragraph.text: "<w:bidi/>" in paragraph._p.xml for paragraph in written.paragraphs if paragraph.text}
    assert marked == {ARABIC: True, LATIN: False}
    assert "<w:bidiVisual/>" in written.tables[0]._tbl.xml
    assert [cell.text for cell in written.tables[0].row_cells(0)] == [HEBREW, "40.00"]


def test_columns_and_rows_are_read_from_right_to_left() -> None:
    wrong = []
    for script in ("هذا نص طويل من أجل اختبار الأعمدة في الصفحة", "זהו טקסט ארוך לבדיקת עמודות בדף הזה של המסמך"):
        right = [f"{script} {n}" for n in range(12)]
        left = [f"{script} {n}" for n in range(20, 32)]
        lines = [line(text, 540, 200 + 30 * n, 940) for n, text in enumerate(right)]
        lines += [line(text, 60, 200 + 30 * n, 460) for n, text in enumerate(left)]
        read = [found.text for found in arrange(lines, SIZE).lines]
        if read != [*right, *left]:
            wrong.append((script, read))
        label, value = line(f"{script}:", 540, 60, 940), line("2024-117", 380, 60, 500)
        if arrange([value, label], SIZE).lines != (label, value):
            wrong.append((script, ["label"]))
    assert not wrong


def test_the_first_column_of_a_table_is_at_the_right() -> None:
    columns = ((640, 900), (400, 620), (100, 380))
    rows = (("الصنف", "الكمية", "السعر"), ("كتاب", "2", "40.00"), ("دفتر", "5", "12.50"), ("قلم", "7", "3.00"))
    cells = [(left, 100.0 + 50 * n, right, 150.0 + 50 * n) for n in range(4) for left, right in columns]
    lines = [
        line(text, left + 20, 115 + 50 * n, right - 20)
        for n, row in enumerate(rows)
        for text, (left, right) in zip(row, columns, strict=True)
    ]
    read = arrange(lines, SIZE, PageEvidence(cells=cells))
    (table,) = [block.table for block in read.blocks if block.table is not None]
    assert [cell.text for cell in table.cells] == [text for row in rows for text in row]
    assert [found.text for found in read.lines] == [text for row in rows for text in row]
