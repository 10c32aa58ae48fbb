"""Figures of the layout model that are text: a form stays on the page, a photograph and a chart stay figures."""

from __future__ import annotations

import cv2
import numpy as np

from inkgate.layout.evidence import Region
from inkgate.layout.regions.text_figures import without_text
from inkgate.page import RgbArray
from inkgate_client.coordinates import quad_of
from inkgate_client.types import BlockType, Line

FIGURE = Region(BlockType.FIGURE, (80.0, 80.0, 720.0, 720.0), 0.9)
TEXT = Region(BlockType.TEXT, (80.0, 760.0, 720.0, 790.0), 0.9)
FORM = ("Given name and surname", "Street and number", "Place and date of birth", "Signature of the applicant")


def _page(texts: tuple[str, ...]) -> tuple[RgbArray, list[Line]]:
    page = np.full((1000, 800, 3), 255, np.uint8)
    lines = []
    for number, text in enumerate(texts):
        y = 140 + 120 * number
        (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.7, 2)
        cv2.putText(page, text, (100, y), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (0, 0, 0), 2)
        lines.append(Line(text, quad_of((100.0, float(y - height), 100.0 + width, y + 5.0)), 1.0))
    return page, lines


def test_a_form_with_drawn_boxes_is_no_figure() -> None:
    page, lines = _page(FORM)
    for y in range(100, 700, 120):
        cv2.rectangle(page, (90, y), (700, y + 110), (0, 0, 0), 1)
    assert without_text([FIGURE, TEXT], page, 1.0, lines) == [TEXT]


def test_a_photograph_with_writing_stays_a_figure() -> None:
    page, lines = _page(FORM)
    page[300:700, 400:700] = np.random.default_rng(1).integers(0, 256, (400, 300, 3), np.uint8)
    assert without_text([FIGURE, TEXT], page, 1.0, lines) == [FIGURE, TEXT]


def test_a_chart_stays_a_figure() -> None:
    page, lines = _page(("10", "20", "30", "the sales of all of the last five years"))
    assert without_text([FIGURE], page, 1.0, lines) == [FIGURE]


def test_a_drawing_with_a_caption_stays_a_figure() -> None:
    page, lines = _page(FORM)
    caption = Line("Figure 3: How a form is made", quad_of((100.0, 730.0, 400.0, 750.0)), 1.0)
    assert without_text([FIGURE], page, 1.0, [*lines, caption]) == [FIGURE]


def test_a_logo_of_few_words_stays_a_figure() -> None:
    page, lines = _page(("Inkgate", "Printers since 1899"))
    assert without_text([FIGURE], page, 1.0, lines) == [FIGURE]
