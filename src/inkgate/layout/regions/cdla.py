"""The embedded Layout: PicoDet (Yu et al., 2021, "PP-PicoDet") trained on CDLA, Chinese and English documents.

Boxes are decoded as in Generalized Focal Loss (Li et al., 2020): each side of a box is a distribution over eight
distances from the cell's centre, of which the mean is taken.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import Region
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray, Runtime
from inkgate.runtimes.models import page_layout
from inkgate_client.types import BlockType

HEIGHT, WIDTH = 800, 608
"""Input size of the model's training; pages are stretched to it."""
MEAN: Final = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION: Final = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Mean and deviation of ImageNet's colours, red first, as in the model's training."""
MIN_CONFIDENCE = 0.4
MAX_OVERLAP = 0.5
"""Intersection over union from which the less confident of two regions of one type is dropped."""
MAX_CANDIDATES = 1000
"""Maximum number of boxes of a type in non-maximum suppression."""

BLOCK_TYPES: Final = {
    "text": BlockType.TEXT,
    "title": BlockType.TITLE,
    "figure": BlockType.FIGURE,
    "figure_caption": BlockType.CAPTION,
    "table": BlockType.TABLE,
    "table_caption": BlockType.CAPTION,
    "header": BlockType.HEADER,
    "footer": BlockType.FOOTER,
    "reference": BlockType.REFERENCE,
    "equation": BlockType.FORMULA,
}
"""CDLA's ten classes, in the order of the model's output."""


class CdlaLayout:
    """A Layout. Safe from many threads; blocking."""

    def __init__(self, runtime: Runtime) -> None:
        """Loads the model."""
        self._model = runtime.open(page_layout())

    def find(self, pixels: RgbArray) -> list[Region]:
        """Regions of an upright page, best first. `pixels`: RGB (H, W, 3) uint8. Boxes lie inside the image."""
        height, width = pixels.shape[:2]
        if not height or not width:
            return []
        outputs = self._model.run(_prepared(pixels))
        scores, boxes = _decoded(outputs)
        of_model = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT], dtype=np.float32)
        boxes = np.clip(boxes / of_model, 0.0, 1.0) * np.array([width, height, width, height], dtype=np.float32)
        regions: list[Region] = []
        for label, block_type in enumerate(BLOCK_TYPES.values()):
            regions += [
                Region(block_type, (left, top, right, bottom), float(scores[i, label]))
                for i in _without_overlaps(boxes, scores[:, label])
                for left, top, right, bottom in [boxes[i].tolist()]
            ]
        return sorted(regions, key=lambda region: -region.confidence)


def _prepared(pixels: RgbArray) -> FloatArray:
    """(1, 3, 800, 608) float32."""
    shrinks = pixels.shape[0] > HEIGHT and pixels.shape[1] > WIDTH
    resized = cv2.resize(pixels, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    scaled = (np.arange(256, dtype=np.float32)[:, None] / 255.0 - MEAN) / DEVIATION
    channels = zip(cv2.split(resized), scaled.T.copy(), strict=True)
    return np.stack([cv2.LUT(channel, levels) for channel, levels in channels], dtype=np.float32)[None]


def _decoded(outputs: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Scores (N, 10) and boxes (N, 4) in pixels of the model's input of the cells that see a region, from all strides'
    outputs.

    The first half of the outputs are scores (1, cells, 10), the second half the sides' distributions (1, cells, 32);
    the number of cells identifies the stride.
    """
    half = len(outputs) // 2
    scores = [np.asarray(output[0], dtype=np.float32) for output in outputs[:half]]
    seen = [np.flatnonzero((each > MIN_CONFIDENCE).any(axis=1)) for each in scores]
    boxes = [_boxes(output[0], cells) for output, cells in zip(outputs[half:], seen, strict=True)]
    return np.concatenate([each[cells] for each, cells in zip(scores, seen, strict=True)]), np.concatenate(boxes)


def _boxes(logits: FloatArray, cells: NDArray[np.int64]) -> FloatArray:
    """Boxes (N, 4) of some cells of one stride from the logits (all, 4 * bins) of left, top, right and bottom."""
    stride = next(s for s in (8, 16, 32, 64) if -(-HEIGHT // s) * -(-WIDTH // s) == len(logits))
    bins = logits[cells].reshape(len(cells), 4, -1 if len(cells) else 1)
    weights = np.exp(bins - bins.max(axis=2, keepdims=True))
    distance = (weights * np.arange(bins.shape[2])).sum(axis=2) / weights.sum(axis=2) * stride
    columns = -(-WIDTH // stride)
    centre = (np.stack([cells % columns, cells // columns], axis=1) + 0.5) * stride
    corners = np.concatenate([centre - distance[:, :2], centre + distance[:, 2:]], axis=1)
    return corners.astype(np.float32)


def _without_overlaps(boxes: FloatArray, scores: FloatArray) -> list[int]:
    """Indexes of one type's boxes after non-maximum suppression, best first."""
    candidates = np.flatnonzero(scores > MIN_CONFIDENCE)
    candidates = candidates[np.argsort(-scores[candidates], kind="stable")][:MAX_CANDIDATES]
    selected: list[int] = []
    while len(candidates):
        best, candidates = candidates[0], candidates[1:]
        selected.append(int(best))
        candidates = candidates[_overlap(boxes[best], boxes[candidates]) <= MAX_OVERLAP]
    return selected


def _overlap(box: FloatArray, others: FloatArray) -> NDArray[np.float32]:
    """Intersection over union of `box` (4,) with each of `others` (N, 4)."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    areas = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1)
    return np.asarray(shared / np.maximum(areas - shared, 1e-6), dtype=np.float32)
