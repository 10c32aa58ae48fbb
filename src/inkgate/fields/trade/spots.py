"""Values on a page, and the texts around each that may be its label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from inkgate.fields.kinds.base import ParsedValue, ValueKind
from inkgate.fields.rules.candidates import is_word
from inkgate.fields.rules.rows import CellPart, PrintedPages, PrintedRow, RowCell, head_of
from inkgate.fields.trade.words import concepts_in
from inkgate_client.concurrency import pause
from inkgate_client.types import Box

LONGEST_CELL: Final = 300
"""Maximum length in characters. Longer lines are paragraphs; what stands behind is not looked at."""
_LABEL: Final = 48
"""Characters before a value in its line that may be its label: of a sentence only the end is."""
_ROWS_ABOVE: Final = 16
"""Rows between a value and the head of its column."""
RELATIONS: Final = ("near", "left", "head", "start", "behind")
"""Where a label may stand: before the value in its cell, or the next words left of it; the next words left of its cell;
above it; at the beginning of its row; behind it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A value of a kind, or a text, where it stands.

    Attributes:
        row, at: number of the row, and of the cell in it.
        start, end: in the cell's text.
        left, right: on the page, in pixels.
        value: None for a text.
    """

    page: int
    row: int
    at: int
    cell: RowCell
    start: int
    end: int
    left: float
    right: float
    value: ParsedValue | None = None

    @property
    def text(self) -> str:
        """The value as printed."""
        return self.cell.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a spot.

    Attributes:
        texts: by relation; empty where there is none.
        gap: from the words left of the value, in heights of a line.
        depth: rows up to the head.
        between: values between the words left of the value and the value.
    """

    texts: dict[str, str]
    gap: float
    depth: int
    between: int


@dataclass(frozen=True)
class Surroundings:
    """The printed pages with what is looked up in them often."""

    pages: PrintedPages

    @cached_property
    def extents(self) -> dict[int, Box]:
        """The box around the cells of each page."""
        found: dict[int, Box] = {}
        for page, rows in self.pages.by_page.items():
            boxes = [cell.box for row in rows for cell in row.cells]
            lefts, tops, rights, bottoms = zip(*boxes, strict=True)
            found[page] = (min(lefts), min(tops), max(rights), max(bottoms))
        return found

    @cached_property
    def _words(self) -> dict[tuple[int, int], bool]:
        return {}

    def is_words(self, row: PrintedRow, at: int) -> bool:
        """Whether the cell has words."""
        key = (row.number, at)
        if key not in self._words:
            self._words[key] = is_word(row.cells[at].text[:LONGEST_CELL])
        return self._words[key]

    def place(self, box: Box, page: int) -> tuple[float, float]:
        """Where the middle of a box is on the printed part of its page, each from 0 to 1."""
        left, top, right, bottom = self.extents[page]
        x = (box[0] + box[2]) / 2 - left
        y = (box[1] + box[3]) / 2 - top
        return x / max(1.0, right - left), y / max(1.0, bottom - top)

    def around(self, spot: Spot, before: str | None = None) -> Around:
        """The texts around a spot. `before`: what stands before it in its cell, if that is known better."""
        pause()
        row = self.pages.rows[spot.row]
        own = (spot.cell.text[: spot.start] if before is None else before)[-_LABEL:]
        has_own = is_word(own)
        left, gap, between = self._left(row, spot)
        head, depth = self._head(row, spot)
        first = next((at for at in range(spot.at) if self.is_words(row, at)), None)
        texts = {
            "near": own if has_own else left,
            "left": left,
            "head": head,
            "start": "" if first is None else row.cells[first].text[:LONGEST_CELL],
            "behind": spot.cell.text[spot.end : spot.end + LONGEST_CELL],
        }
        return Around(texts, 0.0 if has_own else gap, depth, 0 if has_own else between)

    def _left(self, row: PrintedRow, spot: Spot) -> tuple[str, float, int]:
        between = 0
        for at in range(spot.at - 1, -1, -1):
            cell = row.cells[at]
            if self.is_words(row, at):
                return cell.text[:LONGEST_CELL], (spot.left - cell.box[2]) / self.pages.unit, between
            between += 1
        return "", 99.0, between

    def _head(self, row: PrintedRow, spot: Spot) -> tuple[str, int]:
        """The next words above, and how many rows above they stand."""
        for depth, number in enumerate(range(row.number - 1, max(-1, row.number - 1 - _ROWS_ABOVE), -1), 1):
            above = self.pages.rows[number]
            if above.page != row.page:
                break
            over = [at for at, each in enumerate(above.cells) if each.box[0] < spot.right and spot.left < each.box[2]]
            best = min(over, key=lambda at: abs(sum(above.cells[at].box[::2]) - spot.left - spot.right), default=None)
            if best is not None and self.is_words(above, best):
                return head_of(spot.cell, row, above.cells[best])[:LONGEST_CELL], depth
        return "", _ROWS_ABOVE + 1


def spots_of(pages: PrintedPages, kind: ValueKind) -> list[Spot]:
    """All values of the kind, in the order of the page."""
    return [spot for row in pages.rows for spot in _in_row(row, kind)]


def _in_row(row: PrintedRow, kind: ValueKind) -> Iterator[Spot]:
    pause()
    for at, cell in enumerate(row.cells):
        if values := kind.find(cell.text[:LONGEST_CELL]):
            parts = cell.parts()
            for value in values:
                yield spot_at(row, at, value.start, value.end, parts, value)


def spot_at(
    row: PrintedRow, at: int, start: int, end: int, parts: Sequence[CellPart], value: ParsedValue | None = None
) -> Spot:
    """A part of a cell, with its place by the words of the cell. `parts`: of the cell."""
    cell = row.cells[at]
    left, right = cell.box[0], cell.box[2]
    if start > 0 or end < len(cell.text.rstrip()):
        inside = [part for part in parts if part.start < end and start < part.end]
        if inside:
            left, right = inside[0].left, inside[-1].right
    return Spot(row.page, row.number, at, cell, start, end, left, right, value)


def label_measures(around: Around, concepts: Sequence[str]) -> list[float]:
    """How much each text around a value names each concept: by relation, then by concept."""
    found: list[float] = []
    for relation in RELATIONS:
        text = around.texts[relation]
        named = concepts_in(text) if text else {}
        found += [named.get(concept, 0.0) for concept in concepts]
    return found


def label_names(concepts: Sequence[str]) -> tuple[str, ...]:
    """Names of these measures."""
    return tuple(f"{relation}_{concept}" for relation in RELATIONS for concept in concepts)


def before_in_cell(spot: Spot, others: Sequence[Spot]) -> str:
    """What stands before a spot in its cell, behind the last of the `others` there."""
    ends = [each.end for each in others if each.row == spot.row and each.at == spot.at and each.end <= spot.start]
    return spot.cell.text[max(ends, default=0) : spot.start]
