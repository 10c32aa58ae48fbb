"""Another engine for pages that the model does not read: asked after it, and started when first needed."""

from __future__ import annotations

from dataclasses import replace

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.engines.attempts import AttemptTimer, take_over
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import (
    Blame,
    EngineFailed,
    InkgateError,
    OutputUnusable,
    Overloaded,
    RequestRefused,
    from_page_error,
)
from inkgate.page import Page
from inkgate.types import Attempt, PageResult, Task

log = structlog.get_logger(__name__)


NO_SERVER = "model_server_out"
"""In `PageResult.degraded`: no model server read the page, and another engine did."""


class Fallback(EngineWrapper):
    """An Engine around two: `other` reads what `inner` does not, because it fails on the page or its servers fail."""

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
        returned, or its error raised. Errors of the service, such as a deadline, would meet `other` as well.
        """
        timer = AttemptTimer("")
        try:
            result = await self._inner.read(page, task, caller)
        except (EngineFailed, Overloaded, RequestRefused) as error:
            if error.blame not in (Blame.PAGE, Blame.SERVER):
                raise
            return await self._instead(page, task, caller, error, timer.ended(error))
        if result.error is None or not isinstance(from_page_error(result.error), OutputUnusable):
            return result
        log.warning("page_taken_over", page=page.index, by=self._other.name, code=result.error.code)
        second, attempt = await take_over(self._other, page, task, caller)
        if second is None:
            return replace(result, attempts=(*result.attempts, attempt))
        kept = result if second.error is not None else second
        return replace(kept, attempts=(*result.attempts, *second.attempts, attempt))

    async def _instead(self, page: Page, task: Task, caller: Caller, error: InkgateError, first: Attempt) -> PageResult:
        """The page as `other` reads it. Raises `error` if it fails too."""
        second, attempt = await take_over(self._other, page, task, caller)
        if second is None or second.error is not None:
            raise error
        degraded = second.degraded if isinstance(error, OutputUnusable) else (*second.degraded, NO_SERVER)
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
