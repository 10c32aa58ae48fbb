"""Boxes from probability maps, and the size at which a page is looked at."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.ppocr.detection import (
    DetectionOptions,
    boxes_from_map,
    longest_side_of,
    working_size,
)
from inkgate.types import Size

OPTIONS = DetectionOptions(longest_side=2000, shortest_side=736, threshold=0.3, box_threshold=0.5, unclip_ratio=1.5)
SIDES = st.integers(1, 40_000)


def rectangle(left: int, top: int, right: int, bottom: int, value: float = 0.9) -> np.ndarray:
    """A map (200, 400) with `value` from `left` to `right`, both included, and so on."""
    probabilities = np.zeros((200, 400), np.float32)
    probabilities[top : bottom + 1, left : right + 1] = value
    return probabilities


def test_a_box_is_its_core_grown_by_area_times_ratio_over_perimeter() -> None:
    found = boxes_from_map(rectangle(100, 80, 200, 100), OPTIONS)

    # The dilation moves the core's left and top by one pixel.
    width, height = 101, 21
    growth = 1.5 * width * height / (2 * (width + height))
    left, top, right, bottom = 99 - growth, 79 - growth, 200 + growth, 100 + growth
    assert found.quads[0] == pytest.approx(
        np.array([[left, top], [right, top], [right, bottom], [left, bottom]]), abs=1.01
    )
    assert found.scores == pytest.approx([0.9], abs=0.06)


def test_without_unclip_the_core_is_left() -> None:
    found = boxes_from_map(rectangle(100, 80, 200, 100), replace(OPTIONS, unclip_ratio=0))
    assert found.quads[0].min(axis=0) == pytest.approx([100, 80], abs=1.01)
    assert found.quads[0].max(axis=0) == pytest.approx([200, 100], abs=1.01)


def test_a_slanted_box_begins_at_its_top_left_and_goes_clockwise() -> None:
    probabilities = np.zeros((200, 400), np.float32)
    slanted = cv2.boxPoints(((200, 100), (150, 20), -10)).astype(np.int32)
    cv2.fillConvexPoly(probabilities, slanted, 0.9)

    (quad,) = boxes_from_map(probabilities, OPTIONS).quads

    along, down = quad[1] - quad[0], quad[3] - quad[0]
    assert np.degrees(np.arctan2(along[1], along[0])) == pytest.approx(-10, abs=1.5)
    assert float(np.cross(np.append(along, 0), np.append(down, 0))[2]) > 0
    assert np.linalg.norm(along) > 150 > np.linalg.norm(down)


def test_what_lies_inside_a_frame_is_found_and_its_hole_is_not() -> None:
    probabilities = rectangle(20, 20, 380, 180)
    probabilities[26:175, 26:375] = 0
    probabilities[90:110, 150:250] = 0.9

    found = boxes_from_map(probabilities, replace(OPTIONS, box_threshold=0, unclip_ratio=0))

    widths = sorted((found.quads[:, 1, 0] - found.quads[:, 0, 0]).round().tolist())
    assert widths == pytest.approx([100, 361], abs=1.5)


@pytest.mark.parametrize(
    "probabilities",
    [
        np.zeros((200, 400), np.float32),
        rectangle(100, 80, 200, 100, value=0.25),
        rectangle(100, 80, 200, 100, value=0.4),
        rectangle(100, 80, 101, 81),
    ],
    ids=["blank", "below the threshold", "below the box threshold", "a speck"],
)
def test_noise_gives_no_boxes(probabilities: np.ndarray) -> None:
    found = boxes_from_map(probabilities, OPTIONS)
    assert (found.quads.shape, found.scores.shape) == ((0, 4, 2), (0,))


def test_the_best_boxes_come_first() -> None:
    probabilities = np.maximum(rectangle(10, 10, 100, 40, 0.6), rectangle(10, 100, 100, 140, 0.9))
    found = boxes_from_map(probabilities, OPTIONS)
    assert found.quads[0, 0, 1] > 70
    assert found.scores[0] > found.scores[1]


@given(width=SIDES, height=SIDES)
def test_any_page_is_looked_at_in_bounded_multiples_of_32(width: int, height: int) -> None:
    size = working_size(Size(width, height), OPTIONS)
    assert size.width % 32 == size.height % 32 == 0
    assert min(size.width, size.height) >= 32
    # The area of a 1:1 page, but for strips that are thinner than the 32 pixels they must have.
    assert size.pixels <= (2000 + 32) ** 2 * max(1, 32 * 736 / min(width, height) / 736)


@pytest.mark.parametrize(
    ("page", "looked_at"),
    [
        (Size(1240, 1754), Size(1216, 1728)),  # as it is
        (Size(2480, 3508), Size(1408, 1984)),  # shrunk
        (Size(300, 400), Size(736, 960)),  # enlarged to the shortest side
        (Size(500, 4000), Size(512, 3968)),  # a strip may be longer
    ],
)
def test_pages_are_looked_at_at_a_legible_size(page: Size, looked_at: Size) -> None:
    assert working_size(page, OPTIONS) == looked_at


@given(width=SIDES, height=SIDES)
def test_long_sides_have_few_lengths(width: int, height: int) -> None:
    size = working_size(Size(width, height), OPTIONS)
    assert all(side % 64 == 0 for side in (size.width, size.height) if side > 768)


def test_an_elongated_page_has_the_area_of_a_2_to_1_page_at_most() -> None:
    assert longest_side_of(Size(1000, 1500), 2000) == 2000
    assert longest_side_of(Size(1000, 2000), 2000) == 2000
    long = longest_side_of(Size(100, 800), 2000)
    assert long == 4000
    assert long * long / 8 == 2000 * 1000
