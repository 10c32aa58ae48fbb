"""Looks at a page's pixels for what its lines don't tell: regions, ruled cells, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from time import perf_counter

import structlog

from inkgate.layout.evidence import CheckBox, Layout, PageEvidence, Region, TableGuess, TableModel
from inkgate.layout.regions.check_boxes import find_check_boxes
from inkgate.layout.regions.line_boxes import ink_quads
from inkgate.layout.regions.strokes import line_styles
from inkgate.layout.regions.text_figures import without_text
from inkgate.layout.tables.choice import boxes_to_ask
from inkgate.layout.tables.ruling import find_ruling
from inkgate.page import LineStyle, RgbArray
from inkgate_client.types import Box, Line

log = structlog.get_logger(__name__)


class PageAnalysis:
    """The layout model, the table model (None: there is none), and what is found without a model."""

    def __init__(self, layout: Layout, tables: TableModel | None = None) -> None:
        self.layout = layout
        self.tables = tables

    def look(self, rgb: RgbArray, scale: float, lines: Sequence[Line], *, parse: bool) -> PageEvidence:
        """What the upright page shows. Blocking; safe from many threads.

        Args:
            rgb: the page's pixels.
            scale: page pixels per pixel of `rgb`.
            lines: of the page, in page pixels.
            parse: Markdown is wanted. If not, only drawn lines are sought, which keep the lines of a cell together.
        """
        timings: dict[str, float] = {}
        regions: list[Region] | None = None
        tables: list[TableGuess] = []
        check_boxes: list[CheckBox] = []
        with _timed(timings, "ruling"):
            ruling = find_ruling(rgb).scaled(scale)
        with _timed(timings, "line_boxes"):
            quads = ink_quads(rgb, scale, lines)
            placed = PageEvidence(quads=quads).placed(lines)
        if parse:
            with _timed(timings, "layout"):
                found = [region.scaled(scale) for region in self.layout.find(rgb)]
                regions = without_text(found, rgb, scale, placed)
            if self.tables is not None:
                with _timed(timings, "tables"):
                    seen = PageEvidence(regions, ruling.cells, rules=ruling.rules)
                    tables = _guesses(self.tables, _PageImage(rgb, scale), boxes_to_ask(placed, seen))
            with _timed(timings, "check_boxes"):
                check_boxes = find_check_boxes(rgb, scale, lines)
        styles: list[LineStyle | None] = []
        if parse:
            with _timed(timings, "styles"):
                styles = line_styles(rgb, scale, lines)
        return PageEvidence(regions, ruling.cells, tables, check_boxes, styles, timings, quads, ruling.rules)


@dataclass(frozen=True, slots=True)
class _PageImage:
    """`scale`: page pixels per pixel of `rgb`."""

    rgb: RgbArray
    scale: float

    def cut(self, box: Box) -> tuple[RgbArray, float, float]:
        """The part in a box in pixels of the page, and its left and top there."""
        left, top = max(int(box[0] / self.scale), 0), max(int(box[1] / self.scale), 0)
        part = self.rgb[top : ceil(box[3] / self.scale), left : ceil(box[2] / self.scale)]
        return part, left * self.scale, top * self.scale


def _guesses(model: TableModel, page: _PageImage, boxes: Sequence[Box]) -> list[TableGuess]:
    """The model's tables in boxes of the page."""
    tables = []
    for box in boxes:
        part, left, top = page.cut(box)
        guess = _table_guess(model, part) if part.size else None
        if guess is not None:
            tables.append(guess.moved(page.scale, left, top))
    return tables


def _table_guess(model: TableModel, part: RgbArray) -> TableGuess | None:
    """The model's table; None if it fails, because the page can be read without it."""
    try:
        return model.find(part)
    except Exception as error:  # noqa: BLE001 - runtimes raise any exception; the border is one table
        log.warning("table_model_failed", reason=type(error).__name__, width=part.shape[1], height=part.shape[0])
        return None


@contextmanager
def _timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    started = perf_counter()
    yield
    timings[stage] = (perf_counter() - started) * 1000
