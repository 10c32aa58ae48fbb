"""Looks at the ink of pages from which little or nothing was read by an engine that doesn't look at it itself."""

from __future__ import annotations

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import InkgateError
from inkgate.layout.ink import ink_notes
from inkgate.page import Page
from inkgate.types import Box, Line, PageResult, Task, TaskKind

_LITTLE = 40
"""Characters; from more on, a page is not looked at. Text without places can't be compared with the ink."""
_SIDE = 1600
"""Longest side of the page that is looked at."""
_KINDS = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks that read the whole page."""


class UnreadFound(EngineWrapper):
    """An Engine around an Engine: pages without text that have writing on them get notes that say where."""

    def __init__(self, inner: Engine, threads: Threads) -> None:
        super().__init__(inner)
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. Engines that have looked at the ink themselves have it in `timings_ms`."""
        result = await self._inner.read(page, task, caller)
        known = "ink" in result.timings_ms or result.error is not None
        if known or task.kind not in _KINDS or len(result.text or result.markdown or "") >= _LITTLE:
            return result
        explained = _explained(result)
        if explained is None:
            return result
        try:
            pixels = await page.pixels(_SIDE)
        except InkgateError:  # the engine has read the page, so its result counts
            return result
        return result.with_notes(await self._threads.run(ink_notes, pixels.rgb, pixels.scale, explained))


def _explained(page: PageResult) -> list[Line] | None:
    """Lines and blocks with text, as lines; None if there is text whose places are unknown, or the page is rotated."""
    blocks = [block for block in page.blocks or () if block.text or block.markdown]
    if page.rotation or ((page.text or page.markdown) and not page.lines and not blocks):
        return None
    return [*page.lines, *(_as_line(block.box, block.text) for block in blocks)]


def _as_line(box: Box, text: str) -> Line:
    left, top, right, bottom = box
    return Line(text, ((left, top), (right, top), (right, bottom), (left, bottom)), 1.0)
