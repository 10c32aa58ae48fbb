"""Finds QR codes and bar codes on pages, whichever engine read them."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import structlog

from inkgate.caller import Caller
from inkgate.codes.find import find_codes
from inkgate.concurrency import Threads
from inkgate.coordinates import before_rotation
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import InkgateError
from inkgate.page import Page
from inkgate.pipeline.remembered_page import RememberedPage
from inkgate.types import Barcode, Block, BlockType, PageResult, Quad, Size, Task, TaskKind, box_of_quad

log = structlog.get_logger(__name__)


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
        shared = RememberedPage.around(page)
        result = await self._inner.read(shared, task, caller)
        if result.lost or result.blocks is None:
            return result
        started = perf_counter()
        try:
            pixels = await shared.enough_pixels()
            codes = await self._threads.run(find_codes, pixels.rgb)
        except Exception as error:  # noqa: BLE001 - of this page, whose text is read
            code = error.code if isinstance(error, InkgateError) else type(error).__name__
            log.info("codes_not_sought", code=code)
            return result
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
