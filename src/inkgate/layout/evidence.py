"""What a page's pixels show beside its text, and the ports of the models that find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from inkgate.page import LineStyle, RgbArray
from inkgate_client.types import BlockType, Box, Line, Quad


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the page and its type.

    Attributes:
        box: in pixels of the model's input image.
        rank: its position in the reading order, from 0, if the layout model gives one.
        label: the model's own class name if it is more specific than `type`: `chart`, `seal`.
        rotation: degrees clockwise (0, 90, 180, 270) by which its pixels must be rotated to be upright.
    """

    type: BlockType
    box: Box
    confidence: float
    rank: int | None = None
    label: str = ""
    rotation: int = 0

    def scaled(self, factor: float) -> Region:
        """The same region in an image `factor` times as large."""
        left, top, right, bottom = self.box
        return replace(self, box=(left * factor, top * factor, right * factor, bottom * factor))


class Layout(Protocol):
    """Finds the regions of a page."""

    def find(self, pixels: RgbArray) -> list[Region]:
        """Regions of an upright page, best first; may overlap, may be empty. Blocking; safe from many threads."""
        ...


@dataclass(frozen=True, slots=True)
class CellGuess:
    """A cell of a table as its model sees it; `box` as in TableGuess."""

    row: int
    column: int
    row_span: int
    column_span: int
    box: Box
    header: bool = False

    def moved(self, factor: float, left: float, top: float) -> CellGuess:
        """The same cell in an image `factor` times as large, with the table's image at `left` and `top`."""
        x0, y0, x1, y1 = self.box
        return replace(self, box=(left + x0 * factor, top + y0 * factor, left + x1 * factor, top + y1 * factor))


@dataclass(frozen=True, slots=True)
class TableGuess:
    """The structure of a table as a model sees it. `box`: the part of the page that it looked at."""

    box: Box
    cells: tuple[CellGuess, ...]
    confidence: float

    def moved(self, factor: float, left: float, top: float) -> TableGuess:
        """The same table in an image `factor` times as large, with this one's image at `left` and `top`."""
        x0, y0, x1, y1 = self.box
        box = (left + x0 * factor, top + y0 * factor, left + x1 * factor, top + y1 * factor)
        return replace(self, box=box, cells=tuple(cell.moved(factor, left, top) for cell in self.cells))


class TableModel(Protocol):
    """Finds the cells of a table."""

    def find(self, pixels: RgbArray) -> TableGuess | None:
        """The cells of an image that shows one upright table, in its pixels; None if it sees none.

        Blocking; safe from many threads.
        """
        ...


@dataclass(frozen=True, slots=True)
class CheckBox:
    """A box to tick, in pixels of the page. `confidence`: that `checked` is right."""

    box: Box
    checked: bool
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What is known of a page beside its lines, in pixels of the page.

    Attributes:
        regions: of the layout model; None: it was not asked.
        cells: of ruled tables.
        tables: of the table model.
        styles: of the lines, in their order; empty if unknown.
        timings_ms: time spent to find this, by stage.
        quads: of the lines' ink (line_boxes.py), in their order, for arranging them; empty: as the lines say.
        rules: boxes of straight lines that are drawn on the page.
    """

    regions: Sequence[Region] | None = None
    cells: Sequence[Box] = ()
    tables: Sequence[TableGuess] = ()
    check_boxes: Sequence[CheckBox] = ()
    styles: Sequence[LineStyle | None] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    quads: Sequence[Quad] = ()
    rules: Sequence[Box] = ()

    def placed(self, lines: Sequence[Line]) -> Sequence[Line]:
        """The lines with `quads`."""
        if not self.quads:
            return lines
        return [replace(line, quad=quad) for line, quad in zip(lines, self.quads, strict=True)]


NO_EVIDENCE = PageEvidence()
