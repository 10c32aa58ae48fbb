"""Engines that start later: when their model server is there, or when they are first used."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.page import Page
from inkgate_client.types import PageResult, Task

log = structlog.get_logger(__name__)

_PAUSE_S = 1.0
_RETRY_AFTER_S = 5.0


class StartsLater(EngineWrapper):
    """An Engine around an Engine whose start may take long: `start` waits `wait_s` for it, then it goes on in `run`,
    a background task.

    Attributes:
        failed: set if the engine will never start; `failure` is the error.
    """

    def __init__(self, inner: Engine, wait_s: float, *, retries: bool) -> None:
        """`retries`: whether a start that failed may be tried again."""
        super().__init__(inner)
        self._wait_s = wait_s
        self._retries = retries
        self._requested = anyio.Event()
        self._settled = anyio.Event()
        self._listens = False
        self.is_started = False
        self.failed = anyio.Event()
        self.failure: InkgateError | None = None

    async def start(self) -> None:
        """Returns once the engine has started, or after `wait_s`.

        Raises:
            InkgateError: it failed within that time, and not because its server is not there yet.
        """
        self._requested.set()
        with anyio.move_on_after(self._wait_s):
            await self._settled.wait()
        self._listens = True
        if self.failure is not None:
            raise self.failure
        if not self.is_started:
            log.warning("listening_without_model_server", engine=self.name)

    async def run(self) -> None:
        """Starts the engine, until it has started or can't be."""
        await self._requested.wait()
        logged_code = ""
        while not self.is_started and self.failure is None:
            try:
                await self._inner.start()
            except InkgateError as error:
                if not self._retries or (not error.transient and not self._listens):
                    self.failure = error
                    self.failed.set()
                    break
                if error.code != logged_code:
                    log.warning("engine_not_started", engine=self.name, code=error.code)
                logged_code = error.code
                await anyio.sleep(_PAUSE_S)
            else:
                self.is_started = True
        self._settled.set()
        await anyio.sleep_forever()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """Reads a page. Also raises Overloaded("starting")."""
        self.check()
        return await self._inner.read(page, task, caller)

    def check(self) -> None:
        """Raises Overloaded("starting") if the engine has not started."""
        if not self.is_started:
            raise Overloaded("starting", f"{self.name} is waiting for its model server.", _RETRY_AFTER_S)

    async def until_failed(self) -> None:
        """Waits until the engine will never start.

        Raises:
            InkgateError: why.
        """
        await self.failed.wait()
        raise self.failure or EngineFailed("engine_unavailable", "The engine did not start.")


class UpstreamOnceStarted:
    """An Upstream for calls that are passed through: refuses them until the engine has started."""

    def __init__(self, inner: Upstream, engine: StartsLater) -> None:
        self._inner = inner
        self._engine = engine

    async def models(self) -> tuple[str, ...]:
        """Lists the models. Also raises Overloaded("starting")."""
        self._engine.check()
        return await self._inner.models()

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """Sends a call. Also raises Overloaded("starting")."""
        self._engine.check()
        async with self._inner.send(call) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()


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
        """Reads a page. Also raises EngineFailed("engine_unavailable") if the engine can't be started."""
        async with self._starting:
            if not self._started:
                await self._inner.start()
                self._started = True
        return await self._inner.read(page, task, caller)
