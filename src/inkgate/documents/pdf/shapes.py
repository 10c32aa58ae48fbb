"""Whether a font's characters look like those that its map claims. Blocking, in worker processes.

A small neural network (two hidden layers, in NumPy) sees each character's ink at 16 x 16 pixels and its position on the
line. training/shapes.py trains it and says how well it does. 60 characters take about 1 ms.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
"""The network's classes, in order. One more class follows: anything else, such as a bracket or an accented letter."""
GRID = 16
"""Width and height, in cells, of the picture that the network sees."""
FEATURES = GRID * GRID + 4
LAYERS = ((FEATURES, 192), (192, 80), (80, len(ALPHABET) + 1))
"""Inputs and outputs of the network's layers."""
WEIGHTS = Path(__file__).parent / "shapes.f16"
"""The network's weights: for each layer the matrix (inputs, outputs), then the bias, float16, little-endian."""
MAX_SIDE = 48
"""Pixels. Larger crops are reduced by leaving out rows and columns, which costs no accuracy."""
MIN_INK = 0.25
"""Least darkness, as a share of the darkest pixel's, of a row or column that belongs to the character."""
_LIGHT_BORDER = 0.4
"""A crop is dark on light if its border is lighter than this share of its range. Below a half: text is mostly dark on
light, and a thick "I" fills the border of its box.
"""
_TWINS = ("0Oo", "1Il", "Cc", "Kk", "Pp", "Ss", "Uu", "Vv", "Ww", "Xx", "Yy", "Zz")
"""Characters that some fonts draw alike. None of them is doubted for looking like another of its group."""
_SMALL_SIDE = 24
"""Pixels of a side of most characters at 150 dpi."""
_MIN_RANGE = 16
"""Grey levels between ground and ink. Crops with less are not judged: nothing is drawn there."""
_MIN_LIKENESS = -12.0
"""The value at which the logarithm of a probability is cut off, so that one odd sample among several does not decide.
"""
_DIGIT_MARGINS = (3.5, 2.0)
"""How much likelier, as a logarithm, another digit must be than the claimed one: by one sample, by more."""
_DIGIT_BY_ANY = 6.0
"""The same where a letter or sign is likelier. Higher, because a wrong map seldom turns letters into digits alone."""
_LETTER_MARGIN = 2.0
"""The same for letters. Chosen on the validating fonts, as the other margins: see training/shapes.py."""
_DIGITS = len(string.digits)
_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """A character as a page shows it.

    Attributes:
        text: the character that the font's map claims.
        ink: grey (H, W) uint8, cut from the rendered page around the character's box; best with a margin of a pixel.
        above, below: top and bottom of the box over the baseline, in ems; up is positive.
    """

    text: str
    ink: NDArray[np.uint8]
    above: float
    below: float


def doubtful(fonts: Sequence[Sequence[Shape]]) -> list[dict[str, str]]:
    """Returns the characters of each font that don't look like what the font's map claims, each with what it looks
    like; empty if like none of ALPHABET. `fonts` has samples.

    Only letters and digits of ASCII are judged; others are left out.
    """
    known = [(number, shape) for number, shapes in enumerate(fonts) for shape in shapes
             if shape.text in _NUMBERS and shape.ink.size]  # fmt: skip
    if not known:
        return [{} for _ in fonts]
    # Large ones apart: all have as much room as the largest.
    known.sort(key=lambda each: max(each[1].ink.shape) > _SMALL_SIDE)
    small = sum(max(shape.ink.shape) <= _SMALL_SIDE for _, shape in known)
    parts = [[shape for _, shape in part] for part in (known[:small], known[small:]) if part]
    seen = np.concatenate([features(part) for part in parts])
    drawn = seen[:, : GRID * GRID].max(1) > 0
    alike = likeness(seen)
    own = np.array([number for number, _ in known])
    places = [np.flatnonzero(drawn & (own == number)) for number in range(len(fonts))]
    return [judge([known[place][1].text for place in found], alike[found]) for found in places]


def features(shapes: Sequence[Shape]) -> _Floats:
    """What the network sees of each shape, (N, FEATURES): the ink from 0 to 1, cut to its bounds and stretched to
    GRID x GRID cells; then the logarithm of the bounds' height by width; above; below; and 4 by the height in pixels.
    """
    inks = [_reduced(shape.ink) for shape in shapes]
    heights, widths = (np.array([ink.shape[axis] for ink in inks]) for axis in (0, 1))
    grey = np.empty((len(inks), heights.max(), widths.max()), np.float32)
    for page, crop in zip(grey, inks, strict=True):
        page.fill(crop[0, 0])  # neither darker nor lighter than the crop
        page[: crop.shape[0], : crop.shape[1]] = crop
    ink = _normalized(grey, heights, widths)
    top, bottom = _bounds(ink.max(2))
    left, right = _bounds(ink.max(1))
    result = np.empty((len(inks), FEATURES), np.float32)
    across = _cells(left, right, ink.shape[2]).transpose(0, 2, 1)
    result[:, : GRID * GRID] = (_cells(top, bottom, ink.shape[1]) @ ink @ across).reshape(len(inks), -1)
    scale = np.array([shape.ink.shape[0] for shape in shapes], np.float32) / heights
    result[:, -4] = np.log((bottom - top) / (right - left))
    result[:, -3] = [shape.above for shape in shapes]
    result[:, -2] = [shape.below for shape in shapes]
    result[:, -1] = 4 / np.maximum((bottom - top) * scale, 1)
    return result


