"""Answers pages that have a text layer from it, without reading their pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.arrange import arrange
from inkgate.layout.base import NO_EVIDENCE, PageEvidence
from inkgate.page import LineStyle, Page, TextLayer
from inkgate.types import PageResult, Task, TaskKind

_LAYOUT_SIDE = 1600
"""Longest side rendered for the layout model, which itself uses 800 pixels: more would not help."""


class TextLayerFirst(EngineWrapper):
    """Answers from `page.text_layer` if there is one, else calls `inner`.

    A page has a text layer only if it is to be used (`pdf.text`), so nothing is decided here.
    """

    def __init__(self, inner: Engine, analysis: PageAnalysis, threads: Threads) -> None:
        super().__init__(inner)
        self._analysis = analysis
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. The layout model runs on the rendered page, and only for Markdown and blocks."""
        layer = page.text_layer
        if layer is None or task.kind not in {TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT}:
            return await self._inner.read(page, task, caller)
        parse = task.kind is TaskKind.PARSE
        timings: dict[str, float] = {}
        evidence = await self._look(page, layer, timings) if parse else NO_EVIDENCE
        started = perf_counter()
        arrangement = await self._threads.run(arrange, layer.lines, page.size, evidence)
        timings["arrange"] = (perf_counter() - started) * 1000
        result = PageResult(
            index=page.index,
            width=page.size.width,
            height=page.size.height,
            dpi=page.dpi,
            source="text_layer",
            engine="text_layer",
            timings_ms=timings,
        )
        return arrangement.put_into(result, parse=parse)

    async def _look(self, page: Page, layer: TextLayer, timings: dict[str, float]) -> PageEvidence:
        """What the rendered page shows."""
        started = perf_counter()
        pixels = await page.pixels(_LAYOUT_SIDE)
        timings["render"] = (perf_counter() - started) * 1000
        look = partial(self._analysis.look, parse=True)
        evidence = await self._threads.run(look, pixels.rgb, pixels.scale, layer.lines)
        timings.update(evidence.timings_ms)
        return replace(evidence, styles=_styles(layer, evidence.styles))


def _styles(layer: TextLayer, seen: Sequence[LineStyle | None]) -> Sequence[LineStyle | None]:
    """The styles of the text layer. Fonts with names that say nothing (`AdvP403A40`) are all regular: if no line of the
    page is bold by its font, those are that look so (`seen`).
    """
    if len(seen) != len(layer.styles) or any(style.bold for style in layer.styles):
        return layer.styles
    pairs = zip(layer.styles, seen, strict=True)
    return [replace(style, bold=look is not None and look.bold) for style, look in pairs]
