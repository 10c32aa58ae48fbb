"""A page as printed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from inkgate.fields.folded import rows_of
from inkgate_client.concurrency import pause
from inkgate_client.types import Box, Line, PageResult, Word, box_of_quad


@dataclass(frozen=True, slots=True)
class CellPart:
    """A word of a cell: from `start` to `end` of its text, from `left` to `right` on the page."""

    start: int
    end: int
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class RowCell:
    """A line of a row: its index in the page, text, box, confidence, and words with their places."""

    line: int
    text: str
    box: Box
    confidence: float
    words: tuple[Word, ...] = ()

    def parts(self) -> list[CellPart]:
        """Splits the cell into words, with where they are: as the line has them, else as wide as their share of its
        letters.
        """
        found, at = [], 0
        placed = self.words if [word.text for word in self.words] == self.text.split() else ()
        left, _, right, _ = self.box
        width = (right - left) / max(1, len(self.text))
        for number, text in enumerate(self.text.split()):
            start = self.text.index(text, at)
            at = start + len(text)
            box = box_of_quad(placed[number].quad) if placed else (left + start * width, 0.0, left + at * width, 0.0)
            found.append(CellPart(start, at, box[0], box[2]))
        return found


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """The lines that stand beside each other, left to right; `number` counts all rows of the document from 0."""

    page: int
    number: int
    cells: tuple[RowCell, ...]

    @property
    def text(self) -> str:
        """The row's cells, separated by a space."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(cell.line for cell in self.cells)


@dataclass(frozen=True, slots=True)
class PrintedPages:
    """All rows of a document.

    Attributes:
        unit: median height of its lines in pixels, at least 1.
        slopes: by page, by how much its lines fall for each pixel to the right: photographs are not level.
        candidates: what was found until now, by the names of kinds; see `candidates_of`.
        by_page: the rows by their page.
    """

    rows: tuple[PrintedRow, ...]
    unit: float
    slopes: Mapping[int, float] = field(default_factory=dict)
    candidates: dict[str, Sequence[object]] = field(default_factory=dict, init=False, compare=False, repr=False)
    by_page: dict[int, list[PrintedRow]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for row in self.rows:
            self.by_page.setdefault(row.page, []).append(row)

    @classmethod
    def of(cls, pages: Sequence[PageResult]) -> PrintedPages:
        """The rows of the pages, top to bottom."""
        rows: list[PrintedRow] = []
        heights: list[float] = []
        slopes: dict[int, float] = {}
        for page in pages:
            pause()
            slopes[page.index] = slope_of(page.lines)
            for indexes in rows_of(page.lines):
                lines = [page.lines[i] for i in indexes]
                heights += [line.box[3] - line.box[1] for line in lines]
                cells = (
                    RowCell(i, line.text, line.box, line.confidence, line.words)
                    for i, line in zip(indexes, lines, strict=True)
                )
                rows.append(PrintedRow(page.index, len(rows), tuple(cells)))
        return cls(tuple(rows), max(1.0, median(heights)) if heights else 1.0, slopes)

    def levelled(self, page: int) -> PrintedPages:
        """The rows of a page as they are once it is level. Boxes move up or down by that."""
        slope = self.slopes.get(page, 0.0)
        cells = [_levelled(cell, slope) for row in self.by_page.get(page, ()) for cell in row.cells]
        rows: list[list[RowCell]] = []
        for cell in sorted(cells, key=lambda cell: (cell.box[1] + cell.box[3], cell.box[0])):
            if rows and _is_beside(rows[-1][0].box, cell.box):
                rows[-1].append(cell)
            else:
                rows.append([cell])
        in_order = (tuple(sorted(row, key=lambda cell: cell.box[0])) for row in rows)
        return PrintedPages(tuple(PrintedRow(page, at, row) for at, row in enumerate(in_order)), self.unit)

    def level(self) -> PrintedPages | None:
        """All rows, those of turned pages as they are once these are level; None if no page is turned."""
        if all(abs(slope) < _TURNED for slope in self.slopes.values()):
            return None
        printed = {(row.page, cell.line): cell for row in self.rows for cell in row.cells}
        rows: list[PrintedRow] = []
        for page in self.by_page:
            for row in self.levelled(page).rows:
                rows.append(PrintedRow(page, len(rows), tuple(printed[page, index] for index in row.lines)))
        return PrintedPages(tuple(rows), self.unit, self.slopes)


def head_of(cell: RowCell, row: PrintedRow, above: RowCell) -> str:
    """What a cell above says about one of the row: all of its text, or a part if it stands above several.

    Narrow columns have heads that are read as one line. Each word of it belongs to the cell whose edge it follows: the
    left one, if the heads begin where the columns do, else the right one.
    """
    below = [each for each in row.cells if each.box[0] < above.box[2] and above.box[0] < each.box[2]]
    if len(below) <= 1:
        return above.text
    slack = (above.box[3] - above.box[1]) / 2
    from_left = abs(below[0].box[0] - above.box[0]) <= slack
    kept = []
    for part in above.parts():
        if from_left:
            owner = next((each for each in reversed(below) if each.box[0] <= part.left + slack), below[0])
        else:
            owner = next((each for each in below if each.box[2] >= part.right - slack), below[-1])
        if owner is cell:
            kept.append(part)
    return above.text[kept[0].start : kept[-1].end] if kept else ""


_TURNED: Final = 0.005
"""Slope from which lines of one row may stand as far apart in height as rows do."""
_LONG: Final = 4
"""Widths of a line, in heights, from which its slope can be told."""
_STEEP: Final = 0.2
"""Lines that fall or rise more are turned on purpose."""


def slope_of(lines: Sequence[Line]) -> float:
    """The median slope of the long lines of a page; 0 without any."""
    slopes = []
    for line in lines:
        (left, top), (right, other), _, (_, bottom) = line.quad
        if right - left > _LONG * max(1.0, bottom - top):
            slopes.append((other - top) / (right - left))
    level = [slope for slope in slopes if abs(slope) < _STEEP]
    return median(level) if level else 0.0


def _levelled(cell: RowCell, slope: float) -> RowCell:
    """The cell once the page is level: with the height of its text, not of the box around slanted text."""
    left, top, right, bottom = cell.box
    shift, slant = slope * (left + right) / 2, abs(slope) * (right - left) / 2
    slant = min(slant, (bottom - top) / 3)
    return replace(cell, box=(left, top - shift + slant, right, bottom - shift - slant))


def _is_beside(first: Box, other: Box) -> bool:
    apart = abs((first[1] + first[3]) - (other[1] + other[3])) / 2
    return apart < 0.5 * min(first[3] - first[1], other[3] - other[1])
