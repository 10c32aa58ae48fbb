"""Divides parts that are larger than a chunk: running text between sentences or words, tables between rows. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from inkgate_client.escape import at_beginning

Fits = Callable[[str], bool]
_LONGEST_WHOLE = 300
"""Characters of a link, formula or emphasis that is kept in one piece."""
_ONE_PIECE = re.compile(
    r"!?\[[^\]\n]{0,300}\]\([^()\s]{0,300}\)|<[^<>\n]{0,300}>|\$[^$\n]{1,300}\$|`[^`\n]{1,300}`"
    r"|\*{1,3}[^*\n]{1,300}\*{1,3}"
)
"""Bounded: marks without an end would each be searched to the end of the text."""
_WORDS = r"[\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_GAP = re.compile(
    rf"[^\S\u00a0\u2007\u202f]+|(?<={_WORDS})(?=[{_WORDS[1:-1]}（《「『【〈])|(?<=[。！？；，、：）》」』】〉])(?={_WORDS})"
)
"""White space, and between characters of scripts that have none: not before their closing punctuation."""
_SENTENCE_ENDS = re.compile(r"[.!?…]+[\"'”’»)\]*_]*$|[。！？][”’」』）]*$")
_PARAGRAPH, _ROW, _SENTENCE, _WORD = 4, 3, 2, 1
_BEFORE = 8
"""Characters before a gap that tell whether a sentence ends there."""


class Division(Protocol):
    """A part that is taken piece by piece."""

    @property
    def done(self) -> bool: ...

    def take(self, fits: Fits, *, forced: bool = False) -> str:
        """The next piece, as long as it fits; empty if none does. `forced`: the smallest one then."""
        ...


class RunningText:
    """Text that is divided between paragraphs, lines, sentences or words, the first of these that is near the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._inside_line = False
        self._next = 0
        self._gaps = [*_gaps(text), (len(text), len(text), _PARAGRAPH)]

    @property
    def done(self) -> bool:
        return self._at >= len(self._text)

    def take(self, fits: Fits, *, forced: bool = False) -> str:
        last = _last_fitting(self._next, len(self._gaps), lambda gap: fits(self._piece(gap)))
        if last is None:
            if not forced:
                return ""
            last = self._next
        chosen = self._chosen(last)
        piece = self._piece(chosen)
        _, self._at, strength = self._gaps[chosen]
        self._inside_line = strength <= _SENTENCE
        self._next = chosen + 1
        return piece

    def _piece(self, gap: int) -> str:
        piece = self._text[self._at : self._gaps[gap][0]]
        return at_beginning(piece) if self._inside_line else piece

    def _chosen(self, last: int) -> int:
        """The best gap of the second half of the longest piece."""
        if last == len(self._gaps) - 1:
            return last
        half = (self._at + self._gaps[last][0]) // 2
        near = [gap for gap in range(last, self._next - 1, -1) if self._gaps[gap][0] >= half]
        return max(near, key=lambda gap: (self._gaps[gap][2], gap))


def last_words(text: str, fits: Fits) -> str:
    """The longest end of `text` that fits, from the start of a sentence if one is in it, else of a word."""
    gaps = list(_gaps(text))[::-1]
    last = _last_fitting(0, len(gaps), lambda gap: fits(text[gaps[gap][1] :]))
    if last is None:
        return ""
    sentence = next((gap for gap in range(last, -1, -1) if gaps[gap][2] >= _SENTENCE), last)
    return text[gaps[sentence][1] :]


def _gaps(text: str) -> list[tuple[int, int, int]]:
    """Places where the text may be cut: where they begin and end, and how good they are."""
    whole = [found.span() for found in _ONE_PIECE.finditer(text) if found.end() - found.start() <= _LONGEST_WHOLE]
    ends = [end for _, end in whole]
    gaps = []
    for found in _GAP.finditer(text):
        start, end = found.span()
        piece = bisect_left(ends, end)
        if start == 0 or end == len(text) or (piece < len(whole) and whole[piece][0] < start and end < whole[piece][1]):
            continue
        breaks = found[0].count("\n")
        if breaks:
            strength = _PARAGRAPH if breaks > 1 else _ROW
        else:
            strength = _SENTENCE if _SENTENCE_ENDS.search(text[max(0, start - _BEFORE) : start]) else _WORD
        gaps.append((start, end, strength))
    return gaps


