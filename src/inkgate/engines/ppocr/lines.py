"""Turns boxes and recognized text into lines and words: order of corners, lines read both ways up, and what is dropped.

Boxes of neighbours on a row may overlap, and crops include a margin around their boxes (`crops.with_margin`): a
character there may be read in both lines, as in "16" and "6 Annual Report" at a footnote mark. `own_text` removes it
from one of them. Words get their positions from the columns in which the recognition model found their characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import TALL, along_quad, crop, side_lengths, with_margin, without_margin
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Line, Point, Quad, Word

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
_SHORT = 4.0
"""A box this many times as wide as high holds more letters than three, whatever was read in it."""
_CLEARLY = 1.3
"""The upside-down reading must be worth this many times as much to win."""
_NARROW = 1.6
"""Tall boxes up to this many times as high as the page's other lines are single narrow characters."""
_ENOUGH_FLAT = 3
"""Flat boxes that tell how high a page's lines are."""
_STROKE, _DOT = 0.4, 0.4
"""Part of the contrast from which a pixel is ink, and of a stroke's height below which another is its dot."""


def words_of(reading: RecognizedText, quad: FloatArray) -> tuple[Word, ...]:
    """The words of a line, left to right. `quad`: (4, 2), the line's corners in reading order.

    A word's quad is as high as its line; its confidence is the mean of its characters'.
    """
    edges = _edges(reading.positions)
    return tuple(
        Word(
            reading.text[start:end],
            part_of(quad, float(edges[start, 0]), float(edges[end - 1, 1])),
            float(reading.confidences[start:end].mean()),
        )
        for start, end in _spans(reading.text)
    )


def part_of(quad: FloatArray, left: float, right: float) -> Quad:
    """The part of a quad (4, 2) between two fractions of its length, in [0, 1]."""
    top, bottom = quad[1] - quad[0], quad[2] - quad[3]
    return (
        _point(quad[0] + left * top),
        _point(quad[0] + right * top),
        _point(quad[3] + right * bottom),
        _point(quad[3] + left * bottom),
    )


def _point(xy: FloatArray) -> Point:
    return float(xy[0]), float(xy[1])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each word in `text`: runs between spaces, and each character of an unspaced script."""
    start = 0
    for index, character in enumerate(text):
        space = character.isspace()
        alone = not space and unspaced(character)
        if (alone or space) and start < index:
            yield start, index
        if alone:
            yield index, index + 1
        if alone or space:
            start = index + 1
    if start < len(text):
        yield start, len(text)


def _edges(positions: FloatArray) -> FloatArray:
    """Left and right edge of each character (n, 2) from their centres, as parts of the line.

    Edges are half-way to the neighbours; at the ends of the line, where boxes are tight, twice as far outwards.
    """
    if len(positions) < 2:
        return np.tile(np.array([0.0, 1.0], np.float32), (len(positions), 1))
    between = (positions[1:] + positions[:-1]) / 2
    first, last = 2 * positions[0] - positions[1], 2 * positions[-1] - positions[-2]
    bounds = np.concatenate([[first], between, [last]]).clip(0, 1).astype(np.float32)
    return np.stack([bounds[:-1], bounds[1:]], axis=1)


@dataclass(frozen=True, slots=True)
class RecognizedCrop:
    """A line's quad (4, 2) and the text recognized in its crop."""

    quad: FloatArray
    reading: RecognizedText


def own_text(line: RecognizedCrop, lines: Sequence[RecognizedCrop]) -> RecognizedText:
    """The line's text without a character at either end that lies in another line and was also read there.

    A character in both boxes stays with the line that ends there; a character in a crop's margin is removed.
    """
    text = line.reading.text
    if len(text) < 2:
        return line.reading
    places = along_quad(line.reading.positions, line.quad)
    first = int(any(_holds(other, line, places[0], -1) for other in lines))
    last = int(places[-1] > 1 and any(_holds(other, line, places[-1], 0) for other in lines))
    if not first and not last:
        return line.reading
    inner = text[first : len(text) - last]
    span = slice(first + len(inner) - len(inner.lstrip()), first + len(inner.rstrip()))
    reading = line.reading
    return replace(reading, text=text[span], confidences=reading.confidences[span], positions=reading.positions[span])


