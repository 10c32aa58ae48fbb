"""Documents as Azure AI Document Intelligence shows them: pages, paragraphs, tables, figures and sections, with their
places in the content, which azure_content.py writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from inkgate.api.azure_content import AzureForm, Json, PageWriter, attribute, html, inline, prose, span
from inkgate.layout.tables.blocks import header_rows
from inkgate_client.block_parts import captions_of, is_list, text_is_unplaced
from inkgate_client.formats.areas import Area, LineArea, page_areas, unplaced_rows
from inkgate_client.formats.markdown import content_of, failure_note
from inkgate_client.formats.text import failure_note as text_failure_note
from inkgate_client.formats.text import printable
from inkgate_client.image_links import beside_image
from inkgate_client.types import MARK_TYPES, Block, BlockType, LeftOutReason, PageResult, Table, TableCell

LARGE_PARTS = ("content", "pages", "paragraphs", "tables")
"""Members of a result for which its pages are gone through."""
SMALL_PARTS = ("figures", "sections", "warnings")
"""Members that are collected beside `paragraphs` and `tables`."""
PARTS = (*LARGE_PARTS, *SMALL_PARTS)
_PAGE_BREAK = "\n\n<!-- PageBreak -->\n\n"
_ROLES = {
    BlockType.HEADER: "pageHeader",
    BlockType.FOOTER: "pageFooter",
    BlockType.FORMULA: "formulaBlock",
    LeftOutReason.PAGE_NUMBER: "pageNumber",
    LeftOutReason.RUNNING_HEADER: "pageHeader",
    LeftOutReason.RUNNING_FOOTER: "pageFooter",
}
_COMMENTS = {"pageHeader": "PageHeader", "pageFooter": "PageFooter", "pageNumber": "PageNumber"}
_HEADINGS = ("title", "sectionHeading")
_ANGLES = {0: 0, 90: -90, 180: 180, 270: 90}
"""Degrees clockwise by which the text of the page as it was sent is turned, by the page's rotation."""
_NOTE = "[^"
_PARAGRAPH_BREAK = re.compile(r"\n\s*\n")
_LOOSE = re.compile(r"[\s\u00ad\u2010-]+")
"""What a cell's text and its lines may differ in: words at line ends are joined."""


@dataclass(slots=True)
class _Section:
    level: int
    start: int
    end: int = 0
    elements: list[str] = field(default_factory=list)

    def shown(self) -> Json:
        return {"spans": [span(self.start, self.end)], "elements": self.elements}


@dataclass(slots=True)
class _Document:
    """What a page must know of the pages before it."""

    form: AzureForm
    detailed: bool = True
    at: int = 0
    titled: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    sections: list[_Section] = field(default_factory=list)
    open_sections: list[int] = field(default_factory=list)

    def numbered(self, part: str) -> str:
        """The reference of the next item of a part."""
        number = self.counts[part]
        self.counts[part] = number + 1
        return f"/{part}/{number}"

    def add(self, element: str, start: int, end: int, level: int | None = None) -> None:
        """Adds an element to the section that it stands in; `level`: of a heading, which begins a section."""
        if not self.sections:
            self._open(0, start)
        if level is not None:
            while self.sections[self.open_sections[-1]].level >= level:
                self.open_sections.pop()
            self.sections[self.open_sections[-1]].elements.append(f"/sections/{len(self.sections)}")
            self._open(level, start)
        self.sections[self.open_sections[-1]].elements.append(element)
        for number in self.open_sections:
            self.sections[number].end = end

    def _open(self, level: int, start: int) -> None:
        self.open_sections.append(len(self.sections))
        self.sections.append(_Section(level, start))


