"""The size at which a page is given to the detector.

OpenVINO compiles its kernels for each size of its input and caches them, 20 to 130 ms of processor time and 4 MB: so
sizes are multiples of 64 from 768 on. A page is not stretched to such a size but padded by repeating its edge: on 49
development images that reads better (F1 93.4 and 93.2, CER the same). It is not cropped to its printed area either,
which makes more sizes and loses characters at the edge: docs/contributing/benchmarks.md.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from inkgate.types import RgbArray, Size

_STRIDE = 32
"""The model halves its input five times."""
_COARSE_FROM = 768
_MOST_ENLARGED = 3.0
"""Small images (a table cut out, a word) are not enlarged further: their text would be too large for the model."""


def working_size(size: Size, longest_side: int, shortest_side: int) -> Size:
    """The size to which a page is scaled before detection: multiples of 32, its aspect otherwise kept.

    The longest side is at most `longest_side`, the shortest at least `shortest_side` within that. Pages longer than 2:1
    (receipts, strips, screenshots) may be longer as long as their area does not exceed that of a 2:1 page, so that
    their text stays legible.
    """
    most = longest_side_of(size, longest_side) / max(size.width, size.height)
    scale = min(max(1.0, shortest_side / min(size.width, size.height)), _MOST_ENLARGED, most)
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
