"""Pages are not sent to an engine that is failing."""

from __future__ import annotations

from inkgate.engines.base import Engine
from inkgate.serving.breaker import Breaker
from inkgate.types import Page, PageResult, Task


class Guarded:
    """An Engine around an Engine, behind a breaker."""

    def __init__(self, inner: Engine, breaker: Breaker) -> None:
        self._inner = inner
        self._breaker = breaker

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        await self._inner.start()

    async def stop(self) -> None:
        await self._inner.stop()

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "engine_breaker_open".
        """
        async with self._breaker.guard():
            return await self._inner.read(page, task)
