"""Answers pages that have a text layer from it, without reading their pixels."""

from __future__ import annotations

from time import perf_counter

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.layout.arrange import Arrangement, arrange
from inkgate.layout.base import Layout, Region
from inkgate.layout.ruling import find_cells, scaled
from inkgate.types import Box, Page, PageResult, RgbArray, Task, TaskKind

_LAYOUT_SIDE = 1600
"""Longest side rendered for the layout model, which itself uses 800 pixels: more would not help."""


class TextLayerFirst(EngineWrapper):
    """Answers from `page.text_layer` if there is one, else calls `inner`.

    A page has a text layer only if it is to be used (`pdf.text`), so nothing is decided here.
    """

    def __init__(self, inner: Engine, layout: Layout, threads: Threads) -> None:
        super().__init__(inner)
        self._layout = layout
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. The layout model runs on the rendered page, and only for Markdown and blocks."""
        layer = page.text_layer
        if layer is None or task.kind not in {TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT}:
            return await self._inner.read(page, task, caller)
        timings: dict[str, float] = {}
        regions, cells = await self._seen(page, timings) if task.kind is TaskKind.PARSE else (None, [])
        started = perf_counter()
        arrangement = await self._threads.run(arrange, layer.lines, page.size, regions, cells)
        timings["arrange"] = (perf_counter() - started) * 1000
        return _result(page, task, arrangement, timings)

    async def _seen(self, page: Page, timings: dict[str, float]) -> tuple[list[Region], list[Box]]:
        """The regions and the cells of ruled tables on the rendered page, in page pixels."""
        started = perf_counter()
        pixels = await page.pixels(_LAYOUT_SIDE)
        rendered = perf_counter()
        found = await self._threads.run(self._find, pixels.rgb, pixels.scale)
        laid_out = perf_counter()
        cells = scaled(await self._threads.run(find_cells, pixels.rgb), pixels.scale)
        timings["render"] = (rendered - started) * 1000
        timings["layout"] = (laid_out - rendered) * 1000
        timings["ruling"] = (perf_counter() - laid_out) * 1000
        return found, cells

    def _find(self, rgb: RgbArray, scale: float) -> list[Region]:
        return [region.scaled(scale) for region in self._layout.find(rgb)]


def _result(page: Page, task: Task, arrangement: Arrangement, timings: dict[str, float]) -> PageResult:
    parse = task.kind is TaskKind.PARSE
    return PageResult(
        index=page.index,
        width=page.size.width,
        height=page.size.height,
        dpi=page.dpi,
        source="text_layer",
        lines=arrangement.lines,
        blocks=arrangement.blocks if parse else None,
        text=arrangement.text,
        markdown=arrangement.markdown if parse else None,
        header=arrangement.header if parse else None,
        footer=arrangement.footer if parse else None,
        engine="text_layer",
        timings_ms=timings,
    )
