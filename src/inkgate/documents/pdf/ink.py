"""A page in grey, for a look at its ink: coarsely, with its text and without it, and sharply. Blocking, in worker
processes only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import thread_time

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from inkgate.documents.pdf.geometry import MIN_SIDE
from inkgate.documents.pdf.pdfium import Handle, PdfiumPage, address, quick
from inkgate_client.types import Size

INK_DPI = 72.0
"""Resolution of the coarse look. What it does not prove is looked at again, so a coarse one only costs."""
MAX_INK_PIXELS = 2_000_000
MAX_RENDER_S = 0.5
"""Processor time of the first rendering, of up to twelve. Usual pages take 0.01 s."""
SHARP_DPI = 150.0
"""Resolution at which the shapes of characters are looked at: letters of 5 points are 7 pixels high."""
MAX_SHARP_PIXELS = 4_000_000
CLOSE_DPI = 200.0
"""Resolution of the closest look: stems of 6 pt text are two pixels wide, so that they have their full colour."""


_get_is_active = quick(pdfium.FPDFPageObj_GetIsActive, ctypes.c_int, ctypes.c_void_p)
_set_is_active = quick(pdfium.FPDFPageObj_SetIsActive, ctypes.c_int, ctypes.c_int)


class SlowPage(Exception):
    """A page takes so long to render that its text is not compared with its ink."""


@dataclass(frozen=True, slots=True)
class GreyPage:
    """A rendered page, (H, W) uint8, with `scale` of its pixels per pixel of the page."""

    grey: NDArray[np.uint8]
    scale: float


@dataclass(frozen=True)
class Sheet:
    """A page that has `size` pixels at `dpi`."""

    page: PdfiumPage
    size: Size
    dpi: float

    @cached_property
    def sharp(self) -> GreyPage:
        """The page at SHARP_DPI, rendered once.

        Raises:
            MemoryError: there is not enough.
        """
        return self.grey(min(SHARP_DPI / self.dpi, (MAX_SHARP_PIXELS / self.size.pixels) ** 0.5))

    def grey(self, scale: float) -> GreyPage:
        """The page with `scale` pixels per page pixel.

        Raises:
            MemoryError: there is not enough.
        """
        blank = self.blank(scale)
        height, width = blank.grey.shape
        self.page.draw(blank.grey, (0, 0), Size(width, height))
        return blank

    def blank(self, scale: float) -> GreyPage:
        """A white page of that size."""
        width, height = (max(1, round(side * scale)) for side in (self.size.width, self.size.height))
        return GreyPage(np.full((height, width), 255, np.uint8), scale)


@dataclass(frozen=True, slots=True)
class PageInk:
    """A page in grey, (H, W) uint8, with its text and without.

    Attributes:
        scale: its pixels per page pixel.
    """

    with_text: NDArray[np.uint8]
    without_text: NDArray[np.uint8]
    scale: float


def page_ink(sheet: Sheet, text: Iterable[Handle], *, text_alone: bool) -> PageInk:
    """Renders the page with and without its objects `text`. `text_alone`: it has no other objects.

    Raises:
        MemoryError: there is not enough.
        SlowPage: that would take too long.
    """
    scale = min(pixel_scale(sheet.size, sheet.dpi, INK_DPI), (MAX_INK_PIXELS / sheet.size.pixels) ** 0.5)
    started = thread_time()
    shown = sheet.grey(scale)
    if thread_time() - started > MAX_RENDER_S:
        raise SlowPage
    if text_alone and not sheet.page.annotation_count:
        bare = sheet.blank(scale)
    else:
        with inactive(text):
            bare = sheet.grey(scale)
    return PageInk(shown.grey, bare.grey, scale)


def pixel_scale(size: Size, dpi: float, target_dpi: float) -> float:
    """Pixels per page pixel at `target_dpi` dpi, or more for small pages, whose print is small."""
    return max(target_dpi / dpi, min(1.0, MIN_SIDE * target_dpi / CLOSE_DPI / max(size.width, size.height)))


@contextmanager
def inactive(handles: Iterable[Handle]) -> Iterator[None]:
    """Leaves objects out of renderings in the block."""
    active = ctypes.c_int()
    where = ctypes.addressof(active)
    was = [each for each in map(address, handles) if not _get_is_active(each, where) or active.value]
    for each in was:
        _set_is_active(each, 0)
    try:
        yield
    finally:
        for each in was:
            _set_is_active(each, 1)
