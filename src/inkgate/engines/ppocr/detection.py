"""Finds text on a page: the size at which the PP-OCR detection model sees it, the model, and boxes from its map.

The model and its post-processing are those of "Real-time Scene Text Detection with Differentiable Binarization" (Liao
et al., AAAI 2020): the map holds for each pixel the probability that it is in the shrunk core of a line, connected
cores are lines, and each is grown back by area * ratio / perimeter.

OpenVINO compiles its kernels for each size of its input and caches them, 20 to 130 ms of processor time and 4 MB: so
sizes are multiples of 64 from 768 on. A page is not stretched to such a size but padded by repeating its edge: on 49
development images that reads better (F1 93.4 and 93.2, CER the same). It is not cropped to its printed area either,
which makes more sizes and loses characters at the edge: benchmarks/results/2026-11.md.

The model weighs each part of the page against the whole page (its squeeze-and-excitation layers average over it): on a
sheet that is nearly white it sees no short line, however clear, and in a close-up of the same line it does. So ink that
no box explains is looked at again in close-ups.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.layout.regions.ink import InkRegion, cluster_regions, writing_among
from inkgate.layout.regions.ink_clusters import InkCluster
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray, Model
from inkgate_client.types import Size

_STRIDE = 32
"""The model halves its input five times."""
_COARSE_FROM = 768
_MAX_ENLARGED = 3.0
"""Small images (a table cut out, a word) are not enlarged further: their text would be too large for the model."""
_MAX_BOXES = 3000
_MIN_CORE_PX = 3.0
"""Cores narrower than this, in pixels of the map, are noise (PaddleOCR's `min_size`)."""
_CLOSE_LETTERS = 32
"""Height to which the letters of close-ups are scaled; from 24 to 48 pixels, with margins of half a letter to two, the
detector finds all of 79 lone lines."""
_MAX_CLOSER = 4.0
_CLOSE_MARGIN = 1.0
"""Margin of a close-up, in its letters."""
_CLOSE_LONGEST = 1600
_CLOSE_SIDES = (96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1600)
_MAX_CLOSE_UPS = 12
_SPARSE = 20
"""The number of boxes below which single letters are looked at too; on other pages, only what looks like a missed line.
"""
_KNOWN = 0.3
"""A box in a close-up is known already if this share of it is in others."""


def working_size(size: Size, longest_side: int, shortest_side: int) -> Size:
    """The size to which a page is scaled before detection: multiples of 32, its aspect otherwise kept.

    The longest side is at most `longest_side`, the shortest at least `shortest_side` within that. Pages longer than 2:1
    (receipts, strips, screenshots) may be longer as long as their area does not exceed that of a 2:1 page, so that
    their text stays legible.
    """
    max_scale = longest_side_of(size, longest_side) / max(size.width, size.height)
    scale = min(max(1.0, shortest_side / min(size.width, size.height)), _MAX_ENLARGED, max_scale)
    width, height = (max(round(side * scale / _STRIDE), 1) * _STRIDE for side in (size.width, size.height))
    return Size(width, height)


def longest_side_of(size: Size, limit: int) -> int:
    """Maximum longest side of a page whose limit is `limit`: more for pages longer than 2:1."""
    elongation = max(size.width, size.height) / min(size.width, size.height)
    return round(limit * max(1.0, math.sqrt(elongation / 2)))


def padded_side(length: int) -> int:
    """The padded length of a side with this many pixels."""
    stride = _STRIDE if length <= _COARSE_FROM else 2 * _STRIDE
    return math.ceil(length / stride) * stride


def scale_page(rgb: RgbArray, size: Size) -> RgbArray:
    """The page (H, W, 3) at another size."""
    shrinks = size.width < rgb.shape[1]
    by = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(rgb, (size.width, size.height), interpolation=by), np.uint8)


def pad_page(rgb: RgbArray) -> RgbArray:
    """The scaled page, padded to the right and below with its last column and row."""
    height, width = rgb.shape[:2]
    below, right = padded_side(height) - height, padded_side(width) - width
    if not below and not right:
        return rgb
    return np.asarray(cv2.copyMakeBorder(rgb, 0, below, 0, right, cv2.BORDER_REPLICATE), np.uint8)


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


@dataclass(frozen=True, slots=True)
class CloseUp:
    """A part of a page for the detector. `rgb`: (h, w, 3) uint8, enlarged or shrunk by `scale`, padded to the right and
    below. `left`, `top`: of the part, in pixels of the page.
    """

    rgb: RgbArray
    left: int
    top: int
    scale: float

    def item(self, options: DetectionOptions) -> DetectionInput:
        """The input for the detector, which is to leave its size as it is."""
        return DetectionInput(self.rgb, replace(options, longest_side=max(self.rgb.shape[:2]), shortest_side=1))

    def on_page(self, quads: FloatArray) -> FloatArray:
        """Quads (N, 4, 2) of the close-up, in pixels of the page."""
        return np.asarray(quads / self.scale + np.array([self.left, self.top], np.float32), np.float32)


def close_ups(rgb: RgbArray, clusters: Sequence[InkCluster], boxes: int) -> list[CloseUp]:
    """Close-ups of what looks like writing among the clusters of ink outside the `boxes` found on a page (H, W, 3), at
    most _MAX_CLOSE_UPS: those with the most letters.
    """
    writing = writing_among(clusters, max(rgb.shape[:2]), alone=boxes < _SPARSE)
    regions = sorted(cluster_regions(writing), key=lambda region: -region.letters)[:_MAX_CLOSE_UPS]
    return [_close_up(rgb, region) for region in regions]


def _close_up(rgb: RgbArray, region: InkRegion) -> CloseUp:
    height, width = rgb.shape[:2]
    margin = _CLOSE_MARGIN * region.size
    left, top = (max(0, int(side - margin)) for side in region.box[:2])
    right, bottom = min(width, math.ceil(region.box[2] + margin)), min(height, math.ceil(region.box[3] + margin))
    longest = max(right - left, bottom - top)
    scale = min(_CLOSE_LETTERS / region.size, _MAX_CLOSER, _CLOSE_LONGEST / longest)
    part = np.ascontiguousarray(rgb[top:bottom, left:right])
    size = Size(max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale)))
    part = scale_page(part, size)
    below, beside = (_close_side(side) - side for side in part.shape[:2])
    padded = cv2.copyMakeBorder(part, 0, below, 0, beside, cv2.BORDER_REPLICATE)
    return CloseUp(np.asarray(padded, np.uint8), left, top, scale)


def _close_side(length: int) -> int:
    """The padded length of a side of a close-up. There are few, since the runtime keeps kernels for each size."""
    return next((side for side in _CLOSE_SIDES if side >= length), padded_side(length))


def unknown_quads(quads: FloatArray, known: FloatArray) -> FloatArray:
    """Returns those of the quads (N, 4, 2) that lie mostly outside the `known` ones (M, 4, 2)."""
    return quads[[_inside_share(quad, known) < _KNOWN for quad in quads]] if len(quads) else quads


def _inside_share(quad: FloatArray, others: FloatArray) -> float:
    """The largest share of a quad that lies in one of the others."""
    area = max(float(cv2.contourArea(quad)), 1e-6)
    shares = (cv2.intersectConvexConvex(quad, other)[0] / area for other in others)
    return float(max(shares, default=0.0))
