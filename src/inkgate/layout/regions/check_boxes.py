"""Finds boxes to tick in a page's pixels: small hollow squares of about the height of the text beside them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from inkgate.layout.evidence import CheckBox
from inkgate.page import RgbArray
from inkgate_client.types import Line

Mask = NDArray[np.uint8]
Bounds = tuple[int, int, int, int]
"""Left, top, right, bottom of pixels."""

LONGEST_SIDE = 2000
"""Larger pages are shrunk to this: 180 pixels per inch of a letter, at which a box of 8 points is 20 pixels wide."""
CONTRAST = 24
"""Ink is darker than the paper around it by this much, of 255."""
MIN_SIDE = 12
"""Smaller squares, in pixels, can't be told from letters."""
SIDES = (0.75, 2.2)
"""Sides of a box, in heights of the page's lines."""
SQUARE = 1.2
"""Maximum ratio of a box's longer side to its shorter one."""
THICK = 0.2
"""Maximum border, as a share of the side; at least two pixels are allowed: a skewed edge is a stair."""
DRAWN = 0.85
"""Each side is drawn over this share of its length: less in letters, all of which have an open or a round side."""
MARGIN, CLEAR = 0.15, 0.12
"""Within this share of its side, at its left and its right, at most this share is ink: there is text, or a pattern.
Only the lower half counts: ticks reach out at the top."""
FILLED = 0.06
"""Share of ink inside from which a box is ticked. Empty ones have next to none, a thin tick of a pen 0.12."""
MAX_CONFIDENCE = 0.99
BESIDE, ABOVE = 3.5, 2.0
"""A box has a line beside it, or above or below it, at most this far away, in heights of the page's lines."""
OFF_CENTRE = 0.4
"""A box above or below a line is at most this share of the line's width off its middle: a square below the end of a
line ends a proof."""
MAX_SQUARES = 200
"""Maximum squares of a page; more are a pattern."""
LONG_STROKE = 0.6
"""Edges of a box are rows or columns with a stroke over this share of it: a tick that reaches out has a shorter one."""
BOX_LETTERS = frozenset("□☐☑☒■▢口")
"""What a box within a line may be read as."""
FREE = 0.3
"""A box within a line that is read as nothing has this share of its side free at its left and right. Between letters
there is half of that."""
CORNER = 0.12
"""Share of the side from each corner within which there is ink: letters are round."""
SQUARE_LETTERS = frozenset("日目田国回因四白自由甲申曲囗口囚困固圆園圖圍団図面血皿ロ")
"""Letters that are drawn as boxes are."""
FULL_HEIGHT = 0.75
"""A box within a line is at least this share of the line's height; letters without ascenders are half of it, capitals
less than this."""
OVER_BOX = 1.4
"""A line this many times as high as the box isn't text of the box's row."""
COMB = 0.5
"""Neighbours nearer than this share of their side are places for letters, if there are three."""


