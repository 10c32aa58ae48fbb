"""Finds lines that the edge of an image cuts: a row of letters of which only a part of the height or width is there.
Pure, blocking.

Along the upper and lower edge, a cut row is many small blobs of ink that touch the edge, end at about the same distance
from it, and stand on plain paper. Along the sides, it is the first or last letters of several lines. Frames, rules,
shadows, dirt and pictures are none of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.page import RgbArray
from inkgate_client.types import Box

_Mask = NDArray[np.uint8]

LONGEST_SIDE = 2000
"""Larger images are shrunk to this size: letters then still have ten pixels and more."""
CONTRAST = 60
"""Ink is darker than the paper beside the edge by this many levels of 255 or more."""
MIN_PAPER = 0.45
"""Share of the strip along the edge that is plain paper; pictures, wood and cloth have less."""
PLAIN = 14
"""Levels by which plain paper differs from the strip's most frequent level."""
MIN_LETTERS = 5
"""Blobs of a cut row."""
MIN_HEIGHT = 6
"""Pixels of a line's height below which nothing can be said about its letters."""
DEPTHS = (0.18, 0.86)
"""Depth of a cut letter in heights of a line; the box of a line is a third higher than its letters."""
WIDEST = 3.0
"""Width of a blob of ink in heights of a line: some letters that touch, but no rule."""
EVEN = 0.45
"""Share of a row's blobs whose depth is near to their median: letters have two or three heights."""
REGULAR = 0.2
"""Variation of widths and distances below which blobs are the teeth of a torn receipt, or a scale: letters differ."""
WIDEST_GAP = 1.6
"""Heights of a line between two blobs of one row: more than between words."""
MIN_LINES = 2
"""Lines that are cut at a side of the image; a single one may just begin there."""


@dataclass(frozen=True, slots=True)
class _Strip:
    """The part of an image along its upper edge. `ink`: (D, W) uint8, 1 for ink. `height`: of a line, in pixels."""

    ink: _Mask
    height: float


def cut_off(rgb: RgbArray, lines: Sequence[Box]) -> list[Box]:
    """Boxes of the parts of lines that the edge cuts, in pixels of `rgb`. `lines`: boxes of those that were read."""
    factor = max(1.0, max(rgb.shape[:2]) / LONGEST_SIDE)
    shrunk = tuple(max(1, round(side / factor)) for side in rgb.shape[:2])
    boxes = [(left / factor, top / factor, right / factor, bottom / factor) for left, top, right, bottom in lines]
    height = _line_height(boxes)
    found: list[Box] = []
    for turns in range(4):  # the upper, right, lower and left edge is up
        sideways = turns % 2 == 1
        shape = shrunk[::-1] if sideways else shrunk
        if height < MIN_HEIGHT or shape[0] < 3 * height:
            continue
        strip = _strip(_upper_part(np.rot90(rgb, turns), shape, round(2 * height)), height)
        if strip is None:
            continue
        spans = [_turned(box, turns, shrunk) for box in boxes] if sideways else []
        cut = _cut_lines(strip, spans) if sideways else _cut_rows(strip)
        found += [_turned(box, -turns, shape) for box in cut]
    return [(left * factor, top * factor, right * factor, bottom * factor) for left, top, right, bottom in found]


def _upper_part(rgb: RgbArray, shape: tuple[int, ...], deep: int) -> _Mask:
    """The upper `deep` rows, in grey, of an image after it was shrunk to `shape`."""
    down, across = (new / old for new, old in zip(shape, rgb.shape[:2], strict=True))
    part = np.ascontiguousarray(rgb[: math.ceil((deep + 1) / down)])
    grey = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY)
    if down < 1:
        grey = cv2.resize(grey, None, fx=across, fy=down, interpolation=cv2.INTER_AREA)
    return np.asarray(grey[:deep], np.uint8)


