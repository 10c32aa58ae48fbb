"""Word: headings, paragraphs, lists, tables with spans, and figures as placeholders or pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import structlog

from inkgate.layout.text.markdown import left_out_blocks
from inkgate_client.block_image import BlockImage
from inkgate_client.block_parts import is_list, list_items, text_is_unplaced
from inkgate_client.formats.markdown import content_of, failure_note
from inkgate_client.formats.text import printable
from inkgate_client.image_links import beside_image
from inkgate_client.numbers import is_number
from inkgate_client.text_direction import runs_from_right
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Table, TableCell

log = structlog.get_logger(__name__)

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.text.paragraph import Paragraph
    from docx.text.run import Run

_HEADING = re.compile(r"#{1,6}\s+")
# Bounded, as marks without an end, of which a page may have thousands, would each be searched to the end of the text.
_RUN = re.compile(r"(\*\*\*|\*\*|\*)(?=\S)(.{1,500}?)(?<=\S)\1", re.DOTALL)
_LINK = re.compile(r"(?<![!\\])\[((?:[^\[\]\\\n]|\\.){1,2000})\]\(((?:https?|ftp|mailto|tel):[^()\s]{1,4000})\)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(r"</?(?:mark|sub|sup|u|br)\s*/?>|<!--.{0,500}?-->", re.DOTALL)
_DEEPEST = 3
"""Levels of lists that Word's built-in styles have."""
_NARROWEST_INCHES, _WIDEST_INCHES, _HIGHEST_INCHES = 0.1, 6.0, 8.5
_DPI_UNKNOWN = 150.0
"""The resolution of a page whose resolution is unknown. A4 at it has 1,240 pixels across."""
_MAX_COLUMNS = 63
"""Limit of Word. Wider tables become lines of text."""
_TEXT_TWIPS = 8640
"""The width of text on python-docx's page: six inches, in twentieths of a point."""
_DIGIT_TWIPS = 125
"""The width of a digit of the template's font in its size of 11 points."""
_MARGINS_TWIPS, _NARROW_MARGINS_TWIPS = 216, 100
"""The width of a cell's margins, and of those in a table that is too wide."""
_HALF_POINTS, _MIN_HALF_POINTS = 22, 12
_LONGEST_LINE = 60
"""Characters of a line of a cell beyond which its column gets no wider."""

_AFTER_BIDI = (
    "w:adjustRightInd", "w:snapToGrid", "w:spacing", "w:ind", "w:contextualSpacing", "w:mirrorIndents",
    "w:suppressOverlap", "w:jc", "w:textDirection", "w:textAlignment", "w:textboxTightWrap", "w:outlineLvl", "w:divId",
    "w:cnfStyle", "w:rPr", "w:sectPr", "w:pPrChange",
)  # fmt: skip
"""What follows a paragraph's direction among its properties, by the schema of WordprocessingML."""
_SOURCE_FONT = "Courier New"
"""The font of a diagram's source."""


def render(result: DocumentResult) -> bytes:
    """The document as a .docx file. Pages begin on new pages. Blocking, some 10 ms for each page."""
    import docx
    from docx.enum.text import WD_BREAK

    document = docx.Document()
    document.core_properties.title = printable(result.name)[:255]
    document.core_properties.author = ""
    document.core_properties.comments = "Read by inkgate"
    for number, page in enumerate(result.pages):
        if number:
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        _add_page(document, page)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _add_page(document: WordDocument, page: PageResult) -> None:
    blocks = page.blocks or ()
    hidden = left_out_blocks(blocks, page.left_out)
    if text_is_unplaced(page):
        _add_paragraphs(document, content_of(page))
    for number, block in enumerate(blocks):
        if number not in hidden:
            _add_block(document, block, page.dpi)
    if page.error is not None:
        document.add_paragraph(_plain(failure_note(page.index, page.error).removeprefix("> ")), "Intense Quote")


def _add_block(document: WordDocument, block: Block, dpi: float | None) -> None:
    if block.image is not None and block.type is BlockType.FIGURE:
        _add_picture(document, block.image, (block.box[2] - block.box[0]) / (dpi or _DPI_UNKNOWN))
        _add_paragraphs(document, beside_image(block))
    elif block.diagram is not None:
        document.add_paragraph().add_run(printable(block.diagram.mermaid)).font.name = _SOURCE_FONT
    elif block.table is not None and block.table.columns <= _MAX_COLUMNS:
        _add_table(document, block.table)
    elif block.type is BlockType.TITLE:
        text = _HEADING.sub("", block.markdown, count=1) or block.text
        _add_runs(document.add_heading(level=block.level or 1), text)
    elif block.type is BlockType.LIST:
        _add_list(document, block.markdown or block.text)
    elif block.type is BlockType.CAPTION:
        _add_runs(document.add_paragraph(style="Caption"), block.markdown)
    elif block.type is BlockType.FORMULA or block.table is not None:
        document.add_paragraph(printable(block.text))
    else:
        _add_paragraphs(
            document, block.markdown.removeprefix("> ") if block.type is BlockType.FIGURE else block.markdown
        )


