"""A page that is opened when it is needed, and whose pixels are needed again once the engine has read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import astuple
from functools import partial
from typing import Final, Self

import anyio

from inkgate.caller import Caller
from inkgate.documents.open import OpenDocument
from inkgate.page import Page, Pixels, TextLayer
from inkgate_client.types import Size

LONGEST_SIDE: Final = 2400
"""Pixels that are enough for codes and images of figures: 200 dpi of A4. A QR code needs about two pixels for each of
its modules.
"""
_ENOUGH: Final = 0.9
"""Pixels that the engine has used do if they have this share of the wanted ones: rendering again costs more."""


class RememberedPage:
    """A Page that remembers the largest pixels it gave, and the last ones. One of a document is opened by `open`, or
    for its first pixels; only its index and key are known before.
    """

    def __init__(
        self,
        index: int,
        content_key: bytes,
        retain: Callable[[], AbstractContextManager[None]],
        opening: Callable[[], Awaitable[Page]],
    ) -> None:
        self.index = index
        self.content_key = content_key
        self.retain = retain
        self._opening = opening
        self._opened: Page | None = None
        self._lock = anyio.Lock()
        self._pixels: Pixels | None = None
        self._last: tuple[int | None, Pixels] | None = None

    @classmethod
    def around(cls, page: Page) -> RememberedPage:
        """An open page; `page` itself if it remembers already."""
        if isinstance(page, RememberedPage):
            return page
        remembered = cls(page.index, page.content_key, page.retain, _nothing_to_open)
        remembered._opened = page
        return remembered

    @classmethod
    def of(cls, document: OpenDocument, index: int, caller: Caller) -> RememberedPage:
        """A page that is not open yet. It is opened on behalf of `caller`."""
        return cls(index, document.content_key(index), document.retain, partial(document.page, index, caller))

    async def open(self) -> Self:
        """The page itself, open. Those who need it at the same time wait for one opening.

        Raises:
            InkgateError: as OpenDocument.page.
        """
        async with self._lock:
            if self._opened is None:
                self._opened = await self._opening()
        return self

    @property
    def _page(self) -> Page:
        if self._opened is None:
            raise RuntimeError("The page is not open.")
        return self._opened

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
    def known_pixels(self) -> Pixels | None:
        """The largest pixels that it gave; None if it was not rendered."""
        return self._pixels

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Returns the page's pixels. Those of the size that was given last are not rendered again."""
        if longest_side is not None and self._opened is not None and longest_side >= max(astuple(self.size)):
            longest_side = None  # the page itself, whatever its reader's limit
        if self._last is not None and self._last[0] == longest_side:
            return self._last[1]
        await self.open()
        pixels = await self._page.pixels(longest_side)
        self._last = longest_side, pixels
        if self._pixels is None or pixels.scale < self._pixels.scale:
            self._pixels = pixels
        return pixels

    async def enough_pixels(self, longest_side: int = LONGEST_SIDE) -> Pixels:
        """Pixels with a longest side of about this length or more, if the page has them: remembered ones if they do.

        Raises:
            InputRejected: as Page.pixels.
        """
        await self.open()
        side = min(longest_side, max(self._page.size.width, self._page.size.height))
        if self._pixels is not None and max(self._pixels.rgb.shape[:2]) >= _ENOUGH * side:
            return self._pixels
        return await self.pixels(longest_side)


async def _nothing_to_open() -> Page:
    raise RuntimeError("The page is open.")
