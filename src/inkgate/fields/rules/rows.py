"""A page as printed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from inkgate.fields.folded import rows_of
from inkgate.types import Box, PageResult


@dataclass(frozen=True, slots=True)
class RowCell:
    """A line of a row: its index in the page, text, box and confidence."""

    line: int
    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """The lines that stand beside each other, left to right; `number` counts all rows of the document from 0."""

    page: int
    number: int
    cells: tuple[RowCell, ...]

    @property
    def text(self) -> str:
        """Its cells, separated by a space."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(cell.line for cell in self.cells)


@dataclass(frozen=True, slots=True)
class PrintedPages:
    """All rows of a document. `unit`: median height of its lines in pixels, at least 1."""

    rows: tuple[PrintedRow, ...]
    unit: float

    @classmethod
    def of(cls, pages: Sequence[PageResult]) -> PrintedPages:
        """The rows of the pages, top to bottom."""
        rows: list[PrintedRow] = []
        heights: list[float] = []
        for page in pages:
            for indexes in rows_of(page.lines):
                lines = [page.lines[i] for i in indexes]
                heights += [line.box[3] - line.box[1] for line in lines]
                cells = (
                    RowCell(i, line.text, line.box, line.confidence) for i, line in zip(indexes, lines, strict=True)
                )
                rows.append(PrintedRow(page.index, len(rows), tuple(cells)))
        return cls(tuple(rows), max(1.0, median(heights)) if heights else 1.0)
