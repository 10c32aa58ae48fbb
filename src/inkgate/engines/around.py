"""What every policy around an engine has in common."""

from __future__ import annotations

from inkgate.engines.base import Engine
from inkgate.types import Page, PageResult, Task


class EngineWrapper:
    """An Engine around an Engine: does all as `inner` does it, but for what a subclass does in another way."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        """As Engine.start."""
        await self._inner.start()

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read."""
        return await self._inner.read(page, task)

    async def stop(self) -> None:
        """As Engine.stop."""
        await self._inner.stop()
