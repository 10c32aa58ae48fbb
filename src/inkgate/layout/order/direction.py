"""The directions in which text runs, from the corners of its lines and from its script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TALL_ASPECT = 1.8
"""A line of several characters this many times longer than high runs in a known direction."""
MIN_INVERTED, INVERTED_ASPECT = 4, 3.0
"""A line is upside down only with this many characters, and this many times wider than high: short ones are read both
ways."""
MIN_SIDEWAYS = 3
"""Characters of a line from which it may stand on its side: a tall box around fewer is a large or narrow letter."""
_DOWNWARDS, _UPWARDS = 90, 270
_CJK = ((0x2E80, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFF))
"""Han, kana, bopomofo and their punctuation: the scripts that are also written in vertical columns."""


def is_columnar(text: str) -> bool:
    """Whether at least half of the text is of a script that is also written in vertical columns."""
    if text.isascii():
        return False
    letters = [ord(char) for char in text if not char.isspace()]
    return bool(letters) and 2 * sum(any(low <= code <= high for low, high in _CJK) for code in letters) >= len(letters)


def directions_of(across: FloatArray, down: FloatArray, texts: Sequence[str]) -> IntArray:
    """Returns for each line by how many degrees clockwise it is turned: 0, 90, 180 or 270.

    The first side of a quad, `across`, is the top of its text. Where it is the shorter one, the corners don't begin at
    the text's: then text runs from left to right or, if it stands on its side, downwards in the scripts of vertical
    columns and upwards in others, as captions beside pictures and titles on spines mostly do.
    """
    certain = ~((np.hypot(*down.T) > TALL_ASPECT * np.hypot(*across.T)) & (_lengths(texts) > 1))
    along = np.where(certain[:, None], across, down)
    quarter: IntArray = np.rint(np.arctan2(along[:, 1], along[:, 0]) / (np.pi / 2)).astype(np.int64) % 4
    found: IntArray = np.where(certain, 90 * quarter, 0)
    for at in np.flatnonzero(~certain & (quarter % 2 == 1)).tolist():
        found[at] = _DOWNWARDS if is_columnar(texts[at]) else _UPWARDS
    return found


def page_direction(directions: IntArray, across: FloatArray, down: FloatArray, texts: Sequence[str]) -> int:
    """The direction of most of the page's text; 0 in doubt."""
    width, height = np.hypot(*across.T), np.hypot(*down.T)
    lengths = _lengths(texts)
    clear = (np.maximum(width, height) > TALL_ASPECT * np.minimum(width, height)) & (lengths > 1)
    for direction in (90, 180, 270):
        if 2 * int(lengths[clear & (directions == direction)].sum()) > int(lengths.sum()):
            return direction
    return 0


def turned_lines(directions: IntArray, half: FloatArray, texts: Sequence[str]) -> IntArray:
    """The directions of lines in the page's frame, 0 for those too short to tell; `half`: half their width and
    height.
    """
    lengths = _lengths(texts)
    sideways = (half[:, 1] > TALL_ASPECT * half[:, 0]) & (lengths >= MIN_SIDEWAYS)
    inverted = (half[:, 0] > INVERTED_ASPECT * half[:, 1]) & (lengths >= MIN_INVERTED) & (directions == 180)
    # A line at 45 degrees is tall to the one and wide to the other.
    known = np.where(directions % 180 == 90, directions, _UPWARDS)
    return np.where(sideways, known, np.where(inverted, 180, 0))


def set_upright(vectors: FloatArray, degrees: int) -> FloatArray:
    """Vectors (N, 2) of text that is turned clockwise by 0, 90, 180 or 270 degrees, turned back."""
    x, y = vectors[:, 0], vectors[:, 1]
    if degrees == _DOWNWARDS:
        return np.stack([y, -x], axis=1)
    if degrees == _UPWARDS:
        return np.stack([-y, x], axis=1)
    return -vectors if degrees == 180 else vectors


def _lengths(texts: Sequence[str]) -> IntArray:
    return np.array([len(text) for text in texts], dtype=np.int64)
