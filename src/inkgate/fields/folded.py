"""A page's text without what readers overlook: case, width, spaces and punctuation."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from inkgate.fields.kinds.base import ParsedValue, ValueKind
from inkgate_client.concurrency import pause
from inkgate_client.types import Box, Line, PageResult

_NO_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}
"""What `fold` leaves out of ASCII."""


def fold(text: str) -> str:
    """Letters and digits only, in compatibility form and lower case."""
    if text.isascii():  # most of it; ten times as fast
        return text.lower().translate(_NO_LETTERS)
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def parts_of(text: str) -> tuple[str, set[int]]:
    """The folded text, and the places in it where something else stood: before them a word ends."""
    letters: list[str] = []
    breaks = {0}
    for character in unicodedata.normalize("NFKC", text).casefold():
        if character.isalnum():
            letters.append(character)
        else:
            breaks.add(len(letters))
    return "".join(letters), breaks | {len(letters)}


def glue(before: str, behind: str) -> str:
    """What joins two lines of a text: nothing if one of them is Chinese where they meet, else a space."""
    near = before[-12:] + behind[:12]
    return "" if any("\u2e80" <= letter <= "\ufaff" for letter in near) else " "


Place = tuple[int, ParsedValue]
"""A line's index and a value in it."""


@dataclass(frozen=True, slots=True)
class FoldedPage:
    """The lines of a page row by row, as one folded text.

    Attributes:
        page: index of the page in its document.
        lines: of the page.
        order: indexes of the lines, row by row and left to right.
        text: folded, without anything between lines.
        starts: of each line of `order` in `text`.
        breaks: places in `text` before which a word or a line ends.
        folded: the text of each of `lines`, folded.
    """

    page: int
    lines: tuple[Line, ...]
    order: tuple[int, ...]
    text: str
    starts: tuple[int, ...]
    breaks: frozenset[int]
    folded: tuple[str, ...]
    _values: dict[str, dict[Hashable, list[Place]]] = field(default_factory=dict, compare=False, repr=False)
    _near: dict[int, list[int]] = field(default_factory=dict, compare=False, repr=False)
    _leading: dict[int, Sequence[int]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, page: PageResult) -> FoldedPage:
        """The page's text. Lines whose middles differ by less than half of the lower one's height share a row."""
        pause()
        order = [index for row in rows_of(page.lines) for index in row]
        folded, starts, breaks, at = [""] * len(order), [], set[int](), 0
        for index in order:
            folded[index], own = parts_of(page.lines[index].text)
            breaks.update(at + each for each in own)
            starts.append(at)
            at += len(folded[index])
        text = "".join(folded[index] for index in order)
        return cls(page.index, page.lines, tuple(order), text, tuple(starts), frozenset(breaks), tuple(folded))

    def lines_at(self, start: int, end: int) -> tuple[int, ...]:
        """Indexes of the lines that hold the folded characters from `start` to `end`, in the order of rows."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, max(start, end - 1)) - 1
        return tuple(self.order[at] for at in range(first, last + 1) if self.folded[self.order[at]])

    def line_starts_within(self, start: int, end: int) -> Sequence[int]:
        """Returns where lines begin between the folded characters `start` and `end`."""
        return self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)]

    def values(self, kind: ValueKind) -> Mapping[Hashable, list[Place]]:
        """The values of a kind by their readings, in the order of the page. Each line is searched once."""
        if kind.name not in self._values:
            found: dict[Hashable, list[Place]] = {}
            for index in self.order:
                pause()
                for value in kind.find(self.lines[index].text):
                    for reading in value.readings:
                        found.setdefault(reading, []).append((index, value))
            self._values[kind.name] = found
        return self._values[kind.name]

    def leading(self, index: int) -> Sequence[int]:
        """Lines left of a line on its row, or directly above it, from the right to the left."""
        if index not in self._leading:
            box = self.lines[index].box
            leads = [at for at in self._at_height(box) if at != index and _leads_to(self.lines[at].box, box)]
            self._leading[index] = sorted(leads, key=lambda at: (-self.lines[at].box[0], at))[:_MAX_NEAR]
        return self._leading[index]

    def _at_height(self, box: Box) -> set[int]:
        """Some of the lines that may stand beside or above."""
        if not self._near:
            for other, line in enumerate(self.lines):
                for band in _bands(line.box[1], line.box[3]):
                    self._near.setdefault(band, []).append(other)
        bands = _bands(box[1] - (box[3] - box[1]), box[3])
        return {other for band in bands for other in self._near.get(band, ())[:_MAX_NEAR]}


_BAND = 16
"""Height in pixels of the bands that lines are looked up in."""
_MAX_BANDS, _MAX_NEAR = 64, 100
"""Bands of a line, and lines of a band, that are looked at: hostile pages have thousands at one place."""


def _bands(top: float, bottom: float) -> range:
    first = int(top // _BAND)
    return range(first, min(int(bottom // _BAND), first + _MAX_BANDS) + 1)


def _leads_to(label: Box, value: Box) -> bool:
    """Whether a label stands left of the value on its row, or directly above it."""
    height = value[3] - value[1]
    beside = abs((label[1] + label[3]) - (value[1] + value[3])) < height and label[2] <= value[0] + height
    above = 0 <= value[1] - label[3] < height and label[0] < value[2] and value[0] < label[2]
    return beside or above


def box_around(boxes: Sequence[Box]) -> Box:
    """The box around boxes; at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def rows_of(lines: Sequence[Line]) -> list[list[int]]:
    """Indexes of the lines, row by row and left to right."""
    boxes = [line.box for line in lines]
    waiting = sorted(range(len(lines)), key=lambda i: (boxes[i][1] + boxes[i][3], boxes[i][0]))
    rows: list[list[int]] = []
    for index in waiting:
        if rows and _beside(boxes[rows[-1][0]], boxes[index]):
            rows[-1].append(index)
        else:
            rows.append([index])
    return [sorted(row, key=lambda i: boxes[i][0]) for row in rows]


def _beside(a: Box, b: Box) -> bool:
    middle = abs((a[1] + a[3]) - (b[1] + b[3])) / 2
    return middle < 0.5 * min(a[3] - a[1], b[3] - b[1])
