"""Gives every page its confidence and the reasons to review it, whichever engine read it."""

from __future__ import annotations

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.layout.confidence import judged
from inkgate.page import Page
from inkgate.types import PageResult, Task


class Judged(EngineWrapper):
    """An Engine around an Engine whose pages are judged, once for all callers that get them from the cache."""

    def __init__(self, inner: Engine, threads: Threads) -> None:
        super().__init__(inner)
        self._threads = threads

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        return await self._threads.run(judged, await self._inner.read(page, task, caller))