def find_check_boxes(pixels: RgbArray, scale: float, lines: Sequence[Line]) -> list[CheckBox]:
    """Boxes to tick, top to bottom and left to right, in pixels of the page; ticked if there is ink in them.

    Finds none in text, and none whose border touches other lines, as those of a table's grid do. Blocking; pure.

    Args:
        pixels: the upright page.
        scale: page pixels per pixel of `pixels`.
        lines: of the page, in page pixels: a box stands near one.
    """
    if not lines or not pixels.size:
        return []
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    factor = max(1.0, max(grey.shape) / LONGEST_SIDE)
    if factor > 1:
        size = (max(1, round(grey.shape[1] / factor)), max(1, round(grey.shape[0] / factor)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    scale *= factor
    unit = median(min(line.box[2] - line.box[0], line.box[3] - line.box[1]) for line in lines) / scale
    dark = _dark(grey, unit)
    squares = _without_combs([box for box in _squares(dark, unit) if _is_box(dark, box)])
    if len(squares) > MAX_SQUARES:
        return []
    places = np.array([line.box for line in lines], np.float64) / scale
    labels = np.array([place for place, line in zip(places, lines, strict=True) if len(line.text.strip()) > 1])
    found = []
    for left, top, right, bottom in squares:
        box = (left * scale, top * scale, right * scale, bottom * scale)
        bounds = np.array((left, top, right, bottom), np.float64)
        if _near(bounds, labels.reshape(-1, 4), unit) and not _is_letter(
            bounds, lines, places, free=_is_free(dark, (left, top, right, bottom), FREE)
        ):
            fill = _fill(dark, (left, top, right, bottom))
            found.append(CheckBox(box, fill >= FILLED, _sureness(fill)))
    return sorted(found, key=lambda box: (box.box[1], box.box[0]))


def _dark(grey: MatLike, unit: float) -> Mask:
    """255 where there is ink."""
    around = cv2.blur(grey, (int(4 * unit) | 1, int(4 * unit) | 1))
    return np.asarray(cv2.threshold(cv2.subtract(around, grey), CONTRAST, 255, cv2.THRESH_BINARY)[1], np.uint8)


def _squares(dark: Mask, unit: float) -> list[Bounds]:
    """Bounds of what straight strokes, across and down, join to a square."""
    least, most = max(MIN_SIDE, int(SIDES[0] * unit)), int(SIDES[1] * unit) + 1
    length = max(MIN_SIDE - 2, int(0.8 * least))
    across = _strokes(dark, length, most, across=True)
    down = _strokes(dark, length, most, across=False)
    strokes = cv2.bitwise_or(across, down)
    # Outlines take half the time of connected components. Those of holes have a parent.
    outlines, parents = cv2.findContours(strokes, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    found = []
    for i, outline in enumerate(outlines):
        x, y, w, h = cv2.boundingRect(outline)
        if min(w, h) < least or max(w, h) > 2 * most or parents[0, i, 3] >= 0:
            continue
        bounds = _edges(across[y : y + h, x : x + w] > 0, down[y : y + h, x : x + w] > 0)
        if bounds is None:
            continue
        wide_by, high_by = bounds[2] - bounds[0], bounds[3] - bounds[1]
        shorter, longer = sorted((wide_by, high_by))
        if least <= shorter and longer <= min(most, SQUARE * shorter):
            found.append((x + bounds[0], y + bounds[1], x + bounds[2], y + bounds[3]))
    return found


def _strokes(dark: Mask, length: int, most: int, *, across: bool) -> Mask:
    """Straight runs of ink at least `length` long, without rules, which are longer than `most`."""

    def runs(ink: MatLike, least: int) -> MatLike:
        return cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((1, least) if across else (least, 1), np.uint8))

    found = np.asarray(runs(dark, length), np.uint8)
    if not across:
        return np.asarray(cv2.subtract(found, runs(found, 2 * most)), np.uint8)
    # At the image's edge, half of a rule is enough; few rows have that, and long bars take time.
    ruled = np.flatnonzero(cv2.reduce(found, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S) >= 255 * most)
    if len(ruled):
        found[ruled] = cv2.subtract(found[ruled], runs(found[ruled], 2 * most))
    return found


def _edges(across: NDArray[np.bool_], down: NDArray[np.bool_]) -> Bounds | None:
    """The outer edges of the square that the strokes draw; None if they draw none."""
    rows = np.flatnonzero(across.any(1) & (across.sum(1) >= LONG_STROKE * down.any(0).sum()))
    if len(rows) < 2:
        return None
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    columns = np.flatnonzero(down[top:bottom].sum(0) >= LONG_STROKE * (bottom - top))
    return (int(columns[0]), top, int(columns[-1]) + 1, bottom) if len(columns) > 1 else None


def _is_box(dark: Mask, box: Bounds) -> bool:
    """Whether the square's four sides are drawn, thin, and have no ink beside them."""
    left, top, right, bottom = box
    side = min(right - left, bottom - top)
    thick = max(2, round(THICK * side / 2))
    inside = dark[top:bottom, left:right] > 0
    edges = (inside[:thick].any(0), inside[-thick:].any(0), inside[:, :thick].any(1), inside[:, -thick:].any(1))
    if any(edge.mean() < DRAWN for edge in edges):
        return False
    near = max(2, round(CORNER * side))
    ends = (slice(None, near), slice(-near, None))
    if not all(inside[down, across].any() for down in ends for across in ends):
        return False
    return _is_free(dark, box, MARGIN) and not _is_solid(inside, side)


def _is_free(dark: Mask, box: Bounds, margin: float) -> bool:
    """Whether there is no ink at the left and right of the box's lower half, within this share of its side."""
    left, top, right, bottom = box
    gap, middle = max(3, round(margin * (right - left))), (top + bottom) // 2
    beside = (dark[middle:bottom, max(0, left - gap) : max(0, left - 1)], dark[middle:bottom, right + 1 : right + gap])
    return all(part.size == 0 or (part > 0).mean() <= CLEAR for part in beside)


def _is_solid(inside: NDArray[np.bool_], side: int) -> bool:
    """Whether the border is too thick for a box: most of the ring inside a thin border is ink, too."""
    inset = max(2, round(THICK * side))
    ring = inside[inset:-inset, inset:-inset].copy()
    return ring.size == 0 or bool(ring.mean() > 0.9)


def _fill(dark: Mask, box: Bounds) -> float:
    """Share of ink inside the border."""
    left, top, right, bottom = box
    inset = max(2, round(THICK * min(right - left, bottom - top)))
    inner = dark[top + inset : bottom - inset, left + inset : right - inset]
    return float((inner > 0).mean()) if inner.size else 0.0


def _sureness(fill: float) -> float:
    """Returns the confidence that a box with this share of ink is ticked, or is not: 0.5 at FILLED, and more the
    farther from it.
    """
    return min(MAX_CONFIDENCE, 0.5 + 0.5 * min(1.0, abs(fill - FILLED) / FILLED))


def _without_combs(boxes: list[Bounds]) -> list[Bounds]:
    """The boxes without rows of three or more that nearly touch: places for the letters of a name or a date."""
    near: dict[int, set[int]] = {i: set() for i in range(len(boxes))}
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes):
            side = a[2] - a[0]
            if i != j and 0 <= b[0] - a[2] < COMB * side and abs(a[1] - b[1]) < COMB * side:
                near[i].add(j)
                near[j].add(i)
    inner = {i for i, others in near.items() if len(others) > 1}
    return [box for i, box in enumerate(boxes) if i not in inner and not near[i] & inner]


def _near(box: NDArray[np.float64], places: NDArray[np.float64], unit: float) -> bool:
    """Whether a line stands beside the box, or above or below it, about centred."""
    left, top, right, bottom = box
    across = np.maximum(0, np.maximum(places[:, 0] - right, left - places[:, 2]))
    down = np.maximum(0, np.maximum(places[:, 1] - bottom, top - places[:, 3]))
    off = np.abs(places[:, 0] + places[:, 2] - left - right) / 2
    centred = off <= OFF_CENTRE * (places[:, 2] - places[:, 0])
    return bool((((down == 0) & (across <= BESIDE * unit)) | (centred & (down <= ABOVE * unit))).any())


def _is_letter(box: NDArray[np.float64], lines: Sequence[Line], places: NDArray[np.float64], *, free: bool) -> bool:
    """Whether a line has another character than a box's at this place, or a reference that is framed as a link.

    `free`: there is no ink right beside it.
    """
    x, y, side = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0]
    holding = (places[:, 0] <= x) & (x <= places[:, 2]) & (places[:, 1] <= y) & (y <= places[:, 3])
    for i in np.flatnonzero(holding).tolist():
        text, (left, top, right, bottom) = lines[i].text.strip(), places[i]
        if len(text) <= 1 and bottom - top > OVER_BOX * side:
            continue  # A tick read as a letter.
        if side < FULL_HEIGHT * (bottom - top) and len(text) > 1 and not BOX_LETTERS.intersection(text):
            return True
        place = (x - left) / max(right - left, 1e-9) * len(text)
        around = text[max(0, int(place - 0.5) - 1) : int(place + 0.5) + 1]
        is_open = " " in around or x - left < side or right - x < side
        if any(letter in BOX_LETTERS for letter in around):
            continue
        if not (free and is_open) or any(letter in SQUARE_LETTERS or letter in "[]()" for letter in around):
            return True
    return False