def _line_height(boxes: Sequence[Box]) -> float:
    """The median of the lines' heights; 0 without lines, as nothing tells letters from dirt then."""
    heights = [min(bottom - top, right - left) for left, top, right, bottom in boxes]
    return float(np.median(heights)) if heights else 0.0


def _strip(part: _Mask, height: float) -> _Strip | None:
    """The strip along the upper edge, two lines deep; None if it does not show plain paper."""
    levels = np.bincount(part.ravel(), minlength=256)
    paper = int(np.convolve(levels, np.ones(9), "same").argmax())
    plain = levels[max(0, paper - PLAIN) : paper + PLAIN + 1].sum() / part.size
    if plain < MIN_PAPER or paper < CONTRAST:
        return None
    return _Strip((part < paper - CONTRAST).astype(np.uint8), height)


def _edge_blobs(strip: _Strip) -> list[tuple[int, int, int]]:
    """Left, right and depth of the blobs that touch the edge and may be letters, from left to right."""
    ink = strip.ink
    border = 0
    while border < 2 and ink[border].mean() > 0.9:  # a scanner's black line
        border += 1
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink[border:], connectivity=8)
    blobs = []
    for left, top, wide, deep, area in stats[1:].tolist():
        if top > 0 or left == 0 or left + wide == ink.shape[1]:
            continue
        low, high = (share * strip.height for share in DEPTHS)
        if low <= deep <= high and wide <= WIDEST * strip.height and area >= 3:
            blobs.append((left, left + wide, deep))
    return sorted(blobs)


def _cut_rows(strip: _Strip) -> list[Box]:
    """Rows of letters of which the upper part is missing."""
    rows: list[list[tuple[int, int, int]]] = []
    for blob in _edge_blobs(strip):
        if rows and blob[0] - rows[-1][-1][1] <= WIDEST_GAP * strip.height:
            rows[-1].append(blob)
        else:
            rows.append([blob])
    return [_row_box(row) for row in rows if _is_row(row)]


def _row_box(row: Sequence[tuple[int, int, int]]) -> Box:
    return (float(row[0][0]), 0.0, float(row[-1][1]), float(max(deep for _, _, deep in row)))


def _is_row(row: Sequence[tuple[int, int, int]]) -> bool:
    if len(row) < MIN_LETTERS:
        return False
    depths = np.array([deep for _, _, deep in row], float)
    near = np.abs(depths - np.median(depths)) <= max(1.5, 0.3 * float(np.median(depths)))
    starts, widths = (np.array(each, float) for each in ([left for left, _, _ in row], [b - a for a, b, _ in row]))
    is_comb = _variation(np.diff(starts)) < REGULAR and _variation(widths) < REGULAR
    return bool(near.mean() >= EVEN) and not is_comb


def _variation(numbers: NDArray[np.float64]) -> float:
    return float(np.std(numbers) / max(float(np.mean(numbers)), 1e-6))


def _cut_lines(strip: _Strip, spans: Sequence[Box]) -> list[Box]:
    """Lines across the edge whose first letters lack a part. `spans`: boxes of lines in the turned image."""
    blobs, cut = _edge_blobs(strip), []
    for left, top, right, _ in spans:
        if top > 0.25 * strip.height:
            continue
        letters = [
            blob
            for blob in blobs
            if left <= (blob[0] + blob[1]) / 2 <= right and 0.25 * strip.height <= blob[1] - blob[0] <= strip.height
        ]
        if letters:
            deep = max(deep for _, _, deep in letters)
            cut.append((float(left), 0.0, float(right), float(deep)))
    return cut if len(cut) >= MIN_LINES else []


def _turned(box: Box, turns: int, shape: tuple[int, ...]) -> Box:
    """`box` of an image of this `shape` after `turns` quarter turns to the left, as np.rot90 does."""
    left, top, right, bottom = box
    height, width = shape[:2]
    for _ in range(turns % 4):
        left, top, right, bottom = top, width - right, bottom, width - left
        height, width = width, height
    return (left, top, right, bottom)
