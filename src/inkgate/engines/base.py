"""The ports of this folder, and the base of what wraps an engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import PageResult, Task

log = structlog.get_logger(__name__)


class Engine(Protocol):
    """Reads pages. Used from one event loop, by many tasks at once; bounds its own blocking work.

    In the service, `service.page.PageReader` is what Reader reads with. It is an Engine around the one that the
    settings name.
    """

    @property
    def name(self) -> str:
        """Stable and short: used in results, metrics and settings."""
        ...

    async def start(self) -> None:
        """Loads models; returns once the first page can be read. Raises EngineFailed("engine_unavailable")."""
        ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """The page's content.

        Raises:
            InputRejected: the page or the task is at fault.
            EngineFailed: the engine is.
        """
        ...

    async def stop(self) -> None:
        """Frees what `start` allocated. Safe to call twice."""
        ...


@asynccontextmanager
async def started(engine: Engine) -> AsyncIterator[None]:
    """The engine is started during the block, and stopped when it is left, however that happens.

    Raises:
        EngineFailed: it did not start.
    """
    try:
        await engine.start()
        yield
    except BaseException:
        try:
            await _stopped(engine)
        except Exception:  # the error of the block says more
            log.exception("engine_stop_failed", engine=engine.name)
        raise
    await _stopped(engine)


async def _stopped(engine: Engine) -> None:
    with anyio.CancelScope(shield=True):
        await engine.stop()


class EngineWrapper:
    """An Engine that forwards everything to `inner`; subclasses override what they change."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        await self._inner.start()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return await self._inner.read(page, task, caller)

    async def stop(self) -> None:
        await self._inner.stop()
