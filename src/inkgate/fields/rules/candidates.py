"""Candidates: values of a kind with what stands around them, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inkgate.fields.kinds.base import ParsedValue, ValueKind
from inkgate.fields.rules.rows import PrintedPages, PrintedRow
from inkgate_client.concurrency import pause

LONGEST_LABEL = 200
"""Maximum length of a label in characters. Patterns of labels have `.*`, whose time grows with the square of the
length."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_][.]?[^\W\d_]")
"""A word, or an abbreviation such as I.V.A."""
_CURRENCY = re.compile(
    r"\b(?:eur|usd|gbp|chf|brl|cad|aud|rm|myr|euros?|czk|pln|sek|nok|dkk|kr|s?fr|rs|inr|jpy|cny|rmb|sgd|hkd|kč|zł)\b"
    r"|[€$£¥￥₹円元%]|人民币",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FieldCandidate:
    """A value that may be a field's.

    Attributes:
        text: as printed; over several lines, separated by spaces.
        row: number of its (first) row.
        lines: indexes of its lines in the page.
        label: what stands before it on its row, or on the row above if that has no value of its own.
        value: None for text.
        reading: of several that the text has, the one that the document means: a date in ISO 8601, or the code of
            a currency; empty if nothing tells.
        parts: printed numbers whose sum it is, where it isn't printed itself.
    """

    text: str
    page: int
    row: int
    lines: tuple[int, ...]
    label: str = ""
    value: ParsedValue | None = None
    score: float = 0.0
    reading: str = ""
    parts: tuple[FieldCandidate, ...] = ()


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
