"""Finds the straight lines drawn on a page in its pixels, and the cells of ruled tables between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from inkgate.layout.tables.ruled import groups_of
from inkgate.page import RgbArray
from inkgate_client.types import Box

Mask = NDArray[np.uint8]

LONGEST_SIDE = 1600
"""Larger pages are shrunk to this; hairlines of a page survive it."""
SMALL_SIDE, MAX_ENLARGED = 1000, 4.0
"""Smaller pages with a line as wide as a table are enlarged to LONGEST_SIDE, at most by this factor, and looked at
again, since hairlines touch the text. On ruled pages of dev shrunk to 300 to 800 pixels, this finds twice as many
cells."""
MIN_SIDE = 32
"""Smaller or narrower images, in pixels after shrinking, contain no table."""
CONTRAST = 20
"""A line is darker than both sides of it by this much, of 255."""
THICKEST = (7, 180)
"""Maximum thickness of a line: pixels, and a share of the longest side, whichever is more."""
MIN_HORIZONTAL, MIN_VERTICAL = (20, 40), (11, 70)
"""Minimum length of a line, as above."""
MIN_WIDTH, MIN_HEIGHT = (60, 8), (30, 40)
"""Minimum width and height of a table, as above."""
MIN_CELL = (6, 160)
"""Minimum width and height of a cell, as above."""
MAX_RULES = 200
"""Maximum lines that are kept of a page: more belong to tables and drawings."""
SLENDER = 4
"""A line is this many times as long as thick."""
RECTANGULAR = 0.5
"""A cell fills this share of its bounds: less if the page is skewed."""
MAX_CELLS = 2000
"""Maximum cells of a table; more are a pattern: squared paper, a screen."""
SIDE_LINES, SIDE_SHARE = 3, 0.5
"""A grid without an outer border on a side gets one if this many of its lines, over this share of it, end there."""
FINE_SIDE = 800
"""Lines are processed at half the resolution if that leaves more than this."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The lines drawn on a page, in its pixels.

    Attributes:
        cells: of all ruled tables, top to bottom and left to right.
        rules: boxes of straight lines, which touching lines share; the longest first, MAX_RULES at most.
    """

    cells: list[Box]
    rules: list[Box]

    def scaled(self, factor: float) -> Ruling:
        """The same lines in an image `factor` times as large."""
        return Ruling(_scaled(self.cells, factor), _scaled(self.rules, factor))


def find_ruling(pixels: RgbArray) -> Ruling:
    """The lines of an image, unbroken and darker than the paper, level or upright with a skew of up to two degrees.

    A table is a net of at least 2 x 2 cells; frames, underlines and tables with only horizontal rules have no cells.
    Blocking; pure.
    """
    height, width = pixels.shape[:2]
    factor = max(1.0, max(height, width) / LONGEST_SIDE)
    if min(height, width) < MIN_SIDE * factor:
        return Ruling([], [])
    grey: MatLike = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    if factor > 1:
        small = (max(1, round(width / factor)), max(1, round(height / factor)))
        grey = cv2.resize(grey, small, interpolation=cv2.INTER_AREA)
    found = _ruling(grey)
    if max(height, width) < SMALL_SIDE and _lines(grey, _dark(grey), MIN_WIDTH, across=True).any():
        larger = min(LONGEST_SIDE / max(height, width), MAX_ENLARGED)
        again = _ruling(cv2.resize(grey, None, fx=larger, fy=larger, interpolation=cv2.INTER_CUBIC))
        found = again.scaled(1 / larger) if len(again.cells) > len(found.cells) else found
    found = found.scaled(factor)
    return Ruling(sorted(found.cells, key=lambda cell: (cell[1], cell[0])), found.rules)


def _ruling(grey: MatLike) -> Ruling:
    """The lines in pixels of the image."""
    dark = _dark(grey)
    drawn = [_lines(grey, dark, MIN_HORIZONTAL, across=True), _lines(grey, dark, MIN_VERTICAL, across=False)]
    if max(grey.shape) > FINE_SIDE:
        drawn = [_halved(lines) for lines in drawn]
    net = _net(cv2.bitwise_or(*drawn), max(grey.shape))
    cells = [] if net is None else [cell for group in groups_of(_spaces(net)) if _is_net(group) for cell in group]
    return Ruling(cells, _rules(*drawn)).scaled(grey.shape[0] / drawn[0].shape[0])


def _rules(across: MatLike, down: MatLike) -> list[Box]:
    """The level and the upright lines of two masks as boxes, the longest first."""
    found = []
    for lines, long in ((across, cv2.CC_STAT_WIDTH), (down, cv2.CC_STAT_HEIGHT)):
        _, _, stats, _ = cv2.connectedComponentsWithStats(lines, connectivity=8, ltype=cv2.CV_32S)
        found += [(row[long], *row[:4]) for row in stats[1:].tolist() if row[long] >= SLENDER * min(row[2], row[3])]
    found.sort(key=lambda rule: (-rule[0], *rule[1:]))
    return [(left, top, left + wide, top + high) for _, left, top, wide, high in found[:MAX_RULES]]


def _scaled(cells: Sequence[Box], factor: float) -> list[Box]:
    """The cells in an image `factor` times as large."""
    return [(a * factor, b * factor, c * factor, d * factor) for a, b, c, d in cells]


def _least(rule: tuple[int, int], longest: int) -> int:
    return max(rule[0], longest // rule[1])


def _net(lines: MatLike, longest: int) -> Mask | None:
    """The lines that cross others and are part of something as large as a table; None if there are none. `longest`: the
    longest side of the image that they were found in.
    """
    down = _least(MIN_VERTICAL, longest)
    if longest > FINE_SIDE:
        longest, down = longest // 2, down // 2
    count, labels, stats, _ = cv2.connectedComponentsWithStats(lines, connectivity=8, ltype=cv2.CV_32S)
    wide = stats[:, cv2.CC_STAT_WIDTH] >= _least(MIN_WIDTH, longest)
    high = stats[:, cv2.CC_STAT_HEIGHT] >= _least(MIN_HEIGHT, longest)
    selected = wide & high & (np.arange(count) > 0)
    if not selected.any():
        return None
    net: Mask = np.where(selected, np.uint8(255), np.uint8(0))[labels]
    for left, top, wide_by, high_by, _ in stats[selected].tolist():
        _close_sides(net[top : top + high_by, left : left + wide_by], down)
    return net


def _dark(grey: MatLike) -> Mask:
    """All pixels that are darker than those around them."""
    side = 5 * _least(THICKEST, max(grey.shape)) | 1
    return _darker(cv2.blur(grey, (side, side)), grey)


def _darker(around: MatLike, grey: MatLike) -> Mask:
    return cv2.threshold(cv2.subtract(around, grey), CONTRAST, 255, cv2.THRESH_BINARY)[1].astype(np.uint8, copy=False)


def _lines(grey: MatLike, dark: Mask, length: tuple[int, int], *, across: bool) -> Mask:
    """Straight thin dark runs of one direction with at least this length, as the constants above, slightly extended so
    that they meet.

    `dark`: all dark pixels. Where another line crosses or text touches it, a line is dark but not thin. Runs are
    thickened, because a skewed hairline is a stair of short runs.
    """
    thick, bar = _least(THICKEST, max(grey.shape)), _bar(_least(length, max(grey.shape)), across=across)
    thin = _darker(cv2.morphologyEx(grey, cv2.MORPH_CLOSE, _bar(thick, across=not across)), grey)
    between = cv2.morphologyEx(thin, cv2.MORPH_CLOSE, _bar(2 * thick + 1, across=across))
    whole = cv2.bitwise_or(thin, cv2.bitwise_and(between, dark))
    found = cv2.morphologyEx(cv2.dilate(whole, _bar(3, across=not across)), cv2.MORPH_OPEN, bar)
    return np.asarray(cv2.dilate(found, _bar(7, across=across)), np.uint8)


def _halved(lines: MatLike) -> Mask:
    """The lines in an image of half the size; none is lost."""
    height, width = lines.shape[0] // 2 * 2, lines.shape[1] // 2 * 2
    upper, lower = lines[:height:2], lines[1:height:2]
    rows = cv2.bitwise_or(upper, lower)
    return np.asarray(cv2.bitwise_or(rows[:, :width:2].copy(), rows[:, 1:width:2].copy()), np.uint8)


def _bar(length: int, *, across: bool) -> Mask:
    return np.ones((1, length) if across else (length, 1), np.uint8)


def _close_sides(part: Mask, near: int) -> None:
    """Draws, in place, the outer border of a grid on sides without one on which its lines end together."""
    for view in (part, part[:, ::-1], part.T, part.T[:, ::-1]):
        strip = view[:, : max(3, near // 3)]
        rows = np.flatnonzero(strip.any(axis=1))
        ends = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        if len(ends) >= SIDE_LINES and ends[-1][-1] - ends[0][0] >= SIDE_SHARE * len(view):
            view[ends[0][0] : ends[-1][-1] + 1, :2] = 255


def _spaces(net: Mask) -> list[Box]:
    """The rectangles between the lines, without those that contain others."""
    height, width = net.shape
    least = _least(MIN_CELL, max(height, width))
    _, _, stats, _ = cv2.connectedComponentsWithStats(cv2.bitwise_not(net), connectivity=4, ltype=cv2.CV_32S)
    spaces: list[Box] = []
    for left, top, wide, high, area in stats[1:].tolist():
        if min(wide, high) < least or area < RECTANGULAR * wide * high or wide == width or high == height:
            continue
        # Bounds of a skewed cell are too large: its longer side gives its length, its area the other one.
        short = area / max(wide, high)
        half_wide, half_high = (wide / 2, short / 2) if wide >= high else (short / 2, high / 2)
        x, y = left + wide / 2, top + high / 2
        spaces.append((x - half_wide, y - half_high, x + half_wide, y + half_high))
    return _innermost(spaces) if len(spaces) <= MAX_CELLS else []


def _innermost(spaces: list[Box]) -> list[Box]:
    if not spaces:
        return []
    boxes = np.array(spaces)
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    left, top, right, bottom = boxes.T[:, :, None]
    holds = (left < x) & (x < right) & (top < y) & (y < bottom)
    np.fill_diagonal(holds, val=False)
    return [space for space, outer in zip(spaces, holds.any(axis=1).tolist(), strict=True) if not outer]


def _is_net(cells: list[Box]) -> bool:
    """Whether at least two cells have a neighbour to the right, and two have one below."""
    boxes = np.array(cells)
    left, top, right, bottom = boxes.T
    x, y = ((left + right) / 2)[:, None], ((top + bottom) / 2)[:, None]
    beside = ((left > x) & (top < y) & (y < bottom)).any(axis=1).sum()
    below = ((top > y) & (left < x) & (x < right)).any(axis=1).sum()
    return bool(len(cells) >= 4 and beside >= 2 and below >= 2)
