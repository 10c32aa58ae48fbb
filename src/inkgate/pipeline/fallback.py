"""Other engines for pages on which the model fails: asked after it, and started when first needed."""

from __future__ import annotations

from dataclasses import replace

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.engines.attempts import OUTPUT_ERRORS, AttemptTimer, take_over
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import EngineFailed, Overloaded
from inkgate.page import Page
from inkgate.types import Attempt, PageResult, Task

log = structlog.get_logger(__name__)


NO_SERVER = "model_server_out"
"""In `PageResult.degraded`: no model server was there, and another engine read the page."""
_GONE = frozenset({"starting", "upstream_unreachable"})
"""Errors if no model server is there."""


class Fallback(EngineWrapper):
    """An Engine around two: pages on which `inner` fails for good, or for which it has no server, `other` reads."""

    def __init__(self, inner: Engine, other: Engine) -> None:
        super().__init__(inner)
        self._other = other

    async def start(self) -> None:
        await self._inner.start()
        await self._other.start()

    async def stop(self) -> None:
        try:
            await self._inner.stop()
        finally:
            await self._other.stop()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read of `inner`. A result of `other` has the attempts of both; if `other` fails too, `inner`'s is
        returned, or its error raised.
        """
        timer = AttemptTimer("")
        try:
            result = await self._inner.read(page, task, caller)
        except (EngineFailed, Overloaded) as error:
            if error.code not in _GONE:
                raise
            return await self._without_server(page, task, caller, error, timer.ended(error))
        if result.error is None or result.error.code not in OUTPUT_ERRORS:
            return result
        log.warning("page_taken_over", page=page.index, by=self._other.name, code=result.error.code)
        second, attempt = await take_over(self._other, page, task, caller)
        if second is None:
            return replace(result, attempts=(*result.attempts, attempt))
        kept = result if second.error is not None else second
        return replace(kept, attempts=(*result.attempts, *second.attempts, attempt))

    async def _without_server(
        self, page: Page, task: Task, caller: Caller, error: EngineFailed | Overloaded, first: Attempt
    ) -> PageResult:
        second, attempt = await take_over(self._other, page, task, caller)
        if second is None or second.error is not None:
            raise error
        degraded = (*second.degraded, NO_SERVER)
        return replace(second, degraded=degraded, attempts=(first, *second.attempts, attempt))


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