def _add_paragraphs(document: WordDocument, markdown: str) -> None:
    """Paragraphs, and the headings and lists of text that has no blocks."""
    for part in printable(markdown).split("\n\n"):
        if heading := _HEADING.match(part):
            level = heading.group().count("#")
            _add_runs(document.add_heading(level=level), part[heading.end() :])
        elif is_list(part):
            _add_list(document, part)
        elif part.strip():
            _add_runs(document.add_paragraph(), part)


def _add_list(document: WordDocument, markdown: str) -> None:
    for item in list_items(printable(markdown)):
        level = min(item.depth + 1, _DEEPEST)
        text = "\n".join(item.lines)
        # Numbers stay text: they are what is printed, and may begin anywhere.
        style = ("List Continue" if item.numbered else "List Bullet") + (f" {level}" if level > 1 else "")
        _add_runs(document.add_paragraph(style=style), f"{item.mark}\t{text}" if item.numbered else text)


def _add_runs(paragraph: Paragraph, markdown: str) -> None:
    """The text of a paragraph, with links, and bold and italic runs."""
    text = _TAG.sub("", printable(markdown))
    at = 0
    for found in _LINK.finditer(text):
        _add_styled(paragraph, text[at : found.start()])
        before = len(paragraph.runs)
        _add_styled(paragraph, found[1])
        _make_link(paragraph, paragraph.runs[before:], found[2])
        at = found.end()
    _add_styled(paragraph, text[at:])
    if runs_from_right(text):
        _set_from_right(paragraph)


