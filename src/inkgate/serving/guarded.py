"""Pages are not sent to an engine that is failing."""

from __future__ import annotations

from inkgate.engines.around import Around
from inkgate.engines.base import Engine
from inkgate.serving.breaker import Breaker
from inkgate.types import Page, PageResult, Task


class Guarded(Around):
    """An Engine around an Engine, behind a breaker."""

    def __init__(self, inner: Engine, breaker: Breaker) -> None:
        super().__init__(inner)
        self._breaker = breaker

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read.

        Raises:
            Overloaded: "engine_breaker_open".
        """
        async with self._breaker.guard():
            return await self._inner.read(page, task)
