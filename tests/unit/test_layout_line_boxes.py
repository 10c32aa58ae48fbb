"""Boxes of lines by their ink: a text layer's lines and detected ones are where the page shows them."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import PageEvidence
from inkgate.layout.regions.line_boxes import ABOVE, AFTER, BEFORE, BELOW, ink_quads
from inkgate.page import RgbArray
from inkgate_client.coordinates import quad_of
from inkgate_client.types import Box, Line, Size

SIDE = 1600
"""Pages are as large as the detector sees them, so that its margins are in their pixels."""


def _page(*texts: tuple[str, int, int]) -> tuple[RgbArray, list[Box]]:
    """A page with texts, each with the left end of its baseline; and the boxes of their ink."""
    page = np.full((SIDE, 1200, 3), 255, np.uint8)
    boxes: list[Box] = []
    for text, x, y in texts:
        alone = np.full_like(page, 255)
        for image in (page, alone):
            cv2.putText(image, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)
        rows, columns = np.nonzero(alone[:, :, 0] < 128)
        boxes.append((float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)))
    return page, boxes


def _detected(text: str, ink: Box) -> Line:
    left, top, right, bottom = ink
    return Line(text, quad_of((left - BEFORE, top - ABOVE, right + AFTER, bottom + BELOW)), 0.98)


def _near(found: Box, expected: Box, within: float = 1.5) -> bool:
    return all(abs(a - b) <= within for a, b in zip(found, expected, strict=True))


def test_a_detected_line_and_one_of_a_text_layer_are_at_the_same_place() -> None:
    page, (first, second) = _page(("Total amount", 100, 200), ("on paper", 100, 250))
    texts = "Total amount", "on paper"
    layer = [Line(text, quad_of(box), 1.0) for text, box in zip(texts, (first, second), strict=True)]
    detected = [_detected(text, box) for text, box in zip(texts, (first, second), strict=True)]
    for lines in (layer, detected):
        found = ink_quads(page, 1.0, lines)
        assert all(_near(Line("", quad, 1.0).box, box) for quad, box in zip(found, (first, second), strict=True)), lines


@pytest.mark.parametrize("shift", [-9, 9])
def test_glyphs_that_the_font_describes_in_the_wrong_place_are_found(shift: int) -> None:
    page, (ink,) = _page(("Total amount", 100, 200))
    left, top, right, bottom = ink
    line = Line("Total amount", quad_of((left, top + shift / 2, right, bottom + shift / 2)), 1.0)
    (found,) = ink_quads(page, 1.0, [line])
    assert _near(Line("", found, 1.0).box, ink)


def test_drawn_lines_around_a_cell_are_no_ink_of_its_text() -> None:
    page, (ink,) = _page(("Total amount", 100, 200))
    left, top, right, bottom = (round(side) for side in ink)
    cv2.rectangle(page, (left - 4, top - 4), (right + 3, bottom + 3), (0, 0, 0), 1)
    (found,) = ink_quads(page, 1.0, [_detected("Total amount", ink)])
    assert _near(Line("", found, 1.0).box, ink)


def test_light_letters_on_a_dark_ground_are_ink() -> None:
    page, (ink,) = _page(("Total amount", 100, 200))
    (found,) = ink_quads(255 - page, 1.0, [_detected("Total amount", ink)])
    assert _near(Line("", found, 1.0).box, ink)


def test_a_detected_line_without_visible_ink_loses_the_detectors_margin() -> None:
    page = np.full((SIDE, 1200, 3), 255, np.uint8)
    ink = (100.0, 180.0, 300.0, 205.0)
    (found,) = ink_quads(page, 1.0, [_detected("Total", ink)])
    assert _near(Line("", found, 1.0).box, ink, 0.01)


def test_a_slanted_line_keeps_its_slant() -> None:
    page = np.full((SIDE, 1200, 3), 255, np.uint8)
    quad = ((100.0, 100.0), (300.0, 120.0), (298.0, 150.0), (98.0, 130.0))
    ((a, b, _, _),) = ink_quads(page, 1.0, [Line("Total", quad, 0.98)])
    assert (b[1] - a[1]) / (b[0] - a[0]) == pytest.approx(0.1)


def test_boxes_are_in_pixels_of_the_page() -> None:
    page, (ink,) = _page(("Total amount", 100, 200))
    twice = tuple(2 * side for side in ink)
    line = Line("Total amount", quad_of((twice[0], twice[1], twice[2], twice[3])), 1.0)
    (found,) = ink_quads(page, 2.0, [line])
    assert _near(Line("", found, 1.0).box, (twice[0], twice[1], twice[2], twice[3]), 3.0)


def test_a_result_has_the_boxes_of_its_lines_not_those_by_which_it_was_arranged() -> None:
    lines = [Line("above", quad_of((100, 100, 200, 130)), 1.0), Line("below", quad_of((100, 300, 200, 330)), 1.0)]
    swapped = (lines[1].quad, lines[0].quad)
    found = arrange(lines, Size(1000, 1000), PageEvidence([], quads=swapped))
    assert [line.text for line in found.lines] == ["below", "above"]
    assert found.lines == (lines[1], lines[0])
    assert found.blocks[0].box == lines[1].box