def _holds(other: RecognizedCrop, line: RecognizedCrop, place: float, end: int) -> bool:
    """Whether another line covers the point at `place` along the middle of `line`, and has its character at that end.

    `end`: the other line's last character (-1) for the start of `line`, its first (0) for the end of `line`.
    """
    character = line.reading.text[0 if end else -1]
    if other is line or not other.reading.text or other.reading.text[end] != character:
        return False
    left, right = (line.quad[0] + line.quad[3]) / 2, (line.quad[1] + line.quad[2]) / 2
    x, y = (left + (right - left) * place).tolist()
    return cv2.pointPolygonTest(np.asarray(other.quad, np.float32), (x, y), measureDist=False) >= 0


@dataclass(frozen=True, slots=True)
class LineCrop:
    """A line's quad (4, 2) in reading order, in pixels of the image, and its upright pixels.

    The pixels include a margin around the quad: see `crops.with_margin`.
    """

    quad: FloatArray
    pixels: RgbArray


def crops_of(rgb: RgbArray, quads: FloatArray) -> list[LineCrop]:
    """The crops of the boxes (N, 4, 2) of an image, in their order."""
    ordered = in_reading_order(quads)
    if not _are_comparable(quads):
        tall = np.flatnonzero((ordered != quads).any(axis=(1, 2)))
        single = [at for at in tall.tolist() if _is_one_stroke(crop(rgb, with_margin(quads[at])))]
        ordered[single] = quads[single]
    return [_crop(rgb, quad) for quad in ordered]


def _are_comparable(quads: FloatArray) -> bool:
    """Whether there are enough flat boxes to tell how high a page's lines are."""
    widths, heights = side_lengths(quads)
    return int((heights < TALL * widths).sum()) >= _ENOUGH_FLAT


def _is_one_stroke(pixels: RgbArray) -> bool:
    """Whether the ink of a tall crop is one piece from top to bottom, but for a dot: a lone 1, I or ! and no text."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    contrast = np.abs(grey - np.median(np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])))
    rows = np.concatenate([[False], (contrast > _STROKE * max(float(contrast.max()), 1.0)).any(axis=1), [False]])
    changes = np.flatnonzero(rows[1:] != rows[:-1])
    pieces = np.sort(changes[1::2] - changes[::2])
    return len(pieces) == 1 or (len(pieces) == 2 and bool(pieces[0] < _DOT * pieces[1]))


def in_reading_order(quads: FloatArray) -> FloatArray:
    """The corners (N, 4, 2), ordered so that each first side is the top of its text.

    Tall boxes are read downwards, with the tops of their letters to the right; except boxes no taller than the height
    of the lines around them, which are single characters such as `1`.
    """
    widths, heights = side_lengths(quads)
    tall = heights >= TALL * widths
    if _are_comparable(quads):
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


def is_short(item: LineCrop, reading: RecognizedText) -> bool:
    """Whether a line has too few letters to tell which way up it is: 7 and L, or 6 and 9, are read alike."""
    letters = sum(character != " " for character in reading.text)
    width, height = (float(side[0]) for side in side_lengths(item.quad[None]))
    return letters < _SURE_LETTERS and width < _SHORT * height


def may_be_upside_down(reading: RecognizedText, upside_down_probability: float) -> bool:
    """Whether a line may be upside down: by the classifier, or because it was read poorly."""
    return upside_down_probability >= _UPSIDE_DOWN or reading.confidence < _DOUBTFUL


def is_clearly_better(reading: RecognizedText, than: RecognizedText) -> bool:
    """Whether a line rotated by 180 degrees was read so much better that this is its right way up."""
    return reading.worth > _CLEARLY * than.worth


def is_legible(reading: RecognizedText, min_confidence: float) -> bool:
    """Whether a reading is not empty and has at least that confidence."""
    return bool(reading.text.strip()) and reading.confidence >= min_confidence


def legible_lines(read: Sequence[tuple[LineCrop, RecognizedText]], min_confidence: float) -> list[RecognizedCrop]:
    """The lines with at least that confidence that are not empty."""
    return [RecognizedCrop(item.quad, reading) for item, reading in read if is_legible(reading, min_confidence)]


def lines_of(lines: Sequence[RecognizedCrop], scale: float) -> list[Line]:
    """The lines in page pixels, with `scale` page pixels per pixel of the image."""
    return [line_of(own_text(line, lines), line.quad, scale) for line in lines]


def line_of(reading: RecognizedText, quad: FloatArray, scale: float) -> Line:
    """The line in page pixels, with `scale` page pixels per pixel of the image."""
    scaled = quad * scale
    placed = replace(reading, positions=without_margin(reading.positions, quad))
    return Line(reading.text, part_of(scaled, 0, 1), reading.confidence, words_of(placed, scaled))
