"""Where the ink of lines is, in a page's pixels, so that every page is arranged by one geometry.

The boxes of lines differ with what made them. A detector leaves a margin around the ink, so that a line of print is 1.5
times as high to it; it does so whatever the letters. A text layer has boxes around glyphs as their fonts describe them,
and some fonts describe their glyphs as too high, too low, or in another place. On pages with both, rules that measure
in heights of lines read one page in two ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from inkgate.page import RgbArray
from inkgate_client.coordinates import quad_of
from inkgate_client.types import Box, Line, Point, Quad, Size, box_of_quad

BEFORE, ABOVE, AFTER, BELOW = 4.3, 4.2, 3.5, 3.7
"""The detector's margins around the ink of a line, in pixels of its image: medians of 773 lines of dev's PDFs that were
read both ways. They hardly depend on the size of the letters.
"""
DETECTED_SIDE = 1600
"""Longest side of the image that the detector sees."""
SHORT_SIDE, MAX_ENLARGED = 736, 3.0
"""Small pages are enlarged for it to this shortest side, at most by this factor."""
MAX_MARGIN = 0.25
"""The detector's margin is at most this share of its box's height."""
LEVEL = 0.15
"""A line is level if its ends differ in height by less than this share of its own."""
MAX_LINES = 2000
"""Ink is sought on pages of at most so many lines: about 50 us for each."""
_AROUND, _BESIDE = 0.3, 0.1
"""Ink of a text layer's line is sought this far around its box, in heights of it."""
_HEIGHTS = (0.4, 1.5)
"""Height of the ink that is believed, as a share of the box without the detector's margin."""
_MIN_INK = 0.04
"""Rows of pixels with less ink than this share of the fullest row's are above or below the letters: a line of 40
letters with one of them long has more.
"""
_RULE = 0.9
"""A row or column of pixels with ink on this share of its length is a drawn line."""
_GAP = 0.15
"""Rows without ink within a line, as a share of its height: below the dots of i."""
GreyArray = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Detector:
    """`margin`: pixels of the page for one of the image that the detector saw."""

    margin: float

    @classmethod
    def of(cls, size: Size) -> _Detector:
        longest, shortest = max(size.width, size.height), max(min(size.width, size.height), 1)
        return cls(1 / min(max(1.0, SHORT_SIDE / shortest), MAX_ENLARGED, DETECTED_SIDE / max(longest, 1)))

    def without_margin(self, quad: Quad) -> Quad:
        """The quad of a detected line without what the detector added around its ink."""
        a, b, c, d = quad
        along, down = (b[0] - a[0], b[1] - a[1]), (d[0] - a[0], d[1] - a[1])
        length, height = hypot(*along), hypot(*down)
        if not length or not height:
            return quad
        margin = min(self.margin, MAX_MARGIN * min(length, height) / ABOVE)
        (ux, uy), (vx, vy) = (along[0] / length, along[1] / length), (down[0] / height, down[1] / height)

        def moved(point: Point, right: float, low: float) -> Point:
            right, low = right * margin, low * margin
            return (point[0] + right * ux + low * vx, point[1] + right * uy + low * vy)

        return (moved(a, BEFORE, ABOVE), moved(b, -AFTER, ABOVE), moved(c, -AFTER, -BELOW), moved(d, BEFORE, -BELOW))


def ink_quads(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> list[Quad]:
    """Where the ink of each line is, in page pixels; where that can't be told, where it would be by the line's box.

    Lines with a confidence of 1 are a text layer's; the others were detected. Blocking; pure.

    Args:
        rgb: the page's pixels.
        scale: page pixels per pixel of `rgb`.
        lines: of the page, in page pixels.
    """
    height, width = rgb.shape[:2]
    detector = _Detector.of(Size(round(width * scale), round(height * scale)))
    grey = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.uint8) if rgb.size else None
    quads: list[Quad] = []
    for line in lines:
        exact = line.confidence == 1.0
        quad = line.quad if exact else detector.without_margin(line.quad)
        if grey is not None and len(lines) <= MAX_LINES and _is_level(line.quad):
            around = _around(line.box) if exact else line.box
            ink = ink_box(grey, _scaled(box_of_quad(quad), 1 / scale), _scaled(around, 1 / scale))
            quad = quad if ink is None else quad_of(_scaled(ink, scale))
        quads.append(quad)
    return quads


def _is_level(quad: Quad) -> bool:
    (left, top), (right, end), _, (_, bottom) = quad
    return right > left and bottom > top and abs(end - top) <= LEVEL * (bottom - top)


def _around(box: Box) -> Box:
    left, top, right, bottom = box
    height = bottom - top
    return (left - _BESIDE * height, top - _AROUND * height, right + _BESIDE * height, bottom + _AROUND * height)


def _scaled(box: Box, factor: float) -> Box:
    left, top, right, bottom = box
    return (left * factor, top * factor, right * factor, bottom * factor)


def ink_box(grey: GreyArray, box: Box, around: Box) -> Box | None:
    """The box around the ink of a level line, in pixels of `grey`; None if what is there is not like the line.

    `box`: where the line should be. `around`: where its ink is sought.
    """
    height = box[3] - box[1]
    x0, y0 = max(int(around[0]), 0), max(int(around[1]), 0)
    crop = grey[y0 : ceil(around[3]), x0 : ceil(around[2])]
    if min(crop.shape, default=0) < 3:
        return None
    _, ink = cv2.threshold(crop, 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    if 2 * cv2.countNonZero(ink) > ink.size:
        ink = 1 - ink
    ink[:, cv2.reduce(ink, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[0] >= _RULE * ink.shape[0]] = 0
    rows = cv2.reduce(ink, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[:, 0]
    rows[rows >= _RULE * ink.shape[1]] = 0
    span = _span(rows, (box[1] + box[3]) / 2 - y0, max(_GAP * height, 1.0))
    if span is None or not _HEIGHTS[0] * height <= span[1] - span[0] <= _HEIGHTS[1] * height:
        return None
    columns = np.flatnonzero(cv2.reduce(ink[span[0] : span[1]], 0, cv2.REDUCE_MAX))
    return (float(x0 + columns[0]), float(y0 + span[0]), float(x0 + columns[-1] + 1), float(y0 + span[1]))


def _span(rows: MatLike, middle: float, gap: float) -> tuple[int, int] | None:
    """First and last row of the letters around `middle`. `rows`: ink of each row; `gap`: rows without ink in a line."""
    inked = np.flatnonzero(rows >= max(_MIN_INK * float(rows.max()), 1.0))
    if not len(inked):
        return None
    parts = np.split(inked, np.flatnonzero(np.diff(inked) > gap + 1) + 1)
    spans = [(int(part[0]), int(part[-1]) + 1) for part in parts]
    return min(spans, key=lambda span: (max(span[0] - middle, middle - span[1], 0.0), span[0] - span[1]))
