"""Finds text on a page: the PP-OCR detection model, and boxes from its probability map.

The model and its post-processing are those of "Real-time Scene Text Detection with Differentiable Binarization" (Liao
et al., AAAI 2020): the map holds for each pixel the probability that it is in the shrunk core of a line, connected
cores are lines, and each is grown back by area * ratio / perimeter.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.engines.ppocr.page_size import pad_page, padded_side, scale_page, working_size
from inkgate.runtimes.base import FloatArray, Model
from inkgate.types import RgbArray, Size

_MAX_BOXES = 3000
_MIN_CORE_PX = 3.0
"""Cores narrower than this, in pixels of the map, are noise (PaddleOCR's `min_size`)."""


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """Options of text detection.

    Attributes:
        longest_side: pages are shrunk to this, in pixels; elongated pages to `longest_side_of` it.
        shortest_side: pages are enlarged to this, within that limit.
        threshold: of the probability map, in [0, 1].
        box_threshold: minimum mean probability inside a box, in [0, 1].
        unclip_ratio: how far boxes grow; 0 keeps only the core.
    """

    longest_side: int
    shortest_side: int
    threshold: float
    box_threshold: float
    unclip_ratio: float


@dataclass(frozen=True, slots=True)
class DetectionInput:
    """A page and its options. `rgb`: (H, W, 3) uint8."""

    rgb: RgbArray
    options: DetectionOptions


@dataclass(frozen=True, slots=True)
class TextBoxes:
    """Boxes of lines. `quads`: (N, 4, 2) float32 in pixels of the input, clockwise from the corner nearest to the
    top left; N may be 0. `scores`: (N,) float32, mean probability inside.
    """

    quads: FloatArray
    scores: FloatArray


class TextDetector:
    """Finds lines of text: a BatchModel from DetectionInput to TextBoxes. Blocking; safe from many threads."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, items: Sequence[DetectionInput]) -> list[TextBoxes]:
        """Boxes for each page; their order within a page is undefined."""
        # One page at a time: pages differ in size, and one page already uses every core.
        return [self._detect(item.rgb, item.options) for item in items]

    @staticmethod
    def shape_of(item: DetectionInput) -> Hashable:
        """The size that the model gets. Items with different options may be mixed: each has its own."""
        return _shown(item)

    @staticmethod
    def cost(item: DetectionInput) -> int:
        return _shown(item).pixels

    @staticmethod
    def content(item: DetectionInput) -> int:
        return _scaled(item).pixels

    def _detect(self, rgb: RgbArray, options: DetectionOptions) -> TextBoxes:
        height, width = rgb.shape[:2]
        size = working_size(Size(width, height), options.longest_side, options.shortest_side)
        page = pad_page(scale_page(rgb, size))
        # The models were trained on cv2.imread's channel order: blue, green, red.
        tensor = cv2.dnn.blobFromImage(page, scalefactor=1 / 127.5, mean=(127.5, 127.5, 127.5), swapRB=True)
        probabilities = self._model.run(np.asarray(tensor, np.float32))[0][0, 0]
        boxes = boxes_from_map(np.ascontiguousarray(probabilities[: size.height, : size.width]), options)
        factors = np.array([width / size.width, height / size.height], np.float32)
        quads = np.clip(boxes.quads * factors, 0, np.array([width, height], np.float32))
        return TextBoxes(quads.astype(np.float32), boxes.scores)


def _scaled(item: DetectionInput) -> Size:
    height, width = item.rgb.shape[:2]
    return working_size(Size(width, height), item.options.longest_side, item.options.shortest_side)


def _shown(item: DetectionInput) -> Size:
    size = _scaled(item)
    return Size(padded_side(size.width), padded_side(size.height))


def boxes_from_map(probabilities: FloatArray, options: DetectionOptions) -> TextBoxes:
    """Boxes of the connected parts of a probability map (H, W), in pixels of the map."""
    mask = cv2.dilate((probabilities > options.threshold).astype(np.uint8), np.ones((2, 2), np.uint8))
    contours, tree = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    quads, scores = [], []
    for index, contour in enumerate(contours):
        if tree[0][index][3] != -1:  # the border of a hole
            continue
        center, sides, angle = cv2.minAreaRect(contour)
        if min(sides) < _MIN_CORE_PX:
            continue
        core = np.asarray(cv2.boxPoints((center, sides, angle)), np.float32)
        score = _mean_inside(probabilities, core)
        if score < options.box_threshold:
            continue
        # Growing a rectangle moves each side outwards by the same distance, so no polygon clipping is needed.
        growth = 2 * options.unclip_ratio * sides[0] * sides[1] / (2 * (sides[0] + sides[1]))
        quads.append(cv2.boxPoints((center, (sides[0] + growth, sides[1] + growth), angle)))
        scores.append(score)
    best = np.argsort(scores)[::-1][:_MAX_BOXES]
    if not len(best):
        return TextBoxes(np.zeros((0, 4, 2), np.float32), np.zeros(0, np.float32))
    return TextBoxes(_from_top_left(np.stack(quads)[best].astype(np.float32)), np.array(scores, np.float32)[best])


def _mean_inside(probabilities: FloatArray, quad: FloatArray) -> float:
    """Mean probability over the pixels of a quad."""
    height, width = probabilities.shape
    left, top = np.clip(np.floor(quad.min(axis=0)), 0, (width - 1, height - 1)).astype(int)
    right, bottom = np.clip(np.ceil(quad.max(axis=0)), 0, (width - 1, height - 1)).astype(int)
    mask = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillConvexPoly(mask, (quad - (left, top)).astype(np.int32), 1)
    return float(cv2.mean(probabilities[top : bottom + 1, left : right + 1], mask)[0])


def _from_top_left(quads: FloatArray) -> FloatArray:
    """The same rectangles (N, 4, 2), clockwise, beginning so that the first side points most to the right."""
    sides: NDArray[np.float32] = np.roll(quads, -1, axis=1) - quads
    lengths = np.linalg.norm(sides, axis=2) + 1e-6
    first = np.argmax(sides[:, :, 0] / lengths, axis=1)
    order = (first[:, None] + np.arange(4)) % 4
    return np.take_along_axis(quads, order[:, :, None], axis=1)
