"""Flags pages that were read from pixels and whose edge cuts a line, whichever engine read them."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import structlog

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.layout.cut_off import cut_off
from inkgate.page import Page, Pixels
from inkgate.pipeline.remembered_page import RememberedPage
from inkgate.types import Box, PageResult, ReviewNote, ReviewReason, Task

log = structlog.get_logger(__name__)


class CutLinesFlagged(EngineWrapper):
    """An Engine around an Engine. Looks at the pixels that the engine used: the page is not rendered again."""

    def __init__(self, inner: Engine, threads: Threads) -> None:
        super().__init__(inner)
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. `timings_ms` has `edges`."""
        shared = RememberedPage.around(page)
        result = await self._inner.read(shared, task, caller)
        pixels = shared.known_pixels
        if pixels is None or not result.lines or result.source == "text_layer":
            return result
        started = perf_counter()
        try:
            boxes = await self._threads.run(_cut_boxes, pixels, result)
        except Exception:  # of this page, whose text is read
            log.exception("edges_not_examined", page=page.index)
            return result
        notes = tuple(ReviewNote(ReviewReason.CUT_OFF, box=box) for box in boxes[:MOST_NOTES])
        spent = {**result.timings_ms, "edges": (perf_counter() - started) * 1000}
        return replace(result, timings_ms=spent).with_notes(notes)


MOST_NOTES = 20
"""Cut lines of a page that are named."""


def _cut_boxes(pixels: Pixels, result: PageResult) -> list[Box]:
    """The boxes of what is cut, on the upright page."""
    upright = np.ascontiguousarray(np.rot90(pixels.rgb, -result.rotation // 90))
    scale = result.width / upright.shape[1]
    left = [tuple(side / scale for side in line.box) for line in result.lines]
    found = cut_off(upright, [(x0, y0, x1, y1) for x0, y0, x1, y1 in left])
    return [(x0 * scale, y0 * scale, x1 * scale, y1 * scale) for x0, y0, x1, y1 in found]
