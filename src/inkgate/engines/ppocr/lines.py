"""From boxes and readings to lines: the order of their corners, second looks, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inkgate.engines.ppocr.crops import TALL, crop, side_lengths
from inkgate.engines.ppocr.recognition import Reading
from inkgate.engines.ppocr.words import part_of, words_of
from inkgate.runtimes.onnx import FloatArray
from inkgate.types import Line, RgbArray

_UPSIDE_DOWN = 0.5
_DOUBTFUL = 0.8
_CLEARLY = 1.3
_NARROW = 1.6
"""Tall boxes up to so many times as high as the page's other lines are single narrow characters."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A line's quad (4, 2) in reading order, in pixels of the image, and its pixels made upright."""

    quad: FloatArray
    pixels: RgbArray


def crops_of(rgb: RgbArray, quads: FloatArray) -> list[Crop]:
    """The crops of the boxes (N, 4, 2) of an image, in their order."""
    return [Crop(quad, crop(rgb, quad)) for quad in in_reading_order(quads)]


def in_reading_order(quads: FloatArray) -> FloatArray:
    """The corners (N, 4, 2) so that each first side is the top of its text.

    Tall boxes are taken to be read downwards, the tops of their letters to the right; except those that are no
    taller than the lines around them are high, which are single characters such as `1`.
    """
    widths, heights = side_lengths(quads)
    tall = heights >= TALL * widths
    if (~tall).sum() >= 3:
        tall &= heights > _NARROW * np.median(heights[~tall])
    return np.where(tall[:, None, None], np.roll(quads, -1, axis=1), quads)


def upside_down(rgb: RgbArray, item: Crop) -> Crop:
    """The same box, read from its other end."""
    quad = np.roll(item.quad, 2, axis=0)
    return Crop(quad, crop(rgb, quad))


def doubtful(reading: Reading, upside_down_probability: float) -> bool:
    """Whether a line may stand upside down: it seems so to the classifier, or it was read poorly."""
    return upside_down_probability >= _UPSIDE_DOWN or reading.confidence < _DOUBTFUL


def clearly_better(reading: Reading, than: Reading) -> bool:
    """Whether a line turned by 180 degrees was read so much better that this is its right way up."""
    return _worth(reading) > _CLEARLY * _worth(than)


def _worth(reading: Reading) -> float:
    # Confidence alone misleads: upside down, the few letters that look like others are read with confidence.
    return len(reading.text.replace(" ", "")) * reading.confidence**2


def legible(reading: Reading, least: float) -> bool:
    """Whether a reading says something, with at least that confidence."""
    return bool(reading.text.strip()) and reading.confidence >= least


def line_of(reading: Reading, quad: FloatArray, scale: float) -> Line:
    """The line in page pixels, of which there are `scale` to one pixel of the image."""
    scaled = quad * scale
    return Line(reading.text, part_of(scaled, 0, 1), reading.confidence, words_of(reading, scaled))
