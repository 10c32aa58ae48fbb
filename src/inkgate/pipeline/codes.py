"""Finds QR codes and bar codes on pages, whichever engine read them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter
from typing import Final

import structlog

from inkgate.caller import Caller
from inkgate.codes.find import find_codes
from inkgate.concurrency import Threads
from inkgate.coordinates import before_rotation
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import InputRejected
from inkgate.types import (
    Barcode,
    Block,
    BlockType,
    Page,
    PageResult,
    Pixels,
    Quad,
    Size,
    Task,
    TaskKind,
    TextLayer,
    box_of_quad,
)

log = structlog.get_logger(__name__)

LONGEST_SIDE: Final = 2400
"""Pixels in which codes are sought: 200 dpi of A4. A QR code needs about two pixels for each of its modules."""
_ENOUGH: Final = 0.9
"""Pixels that the engine has used do if they have this share of the wanted ones: rendering again costs more."""


class CodesFound(EngineWrapper):
    """An Engine around an Engine, whose pages get a block for each code if blocks are wanted. Codes that can't be
    sought cost the page nothing else.
    """

    def __init__(self, inner: Engine, threads: Threads) -> None:
        super().__init__(inner)
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. `timings_ms` has `codes`."""
        if task.kind is not TaskKind.PARSE:
            return await self._inner.read(page, task, caller)
        shared = _RememberedPage(page)
        result = await self._inner.read(shared, task, caller)
        if result.lost or result.blocks is None:
            return result
        started = perf_counter()
        try:
            pixels = await shared.enough_pixels()
        except InputRejected as error:
            log.info("codes_not_sought", code=error.code)
            return result
        codes = await self._threads.run(find_codes, pixels.rgb)
        blocks = tuple(_block(code, pixels.scale, result.rotation, page.size) for code in codes)
        spent = {**result.timings_ms, "codes": (perf_counter() - started) * 1000}
        return replace(result, blocks=(*result.blocks, *blocks), timings_ms=spent)


def _block(code: Barcode, scale: float, rotation: int, sent: Size) -> Block:
    """The code on the upright page. `scale`: page pixels per pixel in which the code was found."""
    first, second, third, fourth = ((x * scale, y * scale) for x, y in code.quad)
    quad: Quad = (first, second, third, fourth)
    upright = before_rotation(quad, -rotation, sent.width, sent.height)
    placed = replace(code, quad=upright)
    return Block(BlockType.BARCODE, box_of_quad(upright), (), "", "", barcode=placed)


class _RememberedPage:
    """A Page that remembers the largest pixels it gave."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._pixels: Pixels | None = None

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

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """As Page.pixels."""
        pixels = await self._page.pixels(longest_side)
        if self._pixels is None or pixels.scale < self._pixels.scale:
            self._pixels = pixels
        return pixels

    async def enough_pixels(self) -> Pixels:
        """Pixels in which codes can be found: remembered ones if they do."""
        wanted = min(LONGEST_SIDE, max(self._page.size.width, self._page.size.height))
        if self._pixels is not None and max(self._pixels.rgb.shape[:2]) >= _ENOUGH * wanted:
            return self._pixels
        return await self._page.pixels(LONGEST_SIDE)
