"""The text of a document as it is read on from row to row, for values in prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from inkgate.fields.folded import glue
from inkgate.fields.kinds.base import ParsedValue, ValueKind, plain
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages, PrintedRow

_MAX_CHARACTERS: Final = 30_000
"""Maximum characters of the document's beginning. Patterns are bounded, so their time grows with the length alone."""
_LONGEST_CELL: Final = 5000
"""Characters of a cell that are looked at."""
_SAME_HEIGHT: Final = 1.4
"""Lines whose heights differ by more are of different paragraphs."""
_LINE_GAP, _INDENT = 1.6, 5.0
"""Line heights between two lines of a paragraph, and by which its first one may be indented."""


@dataclass(frozen=True, slots=True)
class TextFlow:
    """Attributes:
    pages: the rows.
    text: of all cells, in their order, with full-width marks and digits of all scripts as ASCII.
    starts: of each cell in `text`.
    cells: of each cell, its row and its number in the row.
    """

    pages: PrintedPages
    text: str
    starts: tuple[int, ...]
    cells: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, pages: PrintedPages) -> TextFlow:
        """The text. Lines of a paragraph are joined, in Chinese without a space; cells of a row have two spaces
        between them, and other rows stand on lines of their own.
        """
        text, starts, cells = "", [], []
        margins = _margins(pages)
        for number, row in enumerate(pages.rows):
            goes_on = number > 0 and _goes_on(pages.rows[number - 1], row, margins[row.page], pages.unit)
            for at, cell in enumerate(row.cells):
                if len(text) > _MAX_CHARACTERS:
                    break
                text += ("  " if at else glue(text, cell.text) if goes_on else "\n") if text else ""
                starts.append(len(text))
                cells.append((row.number, at))
                text += plain(cell.text[:_LONGEST_CELL])
        return cls(pages, text, tuple(starts), tuple(cells))

    def search(self, pattern: re.Pattern[str], group: str = "", score: float = 1.0) -> FieldCandidate | None:
        """The first match, or a group of it."""
        return next(self.matches(pattern, group, score), None)

    def matches(self, pattern: re.Pattern[str], group: str = "", score: float = 1.0) -> Iterator[FieldCandidate]:
        """All matches, or a group of them."""
        for match in pattern.finditer(self.text):
            start, end = match.span(group) if group else match.span()
            if start < end:
                yield self.candidate(start, end, self.text[match.start() : start][-40:], score)

    def values(self, kind: ValueKind, start: int = 0, end: int | None = None) -> list[ParsedValue]:
        """Values of a kind between two places; theirs are places of the whole text."""
        found = kind.find(self.text[start:end])
        return [
            ParsedValue(each.readings, each.start + start, each.end + start, each.unit, each.decimals) for each in found
        ]

    def first(self, kind: ValueKind, start: int, end: int, score: float = 1.0) -> FieldCandidate | None:
        """The first value of a kind that begins behind `start` and ends before `end`."""
        found = self.values(kind, start, end)
        return (
            self.candidate(found[0].start, found[0].end, self.text[start : found[0].start][-40:], score)
            if found
            else None
        )

    def candidate(self, start: int, end: int, label: str = "", score: float = 1.0) -> FieldCandidate:
        """What stands between two places, with the lines that it is on. Spaces around it are left out."""
        whole = self.text[start:end]
        start, end = start + len(whole) - len(whole.lstrip()), end - (len(whole) - len(whole.rstrip()))
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first, bisect_right(self.starts, max(start, end - 1)) - 1)
        rows = [self.pages.rows[row] for row, _ in self.cells[first : last + 1]]
        same = [
            self.pages.rows[row].cells[at].line
            for row, at in self.cells[first : last + 1]
            if self.pages.rows[row].page == rows[0].page
        ]
        return FieldCandidate(
            " ".join(self.text[start:end].split("\n")),
            rows[0].page,
            rows[0].number,
            tuple(same),
            label.strip(),
            None,
            score,
        )


def _margins(pages: PrintedPages) -> dict[int, float]:
    """The right edge of each page's text."""
    margins: dict[int, float] = {}
    for row in pages.rows:
        margins[row.page] = max(margins.get(row.page, 0.0), row.cells[-1].box[2])
    return margins


def _goes_on(before: PrintedRow, row: PrintedRow, margin: float, unit: float) -> bool:
    """Whether a row continues the one above it: the same paragraph, since its first word had no room there."""
    if before.page != row.page or len(before.cells) != 1 or len(row.cells) != 1:
        return False
    above, below = before.cells[0].box, row.cells[0].box
    heights = sorted((above[3] - above[1], below[3] - below[1]))
    if heights[1] > _SAME_HEIGHT * heights[0] or not -unit < below[1] - above[3] < _LINE_GAP * unit:
        return False
    if abs(above[0] + above[2] - below[0] - below[2]) < unit < 2 * abs(above[0] - below[0]):
        return False  # both are centred
    if below[0] - above[0] > unit or above[0] - below[0] > _INDENT * unit:
        return False
    text = row.cells[0].text
    first = 2 if glue("", text) == "" else len(text.split(maxsplit=1)[0]) if text.split() else 0
    word = first * (below[2] - below[0]) / max(1, len(text))
    return above[2] + word + 2 * unit >= margin


def named(candidates: dict[str, FieldCandidate | None]) -> dict[str, Sequence[FieldCandidate]]:
    """Returns the candidates that were found, by field."""
    return {name: [each] for name, each in candidates.items() if each is not None}
