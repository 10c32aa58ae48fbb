"""Images on a page, and outlines that look like letters. In worker processes only."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pypdfium2.raw as pdfium

from inkgate.documents.pdf.geometry import POINTS_PER_INCH, Transform
from inkgate.documents.pdf.pdfium import Handle, PdfiumPage, address
from inkgate_client.types import Box, Size

MAX_OBJECTS = 20_000
"""Maximum objects examined per page (about 2 us each); maps and drawings have millions."""
_MAX_DEPTH = 6
_LETTER_HEIGHTS = (3.0, 80.0)
"""Height in points. Smaller shapes are unreadable, larger ones are not lines of text."""
SCAN_SHARE = 0.85
"""Share of the page under images from which it is a scan, or a picture with captions: OCR reads it."""
_GRID = 50
_MIN_SEGMENTS = 6
"""Minimum segments of a letter's outline; rules, boxes and table cells have 5 or fewer."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image on the page: its box in page pixels, its resolution, and its position in drawing order."""

    box: Box
    dpi: float
    order: int


@dataclass(frozen=True, slots=True)
class FilledShape:
    """A filled shape about as high as print: its box in page pixels, and its number of segments."""

    box: Box
    segments: int


@dataclass(slots=True)
class PageObjects:
    """Objects drawn on a page.

    Attributes:
        text_order: position in drawing order of each text object, by the address of its handle.
        outlines: filled shapes that might be letters or words.
        others: number of other objects, such as shapes and shadings.
        texts: pdfium's handle of each text object, by its address, and the transform from its coordinates to pixels.
        shapes: pdfium's handles of all other objects.
        complete: whether these are all that the page has.
    """

    images: list[Image] = field(default_factory=list)
    outlines: list[FilledShape] = field(default_factory=list)
    text_order: dict[int, int] = field(default_factory=dict)
    others: int = 0
    texts: dict[int, tuple[Handle, Transform]] = field(default_factory=dict)
    shapes: list[Handle] = field(default_factory=list)
    complete: bool = True


def page_objects(page: PdfiumPage, to_pixels: Transform) -> PageObjects:
    """The page's objects, including nested forms, up to `MAX_OBJECTS`."""
    found = PageObjects()
    pixels_per_point = math.hypot(*to_pixels.direction(1, 0))
    heights = (_LETTER_HEIGHTS[0] * pixels_per_point, _LETTER_HEIGHTS[1] * pixels_per_point)
    for order, (handle, kind, transform) in enumerate(_walk(page, to_pixels, found)):
        if kind != pdfium.FPDF_PAGEOBJ_TEXT:
            found.shapes.append(handle)
        match kind:
            case pdfium.FPDF_PAGEOBJ_TEXT:
                where = address(handle)
                found.text_order[where], found.texts[where] = order, (handle, transform)
            case pdfium.FPDF_PAGEOBJ_IMAGE:
                found.images.append(_image(handle, transform, order, to_pixels))
            case pdfium.FPDF_PAGEOBJ_PATH:
                found.others += 1
                if (outline := _outline(handle, transform, heights)) is not None:
                    found.outlines.append(outline)
            case _:
                found.others += 1
    return found


def bounds(handle: Handle, transform: Transform) -> Box:
    """The box of an object in pixels."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium.FPDFPageObj_GetBounds(handle, left, bottom, right, top)
    return transform.box(left.value, bottom.value, right.value, top.value)


def image_share(objects: PageObjects, size: Size) -> float:
    """The share of the page under images, from 0 to 1, on a grid of 50 x 50."""
    grid = np.zeros((_GRID, _GRID), np.bool_)
    across, along = _GRID / size.width, _GRID / size.height
    for image in objects.images:
        left, top, right, bottom = (np.clip(side, -1e6, 1e6) for side in image.box)
        grid[max(0, round(top * along)) : max(0, round(bottom * along)),
             max(0, round(left * across)) : max(0, round(right * across))] = True  # fmt: skip
    return float(grid.mean())


def _walk(page: PdfiumPage, to_pixels: Transform, found: PageObjects) -> Iterator[tuple[Handle, int, Transform]]:
    """Each object with its kind and the transform from its coordinates to pixels, in drawing order. Sets
    `found.complete`.
    """
    handle = page.handle
    stack = [
        (pdfium.FPDFPage_GetObject(handle, i), to_pixels, 0) for i in _backwards(pdfium.FPDFPage_CountObjects(handle))
    ]
    left = MAX_OBJECTS
    while stack and left:
        left -= 1
        item, transform, depth = stack.pop()
        if not item:
            continue
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind != pdfium.FPDF_PAGEOBJ_FORM:
            yield item, kind, transform
        elif depth < _MAX_DEPTH:
            inner = transform.after(_matrix(item))
            children = _backwards(pdfium.FPDFFormObj_CountObjects(item))
            stack.extend((pdfium.FPDFFormObj_GetObject(item, i), inner, depth + 1) for i in children)
    found.complete = not stack


def _backwards(count: int) -> range:
    return range(min(count, MAX_OBJECTS) - 1, -1, -1)


def _matrix(handle: Handle) -> Transform:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(handle, matrix):
        return Transform(1, 0, 0, 1, 0, 0)
    return Transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _image(handle: Handle, transform: Transform, order: int, to_pixels: Transform) -> Image:
    """The image's box: it fills the unit square of its coordinates."""
    placed = transform.after(_matrix(handle))
    corners = [placed.point(x, y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(handle, width, height)
    pixels_per_point = math.hypot(*to_pixels.direction(1, 0))
    across = math.hypot(placed.a, placed.b) / pixels_per_point
    along = math.hypot(placed.c, placed.d) / pixels_per_point
    dpi = max(width.value / max(across, 1e-6), height.value / max(along, 1e-6)) * POINTS_PER_INCH
    return Image((min(xs), min(ys), max(xs), max(ys)), dpi, order)


def _outline(handle: Handle, transform: Transform, heights: tuple[float, float]) -> FilledShape | None:
    """A filled path with enough segments for a letter and a letter's height, else None."""
    segments = pdfium.FPDFPath_CountSegments(handle)
    if segments < _MIN_SEGMENTS:
        return None
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium.FPDFPath_GetDrawMode(handle, fill, stroke) or fill.value == pdfium.FPDF_FILLMODE_NONE:
        return None
    box = bounds(handle, transform)
    return FilledShape(box, segments) if heights[0] <= box[3] - box[1] <= heights[1] else None
