"""The text of Markdown as one run of letters and digits, with its lines, headings and borders of paragraphs. Pure.

Only the Markdown is used, so that every tool is judged alike. Plain text is Markdown without headings and tables.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass

from inkgate_bench.accuracy.line_accounts import reduced
from inkgate_bench.accuracy.metrics import is_spaceless

_BREAK = "\0"
"""Stands on a line of its own where a border is that no blank line shows."""
_TABLE_TAG = re.compile(r"</?(?:table|thead|tbody|tr|td|th|p|div|li|ul|ol)\b[^<>]*>", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]*>(.*?)</h\1>", re.IGNORECASE | re.DOTALL)
_HIDDEN = re.compile(r"!\[(?:[^\]\\]|\\.)*\]\([^)\s]*\)|<!--.*?-->|(?<!\\)</?[A-Za-z][^<>]*>", re.DOTALL)
_LINK = re.compile(r"(?<![!\\])\[([^\]\[]+)\]\([^)\s]*\)")
_ENTITY = re.compile(r"(?<!\\)&#?\w+;")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+|$)(.*?)(?:\s+#+)?\s*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\S")
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|`{3,}.*|\f+)$")
_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_QUOTE = re.compile(r"^(?:\s{0,3}>\s?)+")
_OWN_MARKS = re.compile(r"^\[Figure(?:: (.*))?\]$|^\*\*Doubtful text:\*\*")
_LETTER_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011\u00ad]+\s*(?=[^\W\d_])|\u00ad")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class FlowHeading:
    """A heading: its level and its letters and digits."""

    level: int
    letters: str


@dataclass(frozen=True, slots=True)
class MarkdownFlow:
    """What Markdown says, in its order.

    Attributes:
        letters: its letters and digits, as `reduced` gives them.
        lines: start and end of each line or table cell among the letters; none is empty.
        borders: where a block, list item, row or cell begins, ascending.
        words: see `words_of`.
    """

    letters: str
    lines: tuple[tuple[int, int], ...]
    borders: tuple[int, ...]
    headings: tuple[FlowHeading, ...]
    words: Counter[str]

    def has_border(self, start: int, end: int) -> bool:
        """Whether a border lies from `start` to `end`, both included."""
        at = bisect_right(self.borders, start - 1)
        return at < len(self.borders) and self.borders[at] <= end


def markdown_flow(markdown: str) -> MarkdownFlow:
    """The flow of some Markdown."""
    flow = _FlowBuilder()
    for line in _shown(without_stray_pipes(markdown)).split("\n"):
        flow.add(line)
    return MarkdownFlow(
        "".join(flow.pieces), tuple(flow.lines), tuple(sorted(flow.borders)), tuple(flow.headings), words_of(flow.texts)
    )


class _FlowBuilder:
    """Takes the lines of Markdown in their order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.lines: list[tuple[int, int]] = []
        self.borders: set[int] = set()
        self.headings: list[FlowHeading] = []
        self.text: list[str] = []
        self._length = 0

    @property
    def texts(self) -> str:
        return "\n".join(self.text)

    def add(self, line: str) -> None:
        """Adds one line."""
        if not line.strip() or _BREAK in line or _RULE.match(line):
            self._border()
        elif heading := _HEADING.match(line):
            self._border()
            self.headings.append(FlowHeading(len(heading[1]), reduced(_text(heading[2]))))
            self._write(heading[2])
            self._border()
        elif re.search(r"(?<!\\)\|", line):
            self._border()
            for cell in () if _DELIMITER.match(line) else re.split(r"(?<!\\)\|", line):
                self._write(cell)
                self._border()
        else:
            if _ITEM.match(line):
                self._border()
            self._write(line)

    def _border(self) -> None:
        self.borders.add(self._length)

    def _write(self, markdown: str) -> None:
        text = _text(markdown)
        letters = reduced(text)
        self.text.append(text)
        if letters:
            self.pieces.append(letters)
            self.lines.append((self._length, self._length + len(letters)))
            self._length += len(letters)


def _shown(markdown: str) -> str:
    """Markdown without what it doesn't show, HTML's blocks turned into lines."""
    text = _HTML_HEADING.sub(lambda match: f"\n{'#' * int(match[1])} {' '.join(match[2].split())}\n", markdown)
    text = _TABLE_TAG.sub(f"\n{_BREAK}\n", text)
    rows = [_OWN_MARKS.sub(lambda match: match[1] or "", _QUOTE.sub("", row)) for row in text.split("\n")]
    text = _LINK.sub(r"\1", _HIDDEN.sub(" ", "\n".join(rows)))
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text).replace("\r", "").replace("\f", f"\n{_BREAK}\n")


def _text(markdown: str) -> str:
    return re.sub(r"(?<!\\)\*+", "", _ESCAPED.sub(r"\1", markdown))


def without_stray_pipes(markdown: str) -> str:
    """Markdown whose pipes are those of tables: a run of lines with pipes and no delimiter row is text."""
    rows: list[str] = []
    run: list[str] = []
    for line in [*markdown.split("\n"), ""]:
        if "|" in line:
            run.append(line)
            continue
        is_table = len(run) > 1 and any(_DELIMITER.match(row) for row in run)
        rows += run if is_table else [row.replace("|", " ") for row in run]
        run = []
        rows.append(line)
    return "\n".join(rows[:-1])


def words_of(text: str) -> Counter[str]:
    """The words of a text, case folded; each letter of a script without spaces is one. Hyphens within words don't
    count, nor do line breaks after them.
    """
    folded = _LETTER_HYPHEN.sub("", unicodedata.normalize("NFKC", text).casefold())
    words: Counter[str] = Counter()
    for word in _WORD.findall(folded):
        if word.isascii() or not any(map(is_spaceless, word)):
            words[word] += 1
            continue
        rest = "".join(" " if is_spaceless(letter) else letter for letter in word)
        words.update(letter for letter in word if is_spaceless(letter))
        words.update(rest.split())
    return words


def markdown_paragraphs(markdown: str) -> list[str]:
    """The texts of headings, paragraphs and list items, in order, without tables."""
    paragraphs: list[str] = []
    run: list[str] = []
    without = re.sub(r"<table\b.*?</table>", f"\n{_BREAK}\n", markdown, flags=re.DOTALL | re.IGNORECASE)
    for line in [*_shown(without_stray_pipes(without)).split("\n"), ""]:
        heading = _HEADING.match(line)
        ends = not line.strip() or _BREAK in line or bool(_RULE.match(line)) or "|" in line
        if (ends or heading or _ITEM.match(line)) and run:
            paragraphs.append("\n".join(run))
            run = []
        if heading:
            paragraphs.append(_text(heading[2]))
        elif not ends:
            run.append(_text(line))
    return paragraphs
