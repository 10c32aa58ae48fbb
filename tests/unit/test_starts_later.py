"""An engine that starts later: what waits for it, what is told meanwhile, and when it is given up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.service.page import NO_SERVER
from inkgate.service.starting import StartsLater
from inkgate_client.types import Task
from support.fake_engine import FakeEngine
from support.page_readers import page_reader
from support.ppocr import ArrayPage
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio
PAGE = ArrayPage(np.zeros((4, 4, 3), np.uint8))
UNREACHABLE = EngineFailed("upstream_unreachable", "Nobody is there.")


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


class Slow(FakeEngine):
    """Its start takes `takes_s`, and fails with each of `failures` first."""

    def __init__(self, takes_s: float, *failures: InkgateError) -> None:
        super().__init__()
        self.takes_s = takes_s
        self.failures = list(failures)
        self.starts = 0

    async def start(self) -> None:
        self.starts += 1
        await anyio.sleep(self.takes_s)
        if self.failures:
            raise self.failures.pop(0)


@asynccontextmanager
async def later(inner: FakeEngine, *, retries: bool = True) -> AsyncIterator[StartsLater]:
    found = StartsLater(inner, 5.0, retries=retries)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(found.run)
        try:
            yield found
        finally:
            tasks.cancel_scope.cancel()


async def test_a_quick_start_is_waited_for() -> None:
    async with later(Slow(1.0)) as engine:
        await engine.start()
        assert engine.is_started
        assert (await engine.read(PAGE, Task(), NO_CALLER)).error is None


async def test_a_proxy_without_its_server_is_waited_for_too() -> None:
    async with later(Slow(1.0, EngineFailed("upstream_failed", "502 of a proxy."))) as engine:
        await engine.start()
        assert engine.is_started


async def test_a_slow_one_goes_on_while_pages_are_refused_or_read_by_another() -> None:
    async with later(Slow(20.0, UNREACHABLE, EngineFailed("model_unknown", "Later."))) as engine:
        await engine.start()
        with pytest.raises(Overloaded) as refused:
            await engine.read(PAGE, Task(), NO_CALLER)
        assert (refused.value.code, refused.value.retry_after_s > 0) == ("starting", True)
        result = await page_reader(engine, embedded=FakeEngine()).read(PAGE, Task(), NO_CALLER)
        assert result.degraded == (NO_SERVER,)
        assert [attempt.error and attempt.error.code for attempt in result.attempts] == ["starting", None]
        await anyio.sleep(100)
        assert (await engine.read(PAGE, Task(), NO_CALLER)).degraded == ()


@pytest.mark.parametrize(
    ("retries", "error"),
    [(True, EngineFailed("upstream_denied", "No.")), (False, EngineFailed("engine_unavailable", "It died."))],
)
async def test_a_start_that_fails_at_once_is_an_error(retries: bool, error: EngineFailed) -> None:
    async with later(Slow(0.1, error), retries=retries) as engine:
        with pytest.raises(EngineFailed) as failed:
            await engine.start()
    assert failed.value.code == error.code


async def test_one_that_will_never_start_says_so_after_the_service_listens() -> None:
    inner = Slow(60.0, EngineFailed("engine_unavailable", "vLLM does not start."))
    async with later(inner, retries=False) as engine:
        await engine.start()
        with pytest.raises(EngineFailed, match="vLLM does not start"):
            await engine.until_failed()
        assert inner.starts == 1
        with pytest.raises(Overloaded):
            await engine.read(PAGE, Task(), NO_CALLER)
