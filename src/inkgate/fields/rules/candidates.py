"""Candidates: values of a kind with what stands around them, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkgate.fields.kinds.base import ParsedValue, ValueKind
from inkgate.fields.rules.rows import PrintedPages, PrintedRow

LONGEST_LABEL = 200
"""In characters. Patterns of labels have `.*`, whose time grows with the square of the length."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")


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
    return sum(each.weight for each in weights if each.pattern.search(label))


def candidates_of(pages: PrintedPages, kind: ValueKind) -> list[FieldCandidate]:
    """All values of the kind, in the order of the page. They are looked for once."""
    kept = pages.candidates.get(kind.name)
    if kept is None:
        kept = pages.candidates[kind.name] = [found for row in pages.rows for found in _in_row(pages, row, kind)]
    return [each for each in kept if isinstance(each, FieldCandidate)]


def _in_row(pages: PrintedPages, row: PrintedRow, kind: ValueKind) -> Iterator[FieldCandidate]:
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
