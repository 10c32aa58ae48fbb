"""A page whose pixels are needed again once the engine has read it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from inkgate.page import Page, Pixels, TextLayer
from inkgate.types import Size

LONGEST_SIDE: Final = 2400
"""Pixels that are enough for codes and images of figures: 200 dpi of A4. A QR code needs about two pixels for each of
its modules.
"""
_ENOUGH: Final = 0.9
"""Pixels that the engine has used do if they have this share of the wanted ones: rendering again costs more."""


class RememberedPage:
    """A Page that remembers the largest pixels it gave, and the last ones."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._pixels: Pixels | None = None
        self._last: tuple[int | None, Pixels] | None = None

    @classmethod
    def around(cls, page: Page) -> RememberedPage:
        """`page` itself if it remembers already."""
        return page if isinstance(page, RememberedPage) else cls(page)

    @property
    def index(self) -> int:
        return self._page.index

    @property
    def size(self) -> Size:
        return self._page.size

    @property
    def dpi(self) -> float | None:
        return self._page.dpi

    @property
    def text_layer(self) -> TextLayer | None:
        return self._page.text_layer

    @property
    def content_key(self) -> bytes:
        return self._page.content_key

    def hold(self) -> AbstractContextManager[None]:
        """As Page.hold."""
        return self._page.hold()

    @property
    def known_pixels(self) -> Pixels | None:
        """The largest pixels that it gave; None if it was not rendered."""
        return self._pixels

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """As Page.pixels. Those of the size that was given last are not rendered again."""
        if self._last is not None and self._last[0] == longest_side:
            return self._last[1]
        pixels = await self._page.pixels(longest_side)
        self._last = longest_side, pixels
        if self._pixels is None or pixels.scale < self._pixels.scale:
            self._pixels = pixels
        return pixels

    async def enough_pixels(self) -> Pixels:
        """Pixels with a longest side of about LONGEST_SIDE or more, if the page has them: remembered ones if they do.

        Raises:
            InputRejected: as Page.pixels.
        """
        wanted = min(LONGEST_SIDE, max(self._page.size.width, self._page.size.height))
        if self._pixels is not None and max(self._pixels.rgb.shape[:2]) >= _ENOUGH * wanted:
            return self._pixels
        return await self.pixels(LONGEST_SIDE)
