"""Finds the imprints of stamps in a page's pixels: round, oval or rectangular borders of red or blue ink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from inkgate.page import RgbArray
from inkgate_client.types import Box

LONGEST_SIDE: Final = 1000
"""Pages are shrunk to this: the border of a stamp of 4 cm is then two pixels thick."""
MIN_INK: Final = 0.0003
"""Share of the page that is ink of a colour if there is a stamp: an outline of 2 cm is more."""
SIDES: Final = (0.04, 0.45)
"""Sides of a stamp, as shares of the page's longest side."""
MAX_ASPECT: Final = 3.5
"""Maximum ratio of a stamp's longer side to its shorter one."""
MAX_FILLED: Final = 0.55
"""Share of its box that is ink, at most: coloured areas and photographs have more."""
ROUND: Final = 1.15
"""A round stamp's longer side is at most this many times its shorter one: photographs are not square."""
DRAWN_RING, DRAWN_SIDES = 0.8, 0.75
"""Share of the border that is drawn: old stamps have gaps. Text in colour has no border."""
MAX_STAMPS: Final = 8
_STEPS: Final = 120
"""Directions in which the border is looked for."""
_RED, _BLUE = ((0, 8), (168, 180)), ((98, 132),)
"""Hues of OpenCV, of 180. Brown and orange print is above the reds."""
_MIN_SATURATION, _MIN_VALUE = 60, 60


@dataclass(frozen=True, slots=True)
class StampArea:
    """A stamp in pixels of the image. `shape`: `round`, `oval` or `rectangle`; `colour`: `red` or `blue`."""

    box: Box
    shape: str
    colour: str


def find_stamps(pixels: RgbArray) -> list[StampArea]:
    """The stamps of an upright page, top to bottom; MAX_STAMPS at most. Blocking; pure.

    Takes 5 to 10 ms if there is no coloured ink.
    """
    height, width = pixels.shape[:2]
    factor = max(1.0, max(height, width) / LONGEST_SIDE)
    size = (max(1, round(width / factor)), max(1, round(height / factor)))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    hsv = cv2.cvtColor(small, cv2.COLOR_RGB2HSV)
    found = [area for colour, hues in (("red", _RED), ("blue", _BLUE)) for area in _of_colour(hsv, colour, hues)]
    scaled = [
        StampArea((a.box[0] * factor, a.box[1] * factor, a.box[2] * factor, a.box[3] * factor), a.shape, a.colour)
        for a in found
    ]
    return sorted(scaled, key=lambda area: (area.box[1], area.box[0]))[:MAX_STAMPS]


def _of_colour(hsv: MatLike, colour: str, hues: tuple[tuple[int, int], ...]) -> list[StampArea]:
    mask = np.zeros(hsv.shape[:2], np.uint8)
    for low, high in hues:
        mask |= cv2.inRange(hsv, np.array((low, _MIN_SATURATION, _MIN_VALUE)), np.array((high, 255, 255))).astype(
            np.uint8
        )
    if np.count_nonzero(mask) < MIN_INK * mask.size:
        return []
    longest = max(mask.shape)
    joined = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    outlines, _ = cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    found = []
    for outline in sorted(outlines, key=cv2.contourArea, reverse=True)[: 4 * MAX_STAMPS]:
        left, top, wide, high = cv2.boundingRect(outline)
        shorter, longer = sorted((wide, high))
        if shorter < SIDES[0] * longest or longer > SIDES[1] * longest or longer > MAX_ASPECT * shorter:
            continue
        part = mask[top : top + high, left : left + wide] > 0
        shape = _shape_of(part)
        if part.mean() <= MAX_FILLED and shape:
            found.append(StampArea((left, top, left + wide, top + high), shape, colour))
    return found


def _shape_of(part: NDArray[np.bool_]) -> str:
    """The shape of the border; empty if none is drawn. `part`: the ink in the box of what may be a stamp."""
    height, width = part.shape
    if _ring(part) >= DRAWN_RING:
        return "round" if max(height, width) <= ROUND * min(height, width) else "oval"
    edge = max(2, round(0.06 * min(height, width)))
    sides = (part[:edge].any(0), part[-edge:].any(0), part[:, :edge].any(1), part[:, -edge:].any(1))
    return "rectangle" if all(side.mean() >= DRAWN_SIDES for side in sides) else ""


def _ring(part: NDArray[np.bool_]) -> float:
    """Share of the directions from the centre in which there is ink near the ellipse in the box."""
    height, width = part.shape
    angles = np.linspace(0, 2 * np.pi, _STEPS, endpoint=False)
    shares = np.linspace(0.9, 1.0, max(4, min(height, width) // 12))[:, None]
    rows = np.clip((height - 1) / 2 * (1 + shares * np.sin(angles)), 0, height - 1).round().astype(int)
    columns = np.clip((width - 1) / 2 * (1 + shares * np.cos(angles)), 0, width - 1).round().astype(int)
    return float(part[rows, columns].any(0).mean())