def _make_link(paragraph: Paragraph, runs: Sequence[Run], address: str) -> None:
    """Puts the last runs of the paragraph into a link."""
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml.ns import qn

    link = _element("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    for run in runs:
        run.font.underline = True
        link.append(run._r)  # noqa: SLF001 - python-docx only reads links
    paragraph._p.append(link)  # noqa: SLF001


def _add_styled(paragraph: Paragraph, text: str) -> None:
    at = 0
    for found in _RUN.finditer(text):
        if found.start() and text[found.start() - 1] == "\\":
            continue
        paragraph.add_run(_plain(text[at : found.start()]))
        run = paragraph.add_run(_plain(found.group(2)))
        run.bold, run.italic = len(found.group(1)) > 1, len(found.group(1)) != 2
        at = found.end()
    paragraph.add_run(_plain(text[at:]))


def _set_from_right(paragraph: Paragraph) -> None:
    """Begins the paragraph at the right, with its runs in fonts of such scripts."""
    properties = paragraph._p.get_or_add_pPr()  # noqa: SLF001 - python-docx has no property for it
    properties.insert_element_before(_element("w:bidi"), *_AFTER_BIDI)
    for run in paragraph.runs:
        if runs_from_right(run.text):
            run.font.rtl = True


def _plain(markdown: str) -> str:
    """Markdown of running text without escapes; a line feed is a line break in Word."""
    return _ESCAPE.sub(r"\1", printable(markdown).replace("  \n", "\n"))


def _add_picture(document: WordDocument, image: BlockImage, width: float) -> None:
    """`width`: on the page, in inches. The height follows from the image, unless it is larger than a page. What is no
    image is left out.
    """
    from docx.shared import Inches

    paragraph = document.add_paragraph()
    try:
        width = min(max(width, _NARROWEST_INCHES), _WIDEST_INCHES, _HIGHEST_INCHES * image.width / image.height)
        paragraph.add_run().add_picture(io.BytesIO(image.data), width=Inches(width))
    except Exception as error:  # noqa: BLE001 - of one image, which a client may have sent (api/website.py)
        log.info("image_not_written", error=type(error).__name__)


@dataclass(frozen=True, slots=True)
class _TableForm:
    """How a table is set. `widths`: of its columns, in twips. `margins`: of a cell, in twips. `half_points`: the size
    of its font. `numeric`: columns that hold little else than numbers, which stand at the right.
    """

    widths: list[int]
    margins: int
    half_points: int
    numeric: frozenset[int]


def _add_table(document: WordDocument, table: Table) -> None:
    """A table with its spans. Written as the text of XML, because python-docx looks for a cell among all others, and
    even without that takes 40 microseconds for each element.
    """
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    from_right = runs_from_right("".join(cell.text for cell in table.cells))
    places = {(cell.row + down, cell.column): (cell, down) for cell in table.cells for down in range(cell.row_span)}
    form = _table_form(table)
    parts = [
        f"<w:tbl {nsdecls('w')}><w:tblPr>",
        '<w:tblStyle w:val="TableGrid"/>',
        "<w:bidiVisual/>" if from_right else "",
        '<w:tblW w:type="auto" w:w="0"/><w:tblCellMar>',
        *(f'<w:{side} w:w="{form.margins // 2}" w:type="dxa"/>' for side in ("left", "right")),
        "</w:tblCellMar></w:tblPr><w:tblGrid>",
        *(f'<w:gridCol w:w="{width}"/>' for width in form.widths),
        "</w:tblGrid>",
        *(_row(row, form, places) for row in range(table.rows)),
        "</w:tbl>",
    ]
    document.element.body.insert_element_before(parse_xml("".join(parts)), "w:sectPr")
    document.add_paragraph()  # or Word would join it with a table that follows


def _table_form(table: Table) -> _TableForm:
    """Columns as wide as their longest line. Where that is wider than the page, lines of text are broken between words,
    and the font is smaller if numbers or words would be broken.
    """
    words, lines, numbers, others = ([0] * table.columns for _ in range(4))
    for cell in table.cells:
        if cell.column_span > 1 or cell.column >= table.columns or not cell.text:
            continue
        at, texts = cell.column, cell.text.split("\n")
        unbroken = texts if is_number(cell.text) else cell.text.split()
        words[at] = max(words[at], *map(_breadth, unbroken), 1)
        lines[at] = max(lines[at], *map(_breadth, texts), 1)
        if cell.row and not cell.header:
            numbers[at] += is_number(cell.text)
            others[at] += not is_number(cell.text)
    numeric = frozenset(at for at in range(table.columns) if numbers[at] > 2 * others[at])
    words = [max(1, one) for one in words]
    more = [max(0, longest - word) for longest, word in zip(lines, words, strict=True)]
    margins = _MARGINS_TWIPS
    if sum(words) * _DIGIT_TWIPS + table.columns * margins > _TEXT_TWIPS:
        margins = _NARROW_MARGINS_TWIPS
    # In digits of the usual size; then of the size in which the words fit.
    room = max(1.0, (_TEXT_TWIPS - table.columns * margins) / _DIGIT_TWIPS)
    size = max(_MIN_HALF_POINTS, min(_HALF_POINTS, int(_HALF_POINTS * room / sum(words))))
    room *= _HALF_POINTS / size
    shrink = min(1.0, room / sum(words))
    share = min(1.0, max(0.0, room - sum(words)) / max(1, sum(more)))
    digit = _DIGIT_TWIPS * size / _HALF_POINTS
    breadths = [word * shrink + extra * share for word, extra in zip(words, more, strict=True)]
    return _TableForm([round(one * digit) + margins for one in breadths], margins, size, numeric)


def _breadth(text: str) -> int:
    """The width of a line in digits: CJK characters have two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text[:_LONGEST_LINE])


def _row(row: int, form: _TableForm, places: Mapping[tuple[int, int], tuple[TableCell, int]]) -> str:
    """A row of a table as XML. `places`: of cells, by row and column, with the number of the row within the cell."""
    parts: list[str] = []
    are_headers: list[bool] = []
    column = 0
    while column < len(form.widths):
        found = places.get((row, column))
        if found is None:
            parts.append(f"<w:tc>{_cell_properties(form, column, 1)}<w:p><w:r><w:t/></w:r></w:p></w:tc>")
            column += 1
            continue
        cell, down = found
        parts.append(_cell(cell, form, first=down == 0))
        are_headers.append(cell.header)
        column += cell.column_span
    head = "<w:trPr><w:tblHeader/></w:trPr>" if are_headers and all(are_headers) else ""
    return f"<w:tr>{head}{''.join(parts)}</w:tr>"


def _cell_properties(form: _TableForm, column: int, span: int, merge: str = "") -> str:
    width = f'<w:tcW w:type="dxa" w:w="{sum(form.widths[column : column + span])}"/>'
    spans = f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
    return f"<w:tcPr>{width}{spans}{merge}</w:tcPr>"


def _cell(cell: TableCell, form: _TableForm, *, first: bool) -> str:
    """A cell as XML. `first`: in its first row."""
    merge = f'<w:vMerge w:val="{"restart" if first else "continue"}"/>' if cell.row_span > 1 else ""
    texts: Sequence[str] = printable(cell.text).split("\n") if first else [""]
    is_head = cell.header or cell.row == 0
    at_end = cell.column_span == 1 and cell.column in form.numeric and (is_head or is_number(cell.text))
    lines = "".join(_line(text, form.half_points, bold=cell.header, at_end=at_end) for text in texts)
    return f"<w:tc>{_cell_properties(form, cell.column, cell.column_span, merge)}{lines}</w:tc>"


def _line(text: str, half_points: int, *, bold: bool, at_end: bool) -> str:
    """A line of a cell as XML. `at_end`: at the right."""
    from_right = runs_from_right(text)
    style = "<w:b/>" if bold else ""
    style += f'<w:sz w:val="{half_points}"/>' if half_points != _HALF_POINTS else ""
    style += "<w:rtl/>" if from_right else ""
    style = f"<w:rPr>{style}</w:rPr>" if style else ""
    direction = ("<w:bidi/>" if from_right else "") + ('<w:jc w:val="right"/>' if at_end and not from_right else "")
    direction = f"<w:pPr>{direction}</w:pPr>" if direction else ""
    return f"<w:p>{direction}<w:r>{style}<w:t>{escape(text.strip(), quote=False)}</w:t></w:r></w:p>"


def _element(name: str) -> Any:  # noqa: ANN401 - lxml
    from docx.oxml import OxmlElement

    return OxmlElement(name)
