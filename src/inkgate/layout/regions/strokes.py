"""The style of lines from their pixels: the height of their letters, and whether their strokes are bold."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from inkgate.layout.regions.styles import em_of
from inkgate.page import LineStyle, RgbArray
from inkgate_client.types import Line

MIN_HEIGHT = 9
"""Lines lower than this, in pixels, have strokes of one pixel whatever their weight."""
MIN_LETTERS = 3
_MIN_INK = 0.04
"""Rows of pixels with less ink than this share of the fullest row's are above or below the letters: a line of 40
letters with one of them long has more.
"""
BOLD = 1.35
"""A line is bold if its strokes are this many times as thick as those of most of the page's text. Of the lines that are
bold by their fonts in dev's PDFs two thirds are found so, and four fifths of what is found are bold.
"""


def line_styles(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> list[LineStyle | None]:
    """The style of each line; None where it can't be told. `scale`: page pixels per pixel of `rgb`."""
    measured = [_measure(rgb, scale, line) for line in lines]
    weights = [(found[1], len(line.text)) for line, found in zip(lines, measured, strict=True) if found]
    if not weights:
        return [None] * len(lines)
    usual = _weighted_median(weights)
    return [found and LineStyle(found[0] * scale, bold=found[1] >= BOLD * usual) for found in measured]


def _weighted_median(values: list[tuple[float, int]]) -> float:
    ordered = sorted(values)
    weights = np.cumsum([weight for _, weight in ordered])
    return ordered[int(np.searchsorted(weights, weights[-1] / 2))][0]


def _measure(rgb: RgbArray, scale: float, line: Line) -> tuple[float, float] | None:
    """Size of the line's font in pixels, and thickness of its strokes as a share of that.

    The thickness is the mean width of what is inked without a gap within rows of pixels, which is that of the stems.
    """
    left, top, right, bottom = (round(side / scale) for side in line.box)
    height, width = bottom - top, right - left
    if height < MIN_HEIGHT or width < height or sum(map(str.isalnum, line.text)) < MIN_LETTERS:
        return None
    crop = rgb[max(top, 0) : bottom, max(left, 0) : right, 1]
    if crop.size == 0:
        return None
    _, ink = cv2.threshold(crop, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    area = cv2.countNonZero(ink)
    if 2 * area > ink.size:
        ink, area = 1 - ink, ink.size - area
    runs = int(np.count_nonzero(ink[:, 1:] > ink[:, :-1]))
    if runs == 0:
        return None
    rows = cv2.reduce(ink, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[:, 0]
    inked = np.flatnonzero(rows >= _MIN_INK * rows.max())
    size = em_of(line.text, float(inked[-1] - inked[0] + 1))
    return size, area / runs / size
