"""Boxes from probability maps, and where they are on the page."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions, TextDetector, boxes_from_map
from inkgate.runtimes.base import FloatArray

OPTIONS = DetectionOptions(longest_side=2000, shortest_side=736, threshold=0.3, box_threshold=0.5, unclip_ratio=1.5)


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


class BrightnessModel:
    """A Model of detection: the probability is the picture's brightness. `shapes`: of its inputs."""

    def __init__(self) -> None:
        self.metadata: dict[str, str] = {}
        self.shapes: list[tuple[int, ...]] = []

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        self.shapes.append(tensor.shape)
        return [(tensor[:, :1] + np.float32(1)) / np.float32(2)]


@pytest.mark.parametrize(("left", "top"), [(40, 30), (900, 1240), (500, 700)])
def test_a_box_is_where_it_is_on_a_padded_page(left: int, top: int) -> None:
    page = np.zeros((1300, 1000, 3), np.uint8)
    page[top : top + 20, left : left + 80] = 255
    model = BrightnessModel()

    (boxes,) = TextDetector(model).predict([DetectionInput(page, replace(OPTIONS, unclip_ratio=0))])

    assert model.shapes == [(1, 3, 1344, 1024)]
    assert boxes.quads[0].min(axis=0) == pytest.approx([left, top], abs=3)
    assert boxes.quads[0].max(axis=0) == pytest.approx([left + 80, top + 20], abs=3)


def test_what_a_padded_page_ends_in_is_no_text() -> None:
    page = np.full((800, 800, 3), 255, np.uint8)
    page[0], page[:, 0] = 0, 0  # so that there is something, up to all edges
    page[-1], page[:, -1] = 200, 200
    model = BrightnessModel()

    (boxes,) = TextDetector(model).predict([DetectionInput(page, OPTIONS)])

    assert model.shapes == [(1, 3, 832, 832)]
    assert (boxes.quads <= 800).all()
