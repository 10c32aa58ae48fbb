"""Detects a page's rotation with the PP-LCNet page classifier."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from inkgate.runtimes.base import FloatArray, Model
from inkgate.types import RgbArray

_SHORT_SIDE = 256
_CROP = 224
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
"""ImageNet's, as in PaddleClas, which trained the model."""
_CROPS = 3


@dataclass(frozen=True, slots=True)
class Rotation:
    """Degrees clockwise (0, 90, 180, 270) that make a page upright, and the confidence, in [0, 1]."""

    degrees: int
    confidence: float


class PageOrientation:
    """Estimates the rotation of pages: a BatchModel from RGB (H, W, 3) uint8 to Rotation. Blocking; thread-safe.

    Not reliable: the model sees three squares of the page at a few hundred pixels, and errs on receipts and tables.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, items: Sequence[RgbArray]) -> list[Rotation]:
        """The rotation of each page: the classes' probabilities, averaged over the squares."""
        if not items:
            return []
        output = self._model.run(np.concatenate([_squares(item) for item in items]))[0]
        means = output.reshape(len(items), _CROPS, 4).mean(axis=1)
        # The classes are quarter turns by which the page was rotated clockwise; the rest of the circle undoes them.
        return [Rotation(-90 * int(row.argmax()) % 360, float(row.max())) for row in means]

    @staticmethod
    def shape_of(item: RgbArray) -> Hashable:  # noqa: ARG004 - the port asks for each item; here all are alike
        """All pages have the same shape."""
        return (_CROP, _CROP)

    @staticmethod
    def cost(item: RgbArray) -> int:  # noqa: ARG004 - the port asks for each item; here all are alike
        return _CROPS * _CROP * _CROP

    @staticmethod
    def content(item: RgbArray) -> int:  # noqa: ARG004 - as above
        """As `cost`: squares are not padded."""
        return _CROPS * _CROP * _CROP


def _squares(rgb: RgbArray) -> FloatArray:
    """Three squares along the longer side, (3, 3, 224, 224) float32, normalized."""
    height, width = rgb.shape[:2]
    scale = _SHORT_SIDE / min(height, width)
    # Of a longer strip only the first 8:1 are used, or its image would be as large as it is long.
    size = (min(round(width * scale), 8 * _SHORT_SIDE), min(round(height * scale), 8 * _SHORT_SIDE))
    rgb = rgb[: max(round(size[1] / scale), 1), : max(round(size[0] / scale), 1)]
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    normal = ((small.astype(np.float32) / 255 - _MEAN) / _DEVIATION).transpose(2, 0, 1)
    slack_y, slack_x = size[1] - _CROP, size[0] - _CROP
    along_y = slack_y >= slack_x
    corners = [
        (round(slack_y * part), slack_x // 2) if along_y else (slack_y // 2, round(slack_x * part))
        for part in (0.2, 0.5, 0.8)
    ]
    return np.stack([normal[:, y : y + _CROP, x : x + _CROP] for y, x in corners])
