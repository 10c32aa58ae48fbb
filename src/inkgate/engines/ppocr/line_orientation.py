"""Detects upside-down line crops with the PP-OCR line classifier."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import READING_HEIGHT, write_pixels
from inkgate.runtimes.base import FloatArray, Model
from inkgate.types import RgbArray

_WIDTH = 192
_BATCH = 16


class LineOrientation:
    """Detects upside-down lines: a BatchModel from RGB crops (h, w, 3) uint8 to the probability of being upside down.
    Blocking; safe from many threads.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, items: Sequence[RgbArray]) -> list[float]:
        """For each crop the probability, in [0, 1], that it is upside down."""
        answers: list[float] = []
        for start in range(0, len(items), _BATCH):
            tensor = np.stack([_prepared(item) for item in items[start : start + _BATCH]])
            answers.extend(self._model.run(tensor)[0][:, 1].tolist())
        return answers

    @staticmethod
    def shape_of(item: RgbArray) -> Hashable:  # noqa: ARG004 - the port asks for each item; here all are alike
        """All lines have the same shape."""
        return (READING_HEIGHT, _WIDTH)

    @staticmethod
    def cost(item: RgbArray) -> int:  # noqa: ARG004 - the port asks for each item; here all are alike
        return READING_HEIGHT * _WIDTH

    @staticmethod
    def content(item: RgbArray) -> int:
        return READING_HEIGHT * _used_width(item)


def _used_width(crop: RgbArray) -> int:
    height, width = crop.shape[:2]
    return min(max(math.ceil(READING_HEIGHT * int(width) / int(height)), 1), _WIDTH)


def _prepared(crop: RgbArray) -> FloatArray:
    """A crop as (3, 48, 192) float32: its height scaled to 48, its width squeezed or padded to 192."""
    used = _used_width(crop)
    resized = cv2.resize(
        crop,
        (used, READING_HEIGHT),
        interpolation=cv2.INTER_AREA if crop.shape[0] > READING_HEIGHT else cv2.INTER_LINEAR,
    )
    tensor = np.zeros((3, READING_HEIGHT, _WIDTH), np.float32)
    write_pixels(np.asarray(resized, np.uint8), tensor)
    return tensor
