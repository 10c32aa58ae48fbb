"""Words of a line, with positions from the columns in which the recognition model found their characters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.scripts import unspaced
from inkgate.runtimes.base import FloatArray
from inkgate.types import Point, Quad, Word


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