class AnalyzedPart:
    """One of LARGE_PARTS, made page by page as JSON; of `content`, its text."""

    is_document = True

    def __init__(self, part: str, form: AzureForm) -> None:
        self._part = part
        self._document = _Document(form, detailed=part == "pages")
        self._collected: dict[str, list[bytes]] = {name: [] for name in SMALL_PARTS}
        self._lead = b""

    def begin(self) -> bytes:
        return b"" if self._part == "content" else b"["

    def page(self, page: PageResult) -> bytes:
        found = AnalyzedPage(page, self._document)
        if self._part in {"paragraphs", "tables"}:
            for name, items in self._collected.items():
                items += [orjson.dumps(item) for item in found.items[name]]
        if self._part == "content":
            return found.content.text().encode()
        shown = orjson.dumps(found.items[self._part])[1:-1]
        if not shown:
            return b""
        lead, self._lead = self._lead, b","
        return lead + shown

    def end(self) -> bytes:
        return b"" if self._part == "content" else b"]"

    def small(self, name: str) -> bytes:
        """One of SMALL_PARTS, after the last page of `paragraphs` or `tables`."""
        if name == "sections":
            return orjson.dumps([section.shown() for section in self._document.sections])
        return b"[%b]" % b",".join(self._collected[name])


def figure_of(page: PageResult, number: int) -> Block | None:
    """The figure of this number, from 1, on the page; None if it has fewer."""
    figures = AnalyzedPage(page, _Document(AzureForm(layout=True), detailed=False)).figures
    return figures[number - 1] if 0 < number <= len(figures) else None