def _last_fitting(first: int, count: int, fits: Callable[[int], bool]) -> int | None:
    """The last of `first` to `count` - 1 that fits, where each one before it fits, too; None if there is none. It looks
    at few: a text may be much longer than a chunk.
    """
    if first >= count or not fits(first):
        return None
    step, good = 1, first
    while good + step < count and fits(good + step):
        good += step
        step *= 2
    bad = min(good + step, count)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


@dataclass(frozen=True, slots=True)
class Rows:
    """A table, or code, in rows.

    Attributes:
        form: how it is written; parts of one table in two forms can't be joined.
        opening, closing: what each piece begins and ends with.
        headers: rows that each piece begins with, after `opening`.
        after_headers: stands between these and the other rows.
        rows: the others; rows that a cell spans are one.
    """

    form: str
    opening: str
    headers: tuple[str, ...]
    after_headers: str
    rows: tuple[str, ...]
    closing: str
    between: str = ""

    def text(self, rows: tuple[str, ...]) -> str:
        head = f"{self.opening}{self.between.join(self.headers)}{self.after_headers}"
        return f"{head}{self.between.join(rows)}{self.closing}"

    def continued(self, later: Rows) -> Rows | None:
        """The rows of the part of this table on the next page, with the headers of this one, without those that it
        repeats; None if it is written in another way.
        """
        if self.form != later.form:
            return None
        repeated = later.headers == self.headers
        return replace(self, rows=later.rows if repeated else (*later.headers, *later.rows))


class DividedRows:
    """A table that is divided between rows. Its headers begin each piece."""

    def __init__(self, table: Rows) -> None:
        self.table = table
        self._at = 0
        self.taken: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return self._at >= len(self.table.rows)

    def take(self, fits: Fits, *, forced: bool = False) -> str:
        """As Division says. `taken` has its rows."""
        table = self.table
        last = _last_fitting(self._at, len(table.rows), lambda row: fits(table.text(table.rows[self._at : row + 1])))
        if last is None:
            if not forced:
                return ""
            last = self._at
        self.taken = table.rows[self._at : last + 1]
        self._at = last + 1
        return table.text(self.taken)


_TABLE = re.compile(r"(<table\b[^>]*>)(.*)</table>", re.DOTALL)
_TABLE_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_WRAPPER = re.compile(r"</?(?:thead|tbody|tfoot)\b[^>]*>")
_ROW_SPAN = re.compile(r"\browspan=\"?(\d{1,4})")
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")


def rows_of(text: str) -> Rows | None:
    """The rows of a table (pipes or HTML) or of code; None for other Markdown, and for tables in other forms."""
    if text.startswith("|"):
        lines = text.split("\n")
        if len(lines) < 2 or not _RULE.fullmatch(lines[1]):
            return None
        return Rows("|", "", (lines[0],), f"\n{lines[1]}\n", tuple(lines[2:]), "", "\n")
    if text.startswith("```"):
        first, *lines = text.split("\n")
        return Rows("`", f"{first}\n", (), "", tuple(lines[:-1]), f"\n{lines[-1]}", "\n") if len(lines) > 1 else None
    return _html_rows(text)


def _html_rows(text: str) -> Rows | None:
    table = _TABLE.fullmatch(text)
    if table is None or "<table" in table[2]:
        return None
    rows = _TABLE_ROW.findall(table[2])
    if _WRAPPER.sub("", _TABLE_ROW.sub("", table[2])).strip():
        return None  # a caption, or what is no table
    bound = _bound(rows)
    head = 0
    while head < len(bound) and "<th" in bound[head] and "<td" not in bound[head]:
        head += 1
    opening, after = (f"{table[1]}<thead>", "</thead><tbody>") if head else (f"{table[1]}<tbody>", "")
    return Rows(table[1], opening, tuple(bound[:head]), after, tuple(bound[head:]), "</tbody></table>")


def _bound(rows: list[str]) -> list[str]:
    """The rows, with those that a cell spans as one."""
    bound: list[str] = []
    until = 0
    for number, row in enumerate(rows):
        if number < until:
            bound[-1] += row
        else:
            bound.append(row)
        until = max([until, *(number + int(span) for span in _ROW_SPAN.findall(row))])
    return bound
