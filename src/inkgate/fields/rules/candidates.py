"""Candidates: values of a kind with what stands around them, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inkgate.fields.kinds.base import ParsedValue, ValueKind
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell, head_of
from inkgate_client.concurrency import pause

LONGEST_LABEL = 200
"""Maximum length of a label in characters. Patterns of labels have `.*`, whose time grows with the square of the
length."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_][.]?[^\W\d_]")
"""A word, or an abbreviation such as I.V.A."""
_CURRENCY = re.compile(r"\b(?:eur|usd|gbp|chf|brl|cad|aud|rm|myr|euros?|czk|pln|sek|nok|dkk)\b|[€$£¥%]", re.IGNORECASE)
_ROWS_ABOVE = 12
"""Rows between a value and the head of its column."""
_NUMBER_BEFORE = re.compile(r"[^\s/]*\d[^\s]*\s?/\s?$")
"""A number that a slash parts from the value: it is no label."""


@dataclass(frozen=True, slots=True)
class FieldCandidate:
    """A value that may be a field's.

    Attributes:
        text: as printed; over several lines, separated by spaces.
        row: number of its (first) row.
        lines: indexes of its lines in the page.
        label: what stands before it on its row, or on the row above if that has no value of its own.
        value: None for text.
    """

    text: str
    page: int
    row: int
    lines: tuple[int, ...]
    label: str = ""
    value: ParsedValue | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelWeight:
    """How much a word in the label speaks for a field (or against it: below 0)."""

    pattern: re.Pattern[str]
    weight: float

    @classmethod
    def of(cls, pattern: str, weight: float) -> LabelWeight:
        """`pattern` is matched anywhere in the label, whatever its case."""
        return cls(re.compile(pattern, re.IGNORECASE), weight)


def weigh(label: str, weights: Sequence[LabelWeight]) -> float:
    """The sum of what the label speaks for and against."""
    pause()
    return sum(each.weight for each in weights if each.pattern.search(label))


def candidates_of(pages: PrintedPages, kind: ValueKind) -> list[FieldCandidate]:
    """All values of the kind, in the order of the page. They are looked for once."""
    stored = pages.candidates.get(kind.name)
    if stored is None:
        stored = pages.candidates[kind.name] = [found for row in pages.rows for found in _in_row(pages, row, kind)]
    return [each for each in stored if isinstance(each, FieldCandidate)]


def _in_row(pages: PrintedPages, row: PrintedRow, kind: ValueKind) -> Iterator[FieldCandidate]:
    pause()
    ahead = ""
    for cell in row.cells:
        for value in kind.find(cell.text):
            before = f"{ahead} {cell.text[max(0, value.start - LONGEST_LABEL) : value.start]}"[-LONGEST_LABEL:]
            label = before if _LETTERS.search(before) else _above(pages, row, kind)
            text = cell.text[value.start : value.end]
            yield FieldCandidate(text, row.page, row.number, (cell.line,), label.strip(), value)
        ahead = f"{ahead} {cell.text}"[-LONGEST_LABEL:]


def _above(pages: PrintedPages, row: PrintedRow, kind: ValueKind) -> str:
    """The row above, if it is a label: letters and no value."""
    if row.number == 0:
        return ""
    above = pages.rows[row.number - 1]
    close = above.page == row.page and len(above.text) <= LONGEST_LABEL  # a longer row is a paragraph
    is_label = close and not any(kind.find(cell.text) for cell in above.cells)
    return above.text if is_label else ""


def is_word(text: str) -> bool:
    """Whether there are letters other than those of a currency."""
    return _WORD.search(_CURRENCY.sub(" ", text)) is not None


class LabelReader:
    """Finds the labels of values cell by cell: what stands nearest to the left, and the head of the column.

    `candidates_of` gives a value everything before it in its row, or the whole row above: enough to find a word in, but
    of several values beside each other it doesn't tell which one the word belongs to.
    """

    def __init__(self, pages: PrintedPages, values_in: Callable[[str], list[ParsedValue]]) -> None:
        """`values_in`: the values of a text; what is none of them may be a label."""
        self._pages = pages
        self._values_in = values_in
        self._known: dict[tuple[int, int], list[ParsedValue]] = {}

    def near(self, found: FieldCandidate, tells: Callable[[str], bool]) -> tuple[str, bool]:
        """What stands left of the value, as far as it tells something; and whether another value stands between."""
        pause()
        row, at = self._place(found)
        cell, start = row.cells[at], found.value.start if found.value else 0
        before = [each for each in self._in(row, cell) if each.end <= start]
        text = _NUMBER_BEFORE.sub("", cell.text[before[-1].end if before else 0 : start])
        if is_word(text) and (tells(text) or at == 0 or before):
            return text, False
        if before:
            return cell.text[: before[0].start], True
        shared = False
        for left in reversed(row.cells[:at]):
            values = self._in(row, left)
            shared = shared or bool(values)
            text = f"{left.text[: values[0].start] if values else left.text} {text}"
            if is_word(text) and tells(text):
                break
        return text, shared

    def head(self, found: FieldCandidate) -> str:
        """The text above the value that is none itself; empty without one."""
        row, at = self._place(found)
        cell = row.cells[at]
        left, _, right, _ = cell.box
        for number in range(row.number - 1, max(-1, row.number - 1 - _ROWS_ABOVE), -1):
            above = self._pages.rows[number]
            if above.page != row.page:
                break
            over = [each for each in above.cells if each.box[0] < right and left < each.box[2]]
            best = min(over, key=lambda each: abs(each.box[0] + each.box[2] - left - right), default=None)
            if best is not None and is_word(best.text):
                return "" if self._in(above, best) else head_of(cell, row, best)
        return ""

    def has_own(self, found: FieldCandidate) -> bool:
        """Whether words stand before the value in its own cell."""
        row, at = self._place(found)
        return found.value is not None and is_word(_NUMBER_BEFORE.sub("", row.cells[at].text[: found.value.start]))

    def values_beside(self, found: FieldCandidate) -> bool:
        """Whether the row has other values."""
        row, _ = self._place(found)
        return sum(len(self._in(row, cell)) for cell in row.cells) > 1

    def _place(self, found: FieldCandidate) -> tuple[PrintedRow, int]:
        row = self._pages.rows[found.row]
        return row, next(place for place, cell in enumerate(row.cells) if cell.line in found.lines)

    def _in(self, row: PrintedRow, cell: RowCell) -> list[ParsedValue]:
        key = (row.page, cell.line)
        if key not in self._known:
            self._known[key] = self._values_in(cell.text)
        return self._known[key]