def likeness(seen: _Floats) -> _Floats:
    """Logarithms of the probabilities of the characters of ALPHABET and of none of them, (N, 63), by `features`."""
    layers = _network()
    for matrix, bias in layers[:-1]:
        seen = np.maximum(seen @ matrix + bias, 0)
    matrix, bias = layers[-1]
    seen = seen @ matrix + bias
    seen -= seen.max(1, keepdims=True)
    seen -= np.log(np.exp(seen).sum(1, keepdims=True))
    return seen


def judge(claimed: Sequence[str], seen: _Floats) -> dict[str, str]:
    """The doubtful ones among the characters `claimed`, whose `likeness` is `seen`, (N, 63); as `doubtful`."""
    if not claimed:
        return {}
    chars, places = np.unique(claimed, return_inverse=True)
    samples = (np.arange(len(chars))[:, None] == places).astype(np.float32)
    counts = samples.sum(1)
    mean = samples @ np.maximum(seen, _MIN_LIKENESS) / counts[:, None]
    accepted = _accepted()[[_NUMBERS[char] for char in chars]]
    own = np.log((np.exp(mean) * accepted).sum(1))
    others = np.where(accepted, -np.inf, mean)
    by_any = others.max(1) - own
    by_digit = others[:, :_DIGITS].max(1) - own
    limits = np.where(counts > 1, _DIGIT_MARGINS[1], _DIGIT_MARGINS[0])
    is_digit = chars <= "9"
    doubted = np.where(is_digit, (by_digit > limits) | (by_any > _DIGIT_BY_ANY), by_any > _LETTER_MARGIN)
    alike = (ALPHABET[number : number + 1] for number in others.argmax(1)[doubted].tolist())
    return dict(zip(chars[doubted].tolist(), alike, strict=True))


def _reduced(ink: NDArray[np.uint8]) -> NDArray[np.uint8]:
    step = 1 + (max(ink.shape) - 1) // MAX_SIDE
    return ink[::step, ::step] if step > 1 else ink


def _normalized(grey: _Floats, heights: NDArray[np.int_], widths: NDArray[np.int_]) -> _Floats:
    """Ink from 0 (the ground) to 1, and 0 where nothing is drawn. `grey`'s crops have `heights` and `widths`; around
    them it has their first pixel.
    """
    count, height, width = grey.shape
    rows = (np.arange(height) < heights[:, None]).astype(np.float32)
    columns = (np.arange(width) < widths[:, None]).astype(np.float32)
    low, high = grey.min((1, 2)), grey.max((1, 2))
    each = np.arange(count)
    border = ((grey[:, 0] + grey[each, heights - 1]) * columns).sum(1)
    border += ((grey[:, :, 0] + grey[each, :, widths - 1]) * rows).sum(1)
    border /= 2 * (heights + widths)
    span = np.where(high - low < _MIN_RANGE, np.inf, high - low)
    dark = border - low > _LIGHT_BORDER * (high - low)
    grey -= np.where(dark, high, low)[:, None, None]
    grey *= (rows * (np.where(dark, -1, 1) / span)[:, None].astype(np.float32))[:, :, None]
    grey *= columns[:, None, :]
    return grey


def _bounds(profile: _Floats) -> tuple[_Floats, _Floats]:
    """First row (or column) with ink, and the one after the last; the whole of it where there is none."""
    inked = profile > MIN_INK
    first, last = inked.argmax(1), profile.shape[1] - inked[:, ::-1].argmax(1)
    return first.astype(np.float32), last.astype(np.float32)


def _cells(low: _Floats, high: _Floats, size: int) -> _Floats:
    """Weights (N, GRID, `size`) of pixels in the cells between `low` and `high`: a cell is the mean over its length,
    or over a pixel's where cells are shorter, which is linear interpolation.
    """
    step = ((high - low) / GRID)[:, None]
    half = np.maximum(step, 1) / 2
    middle = low[:, None] + step * (np.arange(GRID, dtype=np.float32) + 0.5)
    pixels = np.arange(size, dtype=np.float32)
    weights = np.minimum((middle + half)[:, :, None], pixels + 1)
    weights -= np.maximum((middle - half)[:, :, None], pixels)
    np.maximum(weights, 0, out=weights)
    weights /= (2 * half)[:, :, None]
    return weights


@lru_cache(maxsize=1)
def _network() -> list[tuple[_Floats, _Floats]]:
    """Matrix and bias of each layer."""
    numbers = np.fromfile(WEIGHTS, "<f2").astype(np.float32)
    ends = np.cumsum([0, *(size for inputs, outputs in LAYERS for size in (inputs * outputs, outputs))])
    parts = [numbers[start:end] for start, end in pairwise(ends)]
    shaped = [part.reshape(shape) for part, shape in zip(parts[::2], LAYERS, strict=True)]
    return list(zip(shaped, parts[1::2], strict=True))


@lru_cache(maxsize=1)
def _accepted() -> NDArray[np.bool_]:
    """Returns for each character (62) the classes (63) that its ink may look like: itself, its twins and, for small
    letters, the capital, which fonts with small capitals show.
    """
    table = np.zeros((len(ALPHABET), len(ALPHABET) + 1), bool)
    for char, number in _NUMBERS.items():
        alike = {char, char.upper()}.union(*(group for group in _TWINS if char in group))
        table[number, [_NUMBERS[other] for other in alike]] = True
    return table


_NUMBERS = {char: number for number, char in enumerate(ALPHABET)}