class AnalyzedPage:
    """The items of a page, by part.

    Attributes:
        figures: the blocks of its figures.
    """

    def __init__(self, page: PageResult, document: _Document) -> None:
        areas = page_areas(page)
        boxes = [area.block for area in areas if area.block is not None and area.block.checkbox is not None]
        self.content = PageWriter(
            page, document.form, document.at, boxes if document.form.layout else (), detailed=document.detailed
        )
        self.items: dict[str, list[Json]] = {part: [] for part in PARTS}
        self.items["paragraphs"] = self.content.paragraphs
        self.figures: list[Block] = []
        self._page = page
        self._document = document
        self._markdown = document.form.markdown
        self._reasons = {number: part.reason for part in page.left_out for number in part.lines}
        self._numbers = {id(line): number for number, line in enumerate(page.lines)}
        reference = document.numbered("pages")
        self.content.begin_page("" if reference == "/pages/0" else _PAGE_BREAK if self._markdown else "\n")
        if self._markdown and text_is_unplaced(page) and not page.lines and page.markdown is not None:
            self._model_page([row for area in areas for row in area.rows])
        else:
            self._blocks([area for area in areas if area.type not in MARK_TYPES])
        self._end(reference)
        self.items["pages"].append(self._about())
        document.at = self.content.at

    def _blocks(self, areas: Sequence[Area]) -> None:
        blocks = self._page.blocks or ()
        by_block = {id(area.block): area for area in areas if area.rows}
        captions = {id(blocks[owner]): by_block.get(id(blocks[at])) for owner, at in captions_of(blocks).items()}
        for area in areas:
            caption = captions.get(id(area.block))
            if any(area is each for each in captions.values()):
                continue
            self.content.separate()
            if area.block is not None and area.block.table is not None:
                self._table(area, area.block, area.block.table, caption)
            elif area.type is BlockType.FIGURE and area.block is not None:
                self._figure(area, area.block, caption)
            elif area.rows:
                self._text(area)

    def _end(self, reference: str) -> None:
        """Writes what stands nowhere in the text: check boxes without a label, and that the page could not be read."""
        self.content.separate()
        for block in list(self.content.checkboxes):
            self.content.check_mark(block)
            self.content.separate(" ")
        self.content.separate()
        error = self._page.error
        if error is not None:
            note = failure_note if self._markdown else text_failure_note
            self.content.write(note(self._page.index, error))
            why = f"Page {self._page.index + 1} could not be read: {error.detail}"
            self.items["warnings"].append({"code": error.code, "message": why, "target": reference})

    def _about(self) -> Json:
        page, content = self._page, self.content
        sides = [content.scaled(side) for side in (page.width, page.height)]
        width, height = sides[::-1] if page.rotation in {90, 270} else sides
        codes = [block.barcode for block in page.blocks or () if block.barcode is not None]
        return {
            "pageNumber": page.index + 1,
            "angle": _ANGLES[page.rotation],
            "width": width,
            "height": height,
            "unit": content.unit,
            "spans": content.spans(),
            "words": content.words,
            "lines": content.lines,
            "selectionMarks": content.marks,
            "barcodes": [
                {
                    "kind": code.format,
                    "value": printable(code.text),
                    "polygon": content.polygon(code.quad),
                    "span": span(content.at, content.at),
                    "confidence": 1.0,
                }
                for code in codes
            ],
        }

    # -- text

    def _text(self, area: Area) -> None:
        role, content = self._role(area), self.content
        level = area.level or 1 if role in _HEADINGS else None
        if self._markdown and role in _COMMENTS:
            content.write(f'<!-- {_COMMENTS[role]}="')
            self._counted(content.paragraph(area.rows, attribute, " ", role, area.box))
            content.write('" -->')
        elif self._markdown and area.block and area.block.markdown and all(row.line is None for row in area.rows):
            start = content.start()
            content.model_text(area.block.markdown, list(area.rows), role, area.box)
            self._add(start, level)
        elif level is not None:
            start = content.start()
            content.markup("#" * level + " ")
            content.paragraph(area.rows, inline, " ", role, area.box)
            self._add(start, level)
        else:
            groups = _items(area.rows) if area.type is BlockType.LIST else [area.rows]
            for group in groups:
                content.separate()
                start, box = content.start(), area.box if len(groups) == 1 else None
                content.paragraph(group, inline if area.type is BlockType.LIST else prose, "\n", role, box)
                if role in _COMMENTS:
                    self._document.numbered("paragraphs")
                else:
                    self._add(start)

    def _role(self, area: Area) -> str:
        number = self._numbers.get(id(area.rows[0].line), -1)
        reason = self._reasons.get(number)
        if number < 0 and area.block is not None:
            texts = {part.text: part.reason for part in self._page.left_out if not part.lines}
            reason = texts.get(area.block.text)
        if reason in _ROLES:
            return _ROLES[reason]
        if area.block is not None and area.block.markdown.startswith(_NOTE):
            return "footnote"
        return self._heading(area.level or 1) if area.type is BlockType.TITLE else _ROLES.get(area.type, "")

    def _heading(self, level: int) -> str:
        is_title = level == 1 and not self._document.titled
        self._document.titled = self._document.titled or is_title
        return _HEADINGS[not is_title]

    def _add(self, start: int, level: int | None = None) -> None:
        """Adds the paragraph that was written last to its section."""
        self._document.add(self._document.numbered("paragraphs"), start, self.content.at, level)

    def _counted(self, paragraph: Json) -> Json:
        """The members of an item that has this paragraph: a cell or a caption."""
        reference = self._document.numbered("paragraphs")
        return {"content": paragraph["content"], "spans": paragraph["spans"], "elements": [reference]}

    def _model_page(self, rows: list[LineArea]) -> None:
        """Writes the Markdown of a page without lines and blocks."""
        box = (0, 0, self._page.width, self._page.height)
        for part in _PARAGRAPH_BREAK.split(printable(content_of(self._page))):
            if not (text := part.strip("\n")):
                continue
            level = len(text) - len(text.lstrip("#")) or None
            self.content.separate()
            start = self.content.start()
            self.content.model_text(text, rows, "" if level is None else self._heading(level), box)
            self._add(start, level)
        for row in rows:
            self.content.add_line(row, row.text)

    # -- tables and figures

    def _table(self, area: Area, block: Block, table: Table, caption: Area | None) -> None:
        rows = {id(row.line): row for row in area.rows if row.line is not None}
        content, heads, cells = self.content, header_rows(table), list[Json]()
        start = content.start()
        content.markup("<table>\n")
        shown: Json = {"rowCount": table.rows, "columnCount": table.columns, "cells": cells}
        if caption is not None:
            shown["caption"] = self._caption(caption, "caption")
        for number in range(table.rows):
            content.markup("<tr>\n")
            for cell in (cell for cell in table.cells if cell.row == number):
                cells.append(self._cell(cell, self._rows_of(cell, rows, block), heads))
            content.markup("</tr>\n")
        content.markup("</table>")
        shown |= {"boundingRegions": [content.region(block.box)], "spans": content.spans(start)}
        self.items["tables"].append(shown)
        self._document.add(self._document.numbered("tables"), start, content.at)
        if rows:
            content.separate()
            self._text(Area(BlockType.TEXT, None, area.box, tuple(rows.values())))

    def _rows_of(self, cell: TableCell, rows: dict[int, LineArea], block: Block) -> Sequence[LineArea]:
        """The lines of the cell, taken out of `rows`; rows of its text if that is not the text of its lines."""
        lines = [id(self._page.lines[number]) for number in cell.lines]
        own = [rows.pop(line) for line in lines if line in rows]
        if not cell.text or _LOOSE.sub("", "".join(row.text for row in own)) == _LOOSE.sub("", cell.text):
            return own
        left, top, right, bottom = (round(side) for side in cell.box or block.box)
        return unplaced_rows(cell.text, (left, top, right, bottom))

    def _cell(self, cell: TableCell, rows: Sequence[LineArea], heads: int) -> Json:
        name, content = "th" if cell.header else "td", self.content
        spans = {"row": cell.row_span, "column": cell.column_span}
        html_spans = "".join(f' {key[:3]}span="{count}"' for key, count in spans.items() if count > 1)
        content.markup(f"<{name}{html_spans}>")
        shown: Json = {"kind": "columnHeader" if cell.row < heads else "rowHeader"} if cell.header else {}
        shown |= {"rowIndex": cell.row, "columnIndex": cell.column}
        shown |= {f"{key}Span": count for key, count in spans.items() if count > 1}
        shown |= {"content": "", "spans": []}
        if rows:
            shown |= self._counted(content.paragraph(rows, html, "\n", box=cell.box))
            content.separate("")
        if cell.box is not None:
            shown["boundingRegions"] = [content.region(cell.box)]
        content.markup(f"</{name}>\n")
        return shown

    def _figure(self, area: Area, block: Block, caption: Area | None) -> None:
        content = self.content
        self.figures.append(block)
        identity = f"{self._page.index + 1}.{len(self.figures)}"
        shown: Json = {"id": identity, "boundingRegions": [content.region(block.box)], "spans": [], "elements": []}
        start = content.start() if self._markdown or caption or area.rows else content.at
        content.markup("<figure>\n")
        if caption is not None:
            shown["caption"] = self._caption(caption, "figcaption")
        content.markup("\n" if area.rows or block.diagram is not None else "")
        if self._markdown and block.diagram is not None:
            inside = content.model_text(beside_image(block), list(area.rows), "", block.box)
            shown["elements"] = self._counted(inside)["elements"]
            content.separate()
        elif area.rows:
            shown["elements"] = self._counted(content.paragraph(area.rows, prose, "\n"))["elements"]
            content.separate()
        content.markup("</figure>")
        reference = self._document.numbered("figures")
        if content.at > start:
            shown["spans"] = content.spans(start)
            self._document.add(reference, start, content.at)
        self.items["figures"].append(shown)

    def _caption(self, area: Area, name: str) -> Json:
        self.content.markup(f"<{name}>")
        paragraph = self.content.paragraph(area.rows, html, " ", box=area.box)
        self.content.separate("")
        self.content.markup(f"</{name}>\n")
        return self._counted(paragraph) | {"boundingRegions": paragraph["boundingRegions"]}


def _items(rows: Sequence[LineArea]) -> list[list[LineArea]]:
    """The rows of each item of a list."""
    items: list[list[LineArea]] = []
    for row in rows:
        if not items or is_list(row.text):
            items.append([])
        items[-1].append(row)
    return items
