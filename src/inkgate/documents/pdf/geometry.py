"""Size of a PDF page in pixels, and the transform from its coordinates to pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate_client.types import Box, Size

POINTS_PER_INCH = 72.0
MAX_PIXELS = 100_000_000
"""Maximum pixels of a rendered page, whatever `max_side` allows: 300 MB."""
MIN_SIDE = 1000
"""Small pages are rendered above the requested dpi, up to this longest side, because their print is small too."""
MAX_DPI = 600.0
"""Maximum dpi for enlarging small pages: the finest print."""
MIN_DPI = 72.0
"""Minimum dpi for pages that are one image: a page of one stretched pixel has no meaningful resolution."""

MIN_CROPPED_POINTS = 1.0
"""A crop box that leaves less of a side of the page is an error, and the media box is shown."""


@dataclass(frozen=True, slots=True)
class PageScale:
    """A page's size in pixels, and its pixels per inch."""

    size: Size
    dpi: float


def fit_page(width: float, height: float, dpi: float, max_side: int, image_dpi: float | None = None) -> PageScale:
    """The size at which to render a page of `width` x `height` points.

    `dpi`: the requested resolution. The result is higher for pages smaller than `MIN_SIDE`, and lower if `max_side`
    (pixels) or `MAX_PIXELS` require it, or if the page is one scanned image of `image_dpi`, which a higher resolution
    would not improve.
    """
    longest = max(width, height)
    chosen_dpi = max(dpi, min(MAX_DPI, MIN_SIDE * POINTS_PER_INCH / longest))
    if image_dpi is not None:
        chosen_dpi = min(chosen_dpi, max(image_dpi, MIN_DPI))
    chosen_dpi = min(chosen_dpi, max_side * POINTS_PER_INCH / longest)
    chosen_dpi = min(chosen_dpi, (MAX_PIXELS * POINTS_PER_INCH**2 / (width * height)) ** 0.5)
    scale = chosen_dpi / POINTS_PER_INCH
    return PageScale(Size(max(1, round(width * scale)), max(1, round(height * scale))), chosen_dpi)


def shrink(size: Size, longest_side: int | None) -> Size:
    """`size` with its longest side at most `longest_side`, in proportion, at least one pixel each way."""
    longest = max(size.width, size.height)
    if longest_side is None or longest_side >= longest:
        return size
    ratio = longest_side / longest
    return Size(max(1, round(size.width * ratio)), max(1, round(size.height * ratio)))


@dataclass(frozen=True, slots=True)
class Transform:
    """Page points (origin bottom left, before /Rotate) to pixels of the rendered page (origin top left).

    x' = a x + c y + e and y' = b x + d y + f, as PDF writes matrices.
    """

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def point(self, x: float, y: float) -> tuple[float, float]:
        return (self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f)

    def points(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Transforms many points."""
        return (self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f)

    def direction(self, x: float, y: float) -> tuple[float, float]:
        """Transforms a vector: like a point, but without the offset."""
        return (self.a * x + self.c * y, self.b * x + self.d * y)

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Transforms a rectangle in points to a box in pixels."""
        x0, y0 = self.point(left, bottom)
        x1, y1 = self.point(right, top)
        return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))

    def after(self, first: Transform) -> Transform:
        """The transform that applies `first`, then this one."""
        return Transform(
            *self.direction(first.a, first.b), *self.direction(first.c, first.d), *self.point(first.e, first.f)
        )


def page_transform(box: Box, rotation: int, size: Size) -> Transform:
    """Points to pixels for the visible `box` (left, bottom, right, top) of a page turned by `rotation` degrees
    clockwise (0, 90, 180 or 270) and rendered at `size`.
    """
    left, bottom, right, top = box
    across, along = (right - left, top - bottom)
    if rotation in {90, 270}:
        sx, sy = size.width / along, size.height / across
    else:
        sx, sy = size.width / across, size.height / along
    match rotation:
        case 90:
            return Transform(0, sy, sx, 0, -bottom * sx, -left * sy)
        case 180:
            return Transform(-sx, 0, 0, sy, right * sx, -bottom * sy)
        case 270:
            return Transform(0, -sy, -sx, 0, top * sx, right * sy)
        case _:
            return Transform(sx, 0, 0, -sy, -left * sx, top * sy)
