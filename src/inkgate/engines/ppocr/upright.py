"""Whether a page stands upright: the page classifier's guess, checked against the lines that were found.

Turning an upright page is far worse than missing a turned one, so a guess counts only when the lines agree.
"""

from __future__ import annotations

import numpy as np

from inkgate.engines.ppocr.crops import TALL, side_lengths
from inkgate.engines.ppocr.page_orientation import Rotation
from inkgate.runtimes.onnx import FloatArray
from inkgate.types import RgbArray

SURE = 0.6
"""Least confidence of a page's rotation. On the development pages right guesses had 0.79 and more."""
WITNESSES = 12
"""Lines that are asked whether they are upside down: the longest."""


def turned_page(rgb: RgbArray, degrees: int) -> RgbArray:
    """The page turned clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(rgb, -degrees // 90)) if degrees else rgb


def worth_trying(rotation: Rotation) -> bool:
    return rotation.degrees != 0 and rotation.confidence >= SURE


def lies_flat(quads: FloatArray) -> bool:
    """Whether most of the text, by length, runs across the page rather than along it. False without text."""
    widths, heights = side_lengths(quads)
    # Boxes about as wide as high say nothing of the direction.
    across = float(widths[widths >= TALL * heights].sum())
    along = float(heights[heights >= TALL * widths].sum())
    return across > along


def witnesses(quads: FloatArray) -> FloatArray:
    """The quads (M, 4, 2), M <= 12, best suited to tell up from down: the longest that run across the page."""
    widths, heights = side_lengths(quads)
    flat = np.flatnonzero(widths >= TALL * heights)
    return quads[flat[np.argsort(-widths[flat], kind="stable")][:WITNESSES]]


def stands(upside_down: list[float]) -> bool:
    """Whether most witnesses stand upright, by their probabilities of being upside down. False without any."""
    return sum(probability < 0.5 for probability in upside_down) * 2 > len(upside_down)
