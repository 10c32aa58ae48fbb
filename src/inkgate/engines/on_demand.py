"""An engine that most pages never need: started when it is first asked."""

from __future__ import annotations

import anyio

from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.types import Page, PageResult, Task


class OnDemand(EngineWrapper):
    """An Engine around one that is started by the first page it reads. May be used in several places."""

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self._starting = anyio.Lock()
        self._started = False

    async def start(self) -> None:
        """Does nothing yet."""

    async def stop(self) -> None:
        self._started = False
        await self._inner.stop()

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read. Raises EngineFailed("engine_unavailable") where it can't be started, too."""
        async with self._starting:
            if not self._started:
                await self._inner.start()
                self._started = True
        return await self._inner.read(page, task)
