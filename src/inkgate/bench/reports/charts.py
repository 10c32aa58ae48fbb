"""What a chart is, and in which colours it is drawn; what draws it is an extra, `inkgate[bench]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inkgate.bench.reports.markup import Markup
from inkgate.errors import install_extra

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

MISSING = "matplotlib"
REMEDY = install_extra("bench")

INK = "#1b2430"
MUTED = "#5a6675"
GRID = "#d8dde4"
PAPER = "#ffffff"
ONE = "#0a5fa8"
TWO = "#b45309"
THREE = "#0f7a63"
FOUR = "#8a3f7d"
FIVE = "#737d8a"
BAD = "#a8321f"
VARIABLES = {
    INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper", ONE: "--one", TWO: "--two", THREE: "--three",
    FOUR: "--four", FIVE: "--five", BAD: "--bad",
}  # fmt: skip
"""The page's variables that stand for the colours: they differ in the dark. Told apart by people with any kind of
colour blindness: blue, orange, green and purple also differ in lightness, line style and marker (after Okabe and Ito).
"""
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
NARROW = (5.0, 3.2)
WIDE = (8.6, 3.5)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that can be drawn.

    Attributes:
        title: what it shows; caption: how to read it; alt: what it says, for those who can't see it.
        draw: draws it on an empty figure, in the colours above.
        size: inches, width and height; what is wide takes the page's whole width, and is drawn narrow for telephones.
    """

    name: str
    title: str
    caption: str
    alt: str
    draw: Callable[[FigureBase], None]
    size: tuple[float, float] = NARROW


Drawer = Callable[[Chart, tuple[float, float]], Markup]
"""Draws a chart in a size in inches."""


def drawer() -> Drawer | None:
    """What draws charts for a page; None where matplotlib is not installed."""
    try:
        from inkgate.bench.reports.drawing import inline
    except ModuleNotFoundError as error:
        if error.name != MISSING:
            raise
        return None
    return inline
