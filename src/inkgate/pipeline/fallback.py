"""Other engines for pages on which the model fails: asked after it, and started when first needed."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import InkgateError
from inkgate.types import Attempt, Page, PageResult, Task

log = structlog.get_logger(__name__)

TAKEN_OVER = frozenset({"output_repeats", "engine_output_invalid"})
"""Errors that are specific to the model: another one may be able to read the page."""


class Fallback(EngineWrapper):
    """An Engine around two: pages on which `inner` fails for good are read by `other`."""

    def __init__(self, inner: Engine, other: Engine) -> None:
        super().__init__(inner)
        self._other = other

    async def start(self) -> None:
        await self._inner.start()
        await self._other.start()

    async def stop(self) -> None:
        await self._inner.stop()
        await self._other.stop()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read of `inner`. A result of `other` has the attempts of both; if `other` fails too, `inner`'s is
        returned.
        """
        result = await self._inner.read(page, task, caller)
        if result.error is None or result.error.code not in TAKEN_OVER:
            return result
        log.warning("page_taken_over", page=page.index, by=self._other.name, code=result.error.code)
        change = f"engine {self._other.name}"
        begun = perf_counter()
        try:
            second = await self._other.read(page, task, caller)
        except InkgateError as error:
            failed = Attempt(change, error.as_page_error(), (perf_counter() - begun) * 1000)
            return replace(result, attempts=(*result.attempts, failed))
        taken = Attempt(change, second.error, (perf_counter() - begun) * 1000)
        kept = result if second.error is not None else second
        return replace(kept, attempts=(*result.attempts, *second.attempts, taken))


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
