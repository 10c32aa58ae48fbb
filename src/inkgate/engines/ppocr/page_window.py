"""What the detector is shown of a page: scaled, and cut to where something is printed, in one of few sizes.

OpenVINO prepares its kernels anew for each size of its input and keeps them, 20 to 130 ms of processor time and 4 MB:
so sizes are multiples of 64 from 768 on. A page isn't stretched to one: what is shown is a little more of it than what
is printed, or, where there isn't more, its edge once again. On 49 development images that reads better than stretching
(F1 93.4 and 93.2, CER the same), and blank margins cost nothing: docs/benchmarks.md.
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
"""Small images (a table cut out, a word) are not blown up further: their text would be too large for the model."""
_MARGIN = 32
"""Pixels shown around what is printed."""
_CONTRAST = 8
"""Neighbouring pixels of something printed differ by more, of 255."""
_AROUND = np.ones((3, 3), np.uint8)


def working_size(size: Size, longest_side: int, shortest_side: int) -> Size:
    """The size to which a page is scaled before it is looked at: multiples of 32, its aspect kept but for that.

    The longest side is at most `longest_side`, the shortest at least `shortest_side` within that. Pages longer than 2:1
    (receipts, strips, screenshots) may be longer as long as their area is no more than that of a 2:1 page, so that
    their text stays legible.
    """
    most = longest_side_of(size, longest_side) / max(size.width, size.height)
    scale = min(max(1.0, shortest_side / min(size.width, size.height)), _MOST_ENLARGED, most)
    width, height = (max(round(side * scale / _STRIDE), 1) * _STRIDE for side in (size.width, size.height))
    return Size(width, height)


def longest_side_of(size: Size, limit: int) -> int:
    """How long a page's longest side may be where that of a page is `limit`: longer for pages beyond 2:1."""
    elongation = max(size.width, size.height) / min(size.width, size.height)
    return round(limit * max(1.0, math.sqrt(elongation / 2)))


def shown_side(length: int) -> int:
    """The least length that the model is shown of a side with so many pixels."""
    stride = _STRIDE if length <= _COARSE_FROM else 2 * _STRIDE
    return math.ceil(length / stride) * stride


def scaled_to(rgb: RgbArray, size: Size) -> RgbArray:
    """The page (H, W, 3) in another size."""
    shrinks = size.width < rgb.shape[1]
    by = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(rgb, (size.width, size.height), interpolation=by), np.uint8)


def printed_part(rgb: RgbArray) -> tuple[slice, slice]:
    """The rows and columns to be shown of a scaled page; they may end beyond it, where it is to be padded."""
    edges = cv2.morphologyEx(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), cv2.MORPH_GRADIENT, _AROUND) > _CONTRAST
    rows, columns = np.flatnonzero(edges.any(axis=1)), np.flatnonzero(edges.any(axis=0))
    height, width = rgb.shape[:2]
    if not len(rows):
        return slice(0, shown_side(height)), slice(0, shown_side(width))
    return _shown(int(rows[0]), int(rows[-1]) + 1, height), _shown(int(columns[0]), int(columns[-1]) + 1, width)


def _shown(first: int, end: int, length: int) -> slice:
    """From `first` to `end` with a margin, as near to the middle as the side of so many pixels allows."""
    side = shown_side(min(end + _MARGIN, length) - max(first - _MARGIN, 0))
    start = min(max((first + end - side) // 2, 0), max(length - side, 0))
    return slice(start, start + side)


def cut(rgb: RgbArray, rows: slice, columns: slice) -> RgbArray:
    """That part of a page; beyond its end, its last row and column again."""
    part = rgb[rows, columns]
    below, right = rows.stop - rows.start - part.shape[0], columns.stop - columns.start - part.shape[1]
    if below or right:
        part = cv2.copyMakeBorder(part, 0, below, 0, right, cv2.BORDER_REPLICATE)
    return np.ascontiguousarray(part)
