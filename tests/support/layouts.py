"""Made-up pages for the layout tests: lines at given positions, as a detector would find them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from inkgate.layout.arrange import Arrangement
from inkgate.layout.arrange import arrange as arrange_with
from inkgate.layout.evidence import PageEvidence, Region
from inkgate_client.types import BlockType, Box, Line, Point, Quad, Size

PAGE = Size(1200, 1600)
EM = 20.0
"""Height of a line."""
PITCH = 28.0
"""Distance from line to line."""


def line(text: str, left: float, top: float, width: float | None = None, height: float = EM) -> Line:
    """A line at a position; without `width`, as wide as its text."""
    right = left + (width if width is not None else max(height, 0.5 * height * len(text)))
    return Line(text, ((left, top), (right, top), (right, top + height), (left, top + height)), 0.9)


def column(texts: Iterable[str], left: float, top: float, width: float | None = None) -> list[Line]:
    """Lines below each other."""
    return [line(text, left, top + i * PITCH, width) for i, text in enumerate(texts)]


def prose(name: str, count: int) -> list[str]:
    """Distinct lines of running text."""
    return [f"{name}{i} of some running text that fills it" for i in range(count)]


def vertical(text: str, right: float, top: float, height: float = EM) -> Line:
    """A line that runs downwards, as wide as one character."""
    low, left = top + height * len(text), right - height
    return Line(text, ((left, top), (right, top), (right, low), (left, low)), 0.9)


def turned(lines: Sequence[Line], degrees: float) -> list[Line]:
    """The lines on a page skewed clockwise by this angle."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))

    def turn(point: Point) -> Point:
        return (cos * point[0] - sin * point[1], sin * point[0] + cos * point[1])

    def turn_all(quad: Quad) -> Quad:
        first, second, third, fourth = quad
        return (turn(first), turn(second), turn(third), turn(fourth))

    return [Line(item.text, turn_all(item.quad), item.confidence) for item in lines]


def quarter_turned(lines: Sequence[Line], quarters: int, height: float) -> list[Line]:
    """The lines on a page, `height` high, turned clockwise by once or three times 90 degrees, or by 180."""
    found = list(lines)
    if quarters == 0:
        return found

    def turn(point: Point) -> Point:
        return (height - point[1], point[0])

    def turn_all(quad: Quad) -> Quad:
        first, second, third, fourth = quad
        return (turn(first), turn(second), turn(third), turn(fourth))

    # Where the page ends does not matter to the order, so that one height will do for all quarters.
    return quarter_turned([Line(x.text, turn_all(x.quad), x.confidence) for x in found], quarters - 1, height)


def moved(lines: Sequence[Line], x: float, y: float) -> list[Line]:
    """The lines elsewhere on the page."""

    def move(quad: Quad) -> Quad:
        first, second, third, fourth = ((px + x, py + y) for px, py in quad)
        return (first, second, third, fourth)

    return [Line(item.text, move(item.quad), item.confidence) for item in lines]


def region(kind: BlockType, left: float, top: float, right: float, bottom: float, confidence: float = 0.9) -> Region:
    return Region(kind, (left, top, right, bottom), confidence)


def in_order(text: str, *parts: str) -> bool:
    """Whether the parts occur in the text one after the other."""
    places = [text.find(part) for part in parts]
    return -1 not in places and all(a < b for a, b in pairwise(places))


def arrange(
    lines: Sequence[Line], size: Size, regions: Sequence[Region] | None = None, cells: Sequence[Box] = ()
) -> Arrangement:
    """`layout.arrange` with these regions and ruled cells as its evidence."""
    return arrange_with(lines, size, PageEvidence(regions, cells))
