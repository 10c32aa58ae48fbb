"""Makes pages upright: checks the page classifier's guess against the recognized text, and later corrects it by the
lines that were read. The classifier sees three squares of the page, which may be empty on a sparse one.

Rotating an upright page is far worse than missing a rotated one, so a guess counts only if the lines agree. The line
classifier would be cheaper than the recognition model, but it errs where the page classifier does: in scripts that
neither knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkgate.engines.ppocr.crops import TALL, side_lengths
from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.page_orientation import Rotation
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.scripts import unspaced
from inkgate.runtimes.base import FloatArray
from inkgate.types import RgbArray

SURE = 0.6
"""Minimum confidence of a page's rotation. On the development pages right guesses had 0.79 and more."""
WITNESSES = 6
"""Number of lines that are read both ways up: the longest."""
_READ = 0.7
"""Minimum confidence of a line in this check: below it, the script may be unknown to the model."""
_CLEARLY = 2.0
"""A rotated page must give this many times as much text as the same page upside down. Measured on seven pages, upright
text gave 6 to 60 times as much."""
_WELL, _WELL_LETTERS = 0.8, 4
"""Lines with at least this confidence and this many letters decide a page's rotation."""
_MOST = 0.8
"""Minimum share of these lines, by worth, that must run the same way for the page to be rotated."""


def rotate_page(rgb: RgbArray, degrees: int) -> RgbArray:
    """The page rotated clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(rgb, -degrees // 90)) if degrees else rgb


def worth_trying(rotation: Rotation) -> bool:
    return rotation.degrees != 0 and rotation.confidence >= SURE


def is_horizontal(quads: FloatArray) -> bool:
    """Whether most of the text, by length, is horizontal. False without text."""
    widths, heights = side_lengths(quads)
    # Boxes about as wide as high give no direction.
    across = float(widths[widths >= TALL * heights].sum())
    along = float(heights[heights >= TALL * widths].sum())
    return across > along


def longest_lines(quads: FloatArray) -> FloatArray:
    """The quads (M, 4, 2), M <= 6, best suited to tell up from down: the longest horizontal ones."""
    widths, heights = side_lengths(quads)
    flat = np.flatnonzero(widths >= TALL * heights)
    return quads[flat[np.argsort(-widths[flat], kind="stable")][:WITNESSES]]


def is_upright(readings: Sequence[RecognizedText], turned: Sequence[RecognizedText]) -> bool:
    """Whether these lines were read, and far better as they are than rotated by 180 degrees."""
    read = sum(one.worth for one in readings if one.confidence >= _READ)
    return read > _CLEARLY * sum(one.worth for one in turned)


def needed_rotation(read: Sequence[tuple[LineCrop, RecognizedText]]) -> int:
    """Degrees clockwise (0, 90, 180, 270) that make most of the text run from left to right; 0 in doubt.

    Lines of scripts that are also written vertically don't count for a page on its side.
    """
    worth = dict.fromkeys((0, 90, 180, 270), 0.0)
    for item, reading in read:
        letters = [character for character in reading.text if character != " "]
        if len(letters) < _WELL_LETTERS or reading.confidence < _WELL:
            continue
        turn = _turn_of(item.quad)
        if turn in {90, 270} and 2 * sum(map(unspaced, letters)) >= len(letters):
            turn = 0
        worth[turn] += reading.worth
    best = max(worth, key=lambda turn: worth[turn])
    return best if worth[best] > _MOST * sum(worth.values()) else 0


def _turn_of(quad: FloatArray) -> int:
    """Degrees clockwise, a multiple of 90, that make a line's quad (4, 2) run from left to right."""
    right, down = (quad[1] - quad[0] + quad[2] - quad[3]).tolist()
    if abs(right) >= abs(down):
        return 0 if right >= 0 else 180
    return 270 if down > 0 else 90


def rotate_quads(quads: FloatArray, degrees: int, width: int, height: int) -> FloatArray:
    """Quads (..., 4, 2) of an image, `width` x `height`, on the image rotated clockwise by 90, 180 or 270 degrees."""
    x, y = quads[..., 0], quads[..., 1]
    moved = {90: (height - y, x), 180: (width - x, height - y), 270: (y, width - x)}[degrees]
    return np.stack(moved, axis=-1).astype(np.float32)
