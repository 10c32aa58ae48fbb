"""Detects an answer in which the model repeats itself: a text whose tail repeats.

Vision-language models sometimes get stuck and repeat a word, a line or a row of cells until their token limit. Real
pages repeat too (dotted leaders, ruled lines, empty cells, a sheet of labels), so the threshold depends on what is
repeated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CELL = re.compile(r"<(?:td|th|fcel|ecel|lcel|ucel|xcel)\b|\|")
_ROW_END = re.compile(r"</tr>|<nl>|\n")
_CHECK_EVERY = 256
"""Characters from one check to the next: 60 to 100 tokens of Latin text. A check takes a few microseconds."""


@dataclass(frozen=True, slots=True)
class RepetitionLimits:
    """How much repetition is accepted as the page's own. A span is in characters.

    Attributes:
        repeats: fewer repetitions are never a loop, whatever their span.
        run_span: of something repeated within one line: leaders, ruled lines.
        line_span: of whole lines with letters or digits. HunyuanOCR's own client uses 4,000; a sheet of 30 labels has
            about 3,000.
        blank_span: of whole lines without letters or digits: a form's ruled lines.
        cells: number of equal cells in one row of a table.
        rows: number of equal rows of a table; a page has room for about 100.
        table_span: of equal rows, however few.
        max_unit: length of the longest unit that is searched for.
    """

    repeats: int = 8
    run_span: int = 2000
    line_span: int = 4000
    blank_span: int = 10_000
    cells: int = 150
    rows: int = 150
    table_span: int = 16_000
    max_unit: int = 2000

    def is_over(self, unit: str, span: int) -> bool:
        """Whether `span` characters that repeat `unit` are too many."""
        count = span // len(unit)
        if count < self.repeats:
            return False
        # A unit may start anywhere in the repeated text: doubled, it shows the tokens that its ends cut.
        seen = unit + unit
        ends_rows = _ROW_END.search(seen) is not None
        if _CELL.search(seen):
            return count >= (self.rows if ends_rows else self.cells) or span >= self.table_span
        if not ends_rows:
            return span >= self.run_span
        return span >= (self.line_span if any(sign.isalnum() for sign in unit) else self.blank_span)

    @property
    def window(self) -> int:
        """Number of characters of the tail that the check needs."""
        return max(self.table_span, self.blank_span, self.rows * 40) + self.max_unit + _CHECK_EVERY


@dataclass(frozen=True, slots=True)
class RepeatedTail:
    """A tail that repeats.

    Attributes:
        unit: the repeated text.
        count: number of repetitions within the window.
        start: position of the first of these in the text.
    """

    unit: str
    count: int
    start: int


class RunawayGuard:
    """Checks one answer as it streams."""

    def __init__(self, patience: RepetitionLimits | None = None) -> None:
        self._patience = patience or RepetitionLimits()
        self._tail = ""
        self._fresh: list[str] = []
        self._fresh_length = 0
        self._dropped = 0

    def feed(self, text: str) -> RepeatedTail | None:
        """Takes the next piece of the answer; returns the repetition, if there is one.

        Checks only every few hundred characters, so that the cost per token is negligible.
        """
        self._fresh.append(text)
        self._fresh_length += len(text)
        return self.look() if self._fresh_length >= _CHECK_EVERY else None

    def look(self) -> RepeatedTail | None:
        """The repetition at the end of the text so far, if there is one."""
        self._tail += "".join(self._fresh)
        self._fresh.clear()
        self._fresh_length = 0
        surplus = len(self._tail) - self._patience.window
        if surplus > 0:
            self._tail = self._tail[surplus:]
            self._dropped += surplus
        found = repeating_tail(self._tail, self._patience)
        if found is None:
            return None
        unit, span = found
        begin = len(self._tail) - span
        return RepeatedTail(self._tail[begin : begin + unit], span // unit, self._dropped + begin)


def repeating_tail(text: str, patience: RepetitionLimits) -> tuple[int, int] | None:
    """The smallest unit whose repetition at the end of `text` is over `patience`: its length, and the repeated span.

    Finds the last earlier occurrence of the last characters: its distance is the period of the text, back to where the
    two differ. If that span is too small, the search continues with just enough characters to break that period. If the
    tail has a longer period, its own repetition begins there (Fine and Wilf: two periods coexist over at most the sum
    of both), so nothing is missed, and the lengths tried grow at least as Fibonacci's numbers.
    """
    end = len(text)
    length = 1
    while length <= 2 * patience.max_unit and length < end:
        at = text.rfind(text[end - length :], max(0, end - length - patience.max_unit), end - 1)
        if at < 0:
            return None
        unit = end - length - at
        span = unit + _alike(text, unit, length)
        if patience.is_over(text[end - unit :], span):
            return unit, span
        length = span + 1
    return None


def _alike(text: str, distance: int, known: int) -> int:
    """Number of characters at the end that equal those `distance` before them; at least `known` do."""
    end = len(text)
    low, high = known, end - distance
    while low < high:  # compares slices, at the speed of memory
        middle = (low + high + 1) // 2
        if text[end - middle : end - low] == text[end - middle - distance : end - low - distance]:
            low = middle
        else:
            high = middle - 1
    return low
