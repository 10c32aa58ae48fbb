"""The base class of policies around an engine."""

from __future__ import annotations

from inkgate.caller import Caller
from inkgate.engines.base import Engine
from inkgate.types import Page, PageResult, Task


class EngineWrapper:
    """An Engine that forwards everything to `inner`; subclasses override what they change."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        """As Engine.start."""
        await self._inner.start()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read."""
        return await self._inner.read(page, task, caller)

    async def stop(self) -> None:
        """As Engine.stop."""
        await self._inner.stop()
