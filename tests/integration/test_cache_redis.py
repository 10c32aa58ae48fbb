"""Results kept in a real Redis that is killed, frozen, full or filled by others: reads go on, only hits are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import anyio
import pytest
from redis.asyncio import Redis

from inkgate.caller import NO_CALLER
from inkgate.service.page_cache import page_cache
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState
from inkgate.serving.cache import BreakingStore, CacheSource
from inkgate.storage.redis import RedisStore
from inkgate_client.types import PageResult, Task
from support.page_readers import cache_of, page_reader
from support.redis_server import RedisServer, redis_server
from support.scripted_engine import KeyedPage, ScriptedEngine

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SOON = BreakerSettings(window_s=60.0, min_calls=5, open_s=0.05, max_open_s=0.2)
"""As a service has it, but tried again at once."""
WAIT_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


class Service:
    """One of the services that share a Redis."""

    def __init__(self, url: str, get_s: float = 2.0) -> None:
        self.engine = ScriptedEngine()
        self.breaker = Breaker("redis", SOON)
        self.redis = RedisStore(url)
        store = BreakingStore(self.redis, self.breaker, get_s, put_s=0.3)
        self.cached = page_reader(self.engine, cache=page_cache(store, 60.0))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(cache_of(self.cached).run)
        await anyio.lowlevel.checkpoint()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def read(self, *indexes: int) -> None:
        """Reads these pages all at once, and checks each result."""
        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as tasks:
                for index in indexes:
                    tasks.start_soon(self._read, index)

    async def _read(self, index: int) -> None:
        result: PageResult = await self.cached.read(KeyedPage(b"%d" % index, index), Task(), NO_CALLER)
        assert (result.index, result.text, result.error) == (index, f"page {index}", None)

    async def kept(self, index: int) -> None:
        """Reads this page until it comes from the cache."""
        with anyio.fail_after(WAIT_S):
            while True:
                hits = cache_of(self.cached).found[CacheSource.KEPT]
                await self._read(index)
                if cache_of(self.cached).found[CacheSource.KEPT] > hits:
                    return
                await anyio.sleep(0.02)


@pytest.fixture
async def service(server: RedisServer) -> AsyncIterator[Service]:
    async with Service(server.url) as service:
        yield service


async def test_services_share_what_they_read(server: RedisServer, service: Service) -> None:
    await service.read(*range(10))
    async with Service(server.url) as other:
        for index in range(10):
            await other.kept(index)
        assert len(service.engine.begun) == 10
        assert len(other.engine.begun) <= 10
    async with Service(server.url) as third:
        await third.read(*range(10))
        assert third.engine.begun == []


async def test_a_thousand_reads_over_a_hundred_pages_are_a_hundred(service: Service) -> None:
    upcoming = iter([index for index in range(100) for _ in range(10)])

    async def worker() -> None:
        for index in upcoming:
            await service.read(index)

    async with anyio.create_task_group() as workers:
        for _ in range(16):
            workers.start_soon(worker)
    assert Counter(service.engine.begun) == Counter(range(100))


async def test_what_is_kept_has_an_end(server: RedisServer, service: Service) -> None:
    await service.read(0)
    await service.kept(0)
    async with Redis.from_url(server.url) as redis:
        (name,) = await redis.keys("inkgate:*")
        assert await redis.dbsize() == 1
        assert 0 < await redis.pttl(name) <= 60_000


async def test_reads_go_on_while_it_is_killed_and_hits_come_back_with_it(server: RedisServer, service: Service) -> None:
    await service.read(*range(20))
    await service.kept(0)
    server.kill()
    for _ in range(3):
        await service.read(*range(20))
    assert service.breaker.opened
    server.start()
    await service.kept(0)
    assert service.breaker.state is BreakerState.CLOSED


async def test_reads_go_on_while_it_is_frozen_and_hits_come_back_with_it(server: RedisServer) -> None:
    async with Service(server.url, get_s=0.2) as service:
        await service.read(*range(20))
        await service.kept(0)
        server.freeze()
        try:
            with anyio.fail_after(WAIT_S):
                while not service.breaker.opened:
                    await service.read(*range(20))
            await service.read(*range(40))
        finally:
            server.thaw()
        for index in range(20):
            await service.kept(index)


async def test_reads_go_on_where_there_never_was_one() -> None:
    async with Service("redis://127.0.0.1:1") as service:
        for _ in range(3):
            await service.read(*range(10))
        assert service.breaker.opened
        assert cache_of(service.cached).found[CacheSource.KEPT] == 0


async def test_one_that_is_full_is_still_looked_up(server: RedisServer, service: Service) -> None:
    await service.read(0)
    await service.kept(0)
    async with Redis.from_url(server.url) as redis:
        await redis.config_set("maxmemory", 1)
        await service.read(*range(1, 20))
        await service.kept(0)
        assert service.breaker.opened == 0
        await redis.config_set("maxmemory", 0)
    await service.kept(1)


@pytest.mark.parametrize("value", [b"", b"short", b'{"text": "somebody else\'s"}', b"\x00" * 100])
async def test_what_others_wrote_under_its_key_is_not_taken(
    server: RedisServer, service: Service, value: bytes
) -> None:
    await service.read(0)
    await service.kept(0)
    async with Redis.from_url(server.url) as redis:
        (name,) = await redis.keys("*")
        await redis.set(name, value)
        reads = len(service.engine.begun)
        await service.read(0)
        assert len(service.engine.begun) == reads + 1
        await redis.delete(name)
        await redis.lpush(name, value)
        await service.read(0)
        assert len(service.engine.begun) == reads + 2


async def test_a_value_is_only_its_own_keys(server: RedisServer) -> None:
    store = RedisStore(server.url)
    await store.put(b"a", b"1", 60.0)
    await store.put(b"b", b"2", 60.0)
    async with Redis.from_url(server.url) as redis:
        await redis.copy("inkgate:61", "inkgate:62", replace=True)
    assert (await store.get(b"a"), await store.get(b"b")) == (b"1", None)
    await store.close()


async def test_what_is_too_large_is_not_put(server: RedisServer) -> None:
    store = RedisStore(server.url, max_value_bytes=10)
    await store.put(b"a", b"x" * 11, 60.0)
    await store.put(b"b", b"x" * 10, 60.0)
    assert (await store.get(b"a"), await store.get(b"b")) == (None, b"x" * 10)
    await store.close()


async def test_lookups_given_up_midway_leave_no_answers_to_the_next(server: RedisServer) -> None:
    store = RedisStore(server.url)
    for number in range(40):
        await store.put(b"%d" % number, b"value %d" % number, 60.0)
    server.freeze()
    for number in range(20):
        with anyio.move_on_after(0.01):
            await store.get(b"%d" % number)
    server.thaw()
    with anyio.fail_after(WAIT_S):
        found = [await store.get(b"%d" % number) for number in range(40)]
    assert found == [b"value %d" % number for number in range(40)]
    await store.close()


@pytest.mark.parametrize("url", ["", "http://127.0.0.1", "redis//x"])
def test_what_is_no_redis_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        RedisStore(url)


async def test_what_was_written_without_the_secret_is_not_answered(server: RedisServer) -> None:
    forger, service, other = (RedisStore(server.url, secret=secret) for secret in ("", "of ours", "of ours"))
    try:
        await forger.put(b"page", b"made up", 60.0)
        assert await forger.get(b"page") == b"made up"
        assert await service.get(b"page") is None
        await service.put(b"page", b"as read", 60.0)
        assert await other.get(b"page") == b"as read"
        assert await forger.get(b"page") is None
    finally:
        for store in (forger, service, other):
            await store.close()
