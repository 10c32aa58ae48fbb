"""A part of a page, cut out as a Page of its own."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import cv2
import numpy as np

from inkgate.types import Box, Page, Pixels, RgbArray, Size, TextLayer

MARGIN = 0.002
"""Margin around a block, as a share of the page's longer side: layout models draw tight boxes."""


def crop_pixels(rgb: RgbArray, box: Box) -> RgbArray:
    """A view of the pixels in the box and a small margin, at least one pixel."""
    height, width = rgb.shape[:2]
    margin = MARGIN * max(width, height)
    left, top = max(0, math.floor(box[0] - margin)), max(0, math.floor(box[1] - margin))
    right, bottom = min(width, math.ceil(box[2] + margin)), min(height, math.ceil(box[3] + margin))
    left, top = min(left, width - 1), min(top, height - 1)
    return rgb[top : max(bottom, top + 1), left : max(right, left + 1)]


class PageCrop:
    """A Page that is part of another. `scale`: pixels of that page per pixel of `rgb`."""

    def __init__(self, page: Page, rgb: RgbArray, scale: float) -> None:
        self.rgb = rgb
        self._page = page
        self._scale = scale

    @property
    def index(self) -> int:
        return self._page.index

    @property
    def size(self) -> Size:
        """In pixels of the whole page."""
        height, width = self.rgb.shape[:2]
        return Size(max(1, round(width * self._scale)), max(1, round(height * self._scale)))

    @property
    def dpi(self) -> float | None:
        return self._page.dpi

    @property
    def text_layer(self) -> TextLayer | None:
        return None

    @property
    def content_key(self) -> bytes:
        """Empty: blocks are not cached; the whole page is."""
        return b""

    def hold(self) -> AbstractContextManager[None]:
        """See Page. The pixels are in memory already."""
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """See Page. The pixels are in memory; shrinking part of a page is fast enough for the event loop."""
        height, width = self.rgb.shape[:2]
        factor = 1.0 if longest_side is None else min(1.0, longest_side / max(width, height))
        if factor == 1.0:
            return Pixels(np.ascontiguousarray(self.rgb), self._scale)
        size = (max(1, round(width * factor)), max(1, round(height * factor)))
        small = cv2.resize(self.rgb, size, interpolation=cv2.INTER_AREA)
        return Pixels(np.asarray(small, np.uint8), self._scale / factor)
