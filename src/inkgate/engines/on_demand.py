"""Starts an engine that most pages never need on its first page."""

from __future__ import annotations

import anyio

from inkgate.caller import Caller
from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.types import Page, PageResult, Task


class OnDemand(EngineWrapper):
    """Starts `inner` on the first page. May be used in several places."""

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self._starting = anyio.Lock()
        self._started = False

    async def start(self) -> None:
        """Does nothing; the first `read` starts the engine."""

    async def stop(self) -> None:
        self._started = False
        await self._inner.stop()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. Also raises EngineFailed("engine_unavailable") if the engine can't be started."""
        async with self._starting:
            if not self._started:
                await self._inner.start()
                self._started = True
        return await self._inner.read(page, task, caller)
