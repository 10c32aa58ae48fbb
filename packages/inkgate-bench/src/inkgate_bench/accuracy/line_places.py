"""Where the lines of the truth stand in Markdown. Pure.

A line has a place if it can be told from all others: it is found as a line of its own, else as letters that stand once
in both texts, else by likeness, first between the lines before and after it. Lines may be joined or cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from inkgate_bench.accuracy.markdown_flow import MarkdownFlow
from inkgate_bench.accuracy.metrics import is_spaceless

MIN_LINE = 2
"""Letters of a line that may be found as a line of its own; a letter of a script without spaces counts double."""
MIN_UNIQUE = 4
"""Letters of a line that may be found among the letters of the Markdown."""
MIN_LIKE = 8
"""Letters of a line that may be found by likeness."""
ALIKE = 80
"""Similarity (rapidfuzz's partial ratio, of 100) from which a part of the Markdown is a line."""
MAX_SOUGHT = 300
"""Lines sought in the whole Markdown by likeness: bounds the time of a page that was read badly."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LinePlaces:
    """Start and end of each line among the letters of the Markdown, None if it has no place.

    `doubled`: numbers of lines whose letters stand more often in the Markdown than in the truth.
    """

    spans: tuple[Span | None, ...]
    doubled: tuple[int, ...]


def place_lines(lines: Sequence[str], flow: MarkdownFlow) -> LinePlaces:
    """The places of lines, given as `reduced` text in their order. Lines that stand twice in the truth have none."""
    search = _Search(lines, flow)
    search.whole_lines()
    search.unique_letters()
    search.between_neighbours()
    search.anywhere()
    return LinePlaces(tuple(search.spans), tuple(search.doubled))


def _weight(text: str) -> int:
    return sum(2 if is_spaceless(letter) else 1 for letter in text)


class _Search:
    """The letters of the Markdown, of which each is given to one line at most."""

    def __init__(self, lines: Sequence[str], flow: MarkdownFlow) -> None:
        self.lines = lines
        self.spans: list[Span | None] = [None] * len(lines)
        self.doubled: list[int] = []
        self._flow = flow
        self._rest = flow.letters
        self._weights = [_weight(line) for line in lines]
        self._times = Counter(lines)

    def _take(self, number: int, start: int, end: int) -> None:
        self.spans[number] = (start, end)
        self._rest = self._rest[:start] + "\0" * (end - start) + self._rest[end:]

    def _missing(self, weight: int) -> list[int]:
        return [
            number
            for number, span in enumerate(self.spans)
            if span is None and self._weights[number] >= weight and self._times[self.lines[number]] == 1
        ]

    def whole_lines(self) -> None:
        """Finds lines that are lines of the Markdown, too."""
        letters = self._flow.letters
        found: dict[str, list[Span]] = {}
        for start, end in self._flow.lines:
            found.setdefault(letters[start:end], []).append((start, end))
        for number in self._missing(MIN_LINE):
            spans = found.get(self.lines[number], [])
            if len(spans) == 1:
                self._take(number, *spans[0])

    def unique_letters(self) -> None:
        """Finds lines whose letters stand once in the truth, and once in what is left of the Markdown."""
        truth = "\0".join(self.lines)
        for number in sorted(self._missing(MIN_UNIQUE), key=lambda number: -len(self.lines[number])):
            line = self.lines[number]
            if truth.count(line) > 1:
                continue
            start = self._rest.find(line)
            if start >= 0 and self._rest.find(line, start + 1) < 0:
                self._take(number, start, start + len(line))
        joined = "".join(self.lines)
        for number, line in enumerate(self.lines):
            known = self._times[line] == 1 and self._weights[number] >= MIN_LIKE
            if known and self._flow.letters.count(line) > joined.count(line):
                self.doubled.append(number)

    def between_neighbours(self) -> None:
        """Finds lines by likeness between the lines before and after them."""
        for number in self._missing(MIN_LIKE):
            before = next((span for span in reversed(self.spans[:number]) if span is not None), (0, 0))
            after = next((span for span in self.spans[number + 1 :] if span is not None), (len(self._rest), 0))
            if before[1] < after[0]:
                self._like(number, before[1], min(after[0], before[1] + 6 * len(self.lines[number])))

    def anywhere(self) -> None:
        """Finds lines by likeness in all that is left, long ones first."""
        for number in sorted(self._missing(MIN_LIKE), key=lambda number: -len(self.lines[number]))[:MAX_SOUGHT]:
            self._like(number, 0, len(self._rest))

    def _like(self, number: int, start: int, end: int) -> None:
        line, text = self.lines[number], self._rest[start:end]
        if len(text) < 0.8 * len(line):
            return
        if len(text) <= len(line):
            if fuzz.ratio(line, text) >= ALIKE:
                self._take(number, start, end)
            return
        found = fuzz.partial_ratio_alignment(line, text, score_cutoff=ALIKE)
        if found is not None and found.dest_end > found.dest_start:
            self._take(number, start + found.dest_start, start + found.dest_end)
