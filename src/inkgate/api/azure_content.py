"""The content of an analysis of Azure's: text or Markdown, with the places of its paragraphs, lines and words.

It is made of the lines of a page. So the span of an item has the item's own text; in Markdown, with backslashes where a
character would be markup, and with entities in tables and comments. Where a model wrote the Markdown, it is shown as it
is: then a line has a span only if it stands there unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape as html_escape
from typing import Any

from inkgate_client.coordinates import around, before_rotation, quad_of
from inkgate_client.escape import at_beginning, escape
from inkgate_client.formats.areas import LineArea, PixelBox, WordArea
from inkgate_client.formats.text import printable
from inkgate_client.types import Block, Box, PageResult, Quad

Json = dict[str, Any]
Quote = Callable[[str, bool], str]
"""Writes a word in Markdown. The second argument: whether it begins its line."""

CHECK_MARK = re.compile(r"(\[[ x]\])")
"""A check box in the text of a line, as layout/regions/check_marks.py writes it."""
_JOINER = "\u200d"
_EXTENDING = frozenset({"Mn", "Mc", "Me"})


class IndexType(StrEnum):
    """What spans count."""

    TEXT_ELEMENTS = "textElements"
    CODE_POINTS = "unicodeCodePoint"
    CODE_UNITS = "utf16CodeUnit"

    def length(self, text: str) -> int:
        """The length of `text`."""
        if self is IndexType.CODE_POINTS or text.isascii():
            return len(text)
        return _text_elements(text) if self is IndexType.TEXT_ELEMENTS else len(text.encode("utf-16-le")) // 2


def _text_elements(text: str) -> int:
    """The number of characters as readers see them (grapheme clusters of Unicode's Annex 29, without its rules for
    prepended marks and for syllables of Indic scripts).
    """
    count, before, flags = 0, "", 0
    for char in text:
        is_flag = "\U0001f1e6" <= char <= "\U0001f1ff"
        flags = flags + 1 if is_flag else 0
        extends = (
            unicodedata.category(char) in _EXTENDING
            or char in {_JOINER, "\u200c"}
            or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
            or "\U000e0020" <= char <= "\U000e007f"  # tags, of flags
            or (before == _JOINER and char > "\u2000")
            or (is_flag and flags % 2 == 0)
            or ("\u1160" <= char <= "\u11ff" and "\u1100" <= before <= "\ud7a3")  # parts of Korean syllables
        )
        count += not (extends and before and before != "\n")
        before = char
    return count


@dataclass(frozen=True, slots=True)
class AzureForm:
    """How an analysis is shown. `inches`: lengths are in inches where the resolution is known, as for PDFs."""

    layout: bool
    markdown: bool = False
    index_type: IndexType = IndexType.TEXT_ELEMENTS
    inches: bool = False


class PageWriter:
    """The content of a page, which grows as it is written.

    Attributes:
        at: where it ends in the document's.
        lines, words, marks: the page's, as Azure shows them, in the order in which they were written. Lines and words
            are empty unless it is `detailed`: they take as long as all else.
        paragraphs: the page's.
    """

    def __init__(
        self, page: PageResult, form: AzureForm, at: int, checkboxes: Sequence[Block], *, detailed: bool
    ) -> None:
        self.at = at
        self._detailed = detailed
        self.lines: list[Json] = []
        self.words: list[Json] = []
        self.marks: list[Json] = []
        self.paragraphs: list[Json] = []
        self.checkboxes = list(checkboxes)
        self._page = page
        self._markdown = form.markdown
        self._length = form.index_type.length
        self._scale = page.dpi if form.inches and page.dpi else 0.0
        self._written: list[str] = []
        self._first = at
        self._gap = ""

    def text(self) -> str:
        """What was written."""
        return "".join(self._written)

    def begin_page(self, lead: str) -> None:
        """Writes `lead`, which is not of the page."""
        self.write(lead)
        self._first = self.at

    def separate(self, in_markdown: str = "\n\n") -> None:
        """What is written next stands apart from what was written last: in text, on a line of its own."""
        self._gap = in_markdown if self._markdown else "\n"

    def start(self) -> int:
        """Where the next text begins."""
        gap, self._gap = self._gap, ""
        if gap and self.at > self._first:
            self.write(gap)
        return self.at

    def write(self, text: str) -> None:
        if text:
            self.start()
            self._written.append(text)
            self.at += self._length(text)

    def markup(self, text: str) -> None:
        """Writes what only Markdown has."""
        if self._markdown:
            self.write(text)

    def spans(self, start: int | None = None) -> list[Json]:
        """The place of what was written since `start`; by default, of the page."""
        begin = self._first if start is None else start
        return [span(begin, self.at)]

    # -- paragraphs, lines and words

    def paragraph(
        self, rows: Sequence[LineArea], quote: Quote, between: str, role: str = "", box: Box | None = None
    ) -> Json:
        """Writes rows as a paragraph; `between` stands between them in Markdown."""
        start, between = self.start(), between if self._markdown else "\n"
        texts = []
        for number, row in enumerate(rows):
            self.write(between if number else "")
            texts.append(self._row(row, quote if self._markdown else as_it_is))
        return self._add_paragraph(start, between.join(texts), role, box or around(row.box for row in rows))

    def model_text(self, markdown: str, rows: list[LineArea], role: str, box: Box) -> Json:
        """Writes Markdown as a paragraph. Takes the rows that stand in it out of `rows`."""
        text, start, at = printable(markdown).strip("\n"), self.start(), 0
        for row in list(rows):
            found = text.find(row.text, at)
            if found >= 0:
                rows.remove(row)
                at = found + len(row.text)
                begin = start + self._length(text[:found])
                self.add_line(row, row.text, [span(begin, start + self._length(text[:at]))])
                self._add_words(row, begin)
        self.write(text)
        return self._add_paragraph(start, text, role, box)

    def add_line(self, row: LineArea, text: str, spans: Sequence[Json] = ()) -> None:
        """`spans`: empty for a line that the content has otherwise."""
        if self._detailed:
            self.lines.append({"content": text, "polygon": self.polygon(row.quad), "spans": spans})

    def check_mark(self, block: Block) -> str:
        """Writes a check box. Returns what stands for it."""
        self.checkboxes.remove(block)
        checked, start = block.checkbox is not None and block.checkbox.checked, self.start()
        names = ("\u2610", "\u2612") if self._markdown else (":unselected:", ":selected:")
        self.write(names[checked])
        mark = {"state": "selected" if checked else "unselected", "polygon": self.polygon(quad_of(block.box))}
        confidence = block.checkbox.confidence if block.checkbox else 0.0
        self.marks.append(mark | {"span": span(start, self.at), "confidence": confidence})
        return names[checked]

    def _add_paragraph(self, start: int, content: str, role: str, box: Box) -> Json:
        named = {"role": role} if role else {}
        added = {"spans": self.spans(start), "boundingRegions": [self.region(box)]} | named | {"content": content}
        self.paragraphs.append(added)
        return added

    def _row(self, row: LineArea, quote: Quote) -> str:
        """Writes a line with its words. Returns its text."""
        start, texts = self.start(), list[str]()
        if row.line is None:
            shown = " ".join(quote(word, number == 0) for number, word in enumerate(row.text.split()))
            if shown == row.text:
                self._add_words(row, start)
            self.write(shown)
            texts = [row.text]
        for word in row.words if row.line is not None else ():
            parts = CHECK_MARK.split(word.text) if self.checkboxes else [word.text]
            for part in filter(None, parts):
                if (block := self._checkbox(part, row.box)) is not None:
                    texts.append(self.check_mark(block))
                else:
                    texts.append(part)
                    self._word(part, word, quote, first=len(texts) == 1)
            if word.spaced:
                self.write(" ")
                texts.append(" ")
        text = "".join(texts)
        self.add_line(row, text, self.spans(start))
        return text

    def _word(self, text: str, word: WordArea, quote: Quote, *, first: bool) -> None:
        """Writes a word, or what stands beside a check box in it; a space around it is not of the word."""
        bare = text.strip()
        lead, _, rest = text.partition(bare) if bare else (text, "", "")
        self.write(lead)
        start = self.start()
        self.write(quote(bare, first))
        if bare and self._detailed:
            found = {"content": bare, "polygon": self.polygon(word.quad)}
            self.words.append(found | {"span": span(start, self.at), "confidence": word.confidence or 0.0})
        self.write(rest)

    def _add_words(self, row: LineArea, start: int) -> None:
        """Adds the words of a row whose words have no known places on the page."""
        for found in re.finditer(r"\S+", row.text) if self._detailed else ():
            begin, end = (start + self._length(row.text[:at]) for at in found.span())
            word = {"content": found[0], "span": span(begin, end), "confidence": self._page.confidence or 0.0}
            self.words.append(word)

    def _checkbox(self, mark: str, box: PixelBox) -> Block | None:
        """The check box that the mark stands for: the nearest of its state."""
        if not CHECK_MARK.fullmatch(mark):
            return None
        state = mark == "[x]"
        return min(
            (block for block in self.checkboxes if block.checkbox and block.checkbox.checked is state),
            key=lambda block: abs(block.box[1] + block.box[3] - box[1] - box[3]),
            default=None,
        )

    # -- places

    @property
    def unit(self) -> str:
        return "inch" if self._scale else "pixel"

    def region(self, box: Box) -> Json:
        return {"pageNumber": self._page.index + 1, "polygon": self.polygon(quad_of(box))}

    def polygon(self, quad: Quad) -> list[float]:
        """The corners on the page as it was sent."""
        page = self._page
        sent = before_rotation(quad, page.rotation, page.width, page.height)
        scale, digits = (self._scale, 4) if self._scale else (1.0, 1)
        return [round(float(value) / scale, digits) for point in sent for value in point]

    def scaled(self, pixels: float) -> float:
        """A length in the page's unit."""
        return round(float(pixels) / self._scale, 4) if self._scale else round(float(pixels), 1)


def as_it_is(text: str, first: bool) -> str:  # noqa: ARG001 - a Quote
    return text


def inline(text: str, first: bool) -> str:  # noqa: ARG001 - a Quote
    return escape(text)


def prose(text: str, first: bool) -> str:
    return at_beginning(escape(text)) if first else escape(text)


def html(text: str, first: bool) -> str:  # noqa: ARG001 - a Quote
    return html_escape(text, quote=False)


def attribute(text: str, first: bool) -> str:  # noqa: ARG001 - a Quote
    return html_escape(text)


def span(start: int, end: int) -> Json:
    return {"offset": start, "length": end - start}
