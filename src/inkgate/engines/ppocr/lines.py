"""From boxes and recognized text to lines: order of corners, lines read both ways up, and lines that are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inkgate.engines.ppocr.crops import TALL, crop, side_lengths, with_margin, without_margin
from inkgate.engines.ppocr.neighbours import RecognizedCrop, own_text
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.words import part_of, words_of
from inkgate.runtimes.base import FloatArray
from inkgate.types import Line, RgbArray

_UPSIDE_DOWN = 0.5
"""Probability of being upside down from which a line is read both ways up. Low, because the two readings then
decide."""
_DOUBTFUL = 0.9
"""Confidence below which a line is also read both ways up: 98% of the upright lines of the development pages have
more."""
_SURE, _SURE_LETTERS = 0.95, 4
"""A line with at least this confidence and this many letters skips the line classifier. Of 444 upright development
lines 85% do, and of the same lines upside down 2, which read the same both ways; the classifier takes 31 of the upright
ones for upside down."""
_CLEARLY = 1.3
"""The upside-down reading must be worth this many times as much to win."""
_NARROW = 1.6
"""Tall boxes up to this many times as high as the page's other lines are single narrow characters."""


@dataclass(frozen=True, slots=True)
class LineCrop:
    """A line's quad (4, 2) in reading order, in pixels of the image, and its upright pixels.

    The pixels include a margin around the quad: see `crops.with_margin`.
    """

    quad: FloatArray
    pixels: RgbArray


def crops_of(rgb: RgbArray, quads: FloatArray) -> list[LineCrop]:
    """The crops of the boxes (N, 4, 2) of an image, in their order."""
    return [_crop(rgb, quad) for quad in in_reading_order(quads)]


def in_reading_order(quads: FloatArray) -> FloatArray:
    """The corners (N, 4, 2), ordered so that each first side is the top of its text.

    Tall boxes are read downwards, with the tops of their letters to the right; except boxes no taller than the height
    of the lines around them, which are single characters such as `1`.
    """
    widths, heights = side_lengths(quads)
    tall = heights >= TALL * widths
    if (~tall).sum() >= 3:
        tall &= heights > _NARROW * np.median(heights[~tall])
    return np.where(tall[:, None, None], np.roll(quads, -1, axis=1), quads)


def rotate_boxes(rgb: RgbArray, items: Sequence[LineCrop]) -> list[LineCrop]:
    """The same boxes with their text rotated by 180 degrees."""
    return [_crop(rgb, np.roll(item.quad, 2, axis=0)) for item in items]


def _crop(rgb: RgbArray, quad: FloatArray) -> LineCrop:
    return LineCrop(quad, crop(rgb, with_margin(quad)))


def is_certain(reading: RecognizedText) -> bool:
    """Whether a line was read so well that it must be upright."""
    letters = sum(character != " " for character in reading.text)
    return letters >= _SURE_LETTERS and reading.confidence >= _SURE


def may_be_upside_down(reading: RecognizedText, upside_down_probability: float) -> bool:
    """Whether a line may be upside down: by the classifier, or because it was read poorly."""
    return upside_down_probability >= _UPSIDE_DOWN or reading.confidence < _DOUBTFUL


def is_clearly_better(reading: RecognizedText, than: RecognizedText) -> bool:
    """Whether a line rotated by 180 degrees was read so much better that this is its right way up."""
    return reading.worth > _CLEARLY * than.worth


def is_legible(reading: RecognizedText, least: float) -> bool:
    """Whether a reading is not empty and has at least that confidence."""
    return bool(reading.text.strip()) and reading.confidence >= least


def lines_of(read: Sequence[tuple[LineCrop, RecognizedText]], scale: float, least: float) -> list[Line]:
    """The legible lines, in page pixels, with `scale` page pixels per pixel of the image."""
    lines = [RecognizedCrop(item.quad, reading) for item, reading in read if is_legible(reading, least)]
    return [line_of(own_text(line, lines), line.quad, scale) for line in lines]


def line_of(reading: RecognizedText, quad: FloatArray, scale: float) -> Line:
    """The line in page pixels, with `scale` page pixels per pixel of the image."""
    scaled = quad * scale
    placed = replace(reading, positions=without_margin(reading.positions, quad))
    return Line(reading.text, part_of(scaled, 0, 1), reading.confidence, words_of(placed, scaled))
