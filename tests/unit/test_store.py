"""Bytes that are kept in memory, and a store that is left alone while it is slow."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.breaker import Breaker, BreakerState
from inkgate.serving.cache import SPARING, BreakingStore, MemoryStore

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def held(store: MemoryStore, keys: bytes) -> bytes:
    return bytes([key for key in keys if await store.get(bytes([key])) is not None])


async def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    store = MemoryStore(4000)
    for key in b"abc":
        await store.put(bytes([key]), b"x" * 1000, 60.0)
    assert await store.get(b"a") == b"x" * 1000
    await store.put(b"d", b"x" * 1000, 60.0)
    assert await held(store, b"abcd") == b"acd"


async def test_what_is_too_old_is_gone() -> None:
    clock = Clock()
    store = MemoryStore(4000, clock)
    await store.put(b"a", b"1", 60.0)
    clock.now += 59.9
    assert await store.get(b"a") == b"1"
    clock.now += 0.1
    assert await store.get(b"a") is None
    assert store.bytes == 0


async def test_what_is_larger_than_all_memory_is_not_kept_and_drives_nothing_out() -> None:
    store = MemoryStore(2000)
    await store.put(b"a", b"1", 60.0)
    await store.put(b"b", b"x" * 2000, 60.0)
    assert await held(store, b"ab") == b"a"
    await store.put(b"a", b"x" * 2000, 60.0)
    assert await held(store, b"ab") == b""


@given(st.lists(st.tuples(st.sampled_from(b"abcdef"), st.integers(0, 1500), st.booleans()), max_size=50))
async def test_it_never_takes_more_than_it_may_and_never_gives_anything_else_than_was_put(
    steps: list[tuple[int, int, bool]],
) -> None:
    store = MemoryStore(3000)
    last: dict[bytes, bytes] = {}
    for number, (name, size, put) in enumerate(steps):
        key = bytes([name])
        if put:
            last[key] = bytes([number]) * size
            await store.put(key, last[key], 60.0)
            assert 0 <= store.bytes <= 3000
        else:
            assert await store.get(key) in {None, last.get(key)}
    await store.close()
    assert store.bytes == 0


class SlowStore:
    """A store that takes `spent_s` of the clock, or never answers, or is gone."""

    def __init__(self, clock: Clock) -> None:
        self.spent_s = 0.0
        self.hangs = self.gone = False
        self.lookups = self.puts = 0
        self._clock = clock
        self._memory = MemoryStore(10_000, clock)

    async def get(self, key: bytes) -> bytes | None:
        self.lookups += 1
        await self._work()
        return await self._memory.get(key)

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        self.puts += 1
        await self._work()
        await self._memory.put(key, value, ttl_s)

    async def close(self) -> None:
        await self._memory.close()

    async def _work(self) -> None:
        self._clock.now += self.spent_s
        if self.gone:
            raise ConnectionRefusedError
        if self.hangs:
            await anyio.sleep_forever()


class StoreBench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.slow = SlowStore(self.clock)
        self.breaker = Breaker("the store", SPARING, self.clock)
        self.store = BreakingStore(self.slow, self.breaker, get_s=0.001, put_s=0.001)

    async def looked_up(self, count: int = 1) -> list[object]:
        found: list[object] = []
        for _ in range(count):
            try:
                found.append(await self.store.get(b"a"))
            except OSError as error:
                found.append(type(error))
        return found


@pytest.fixture
async def spared() -> StoreBench:
    spared = StoreBench()
    await spared.store.put(b"a", b"1", 600.0)
    return spared


async def test_a_store_that_works_is_asked(spared: StoreBench) -> None:
    assert await spared.looked_up(3) == [b"1"] * 3


async def test_a_store_that_hangs_costs_a_few_short_waits_and_then_nothing(spared: StoreBench) -> None:
    spared.slow.hangs = True
    waits = SPARING.min_calls - 1  # and the put before them
    assert await spared.looked_up(20) == [TimeoutError] * waits + [None] * (20 - waits)
    assert spared.slow.lookups == waits


async def test_a_store_that_is_slow_is_left_alone(spared: StoreBench) -> None:
    spared.slow.spent_s = 0.03
    await spared.looked_up(20)
    assert spared.slow.lookups <= SPARING.min_calls
    assert spared.breaker.state is BreakerState.OPEN


async def test_while_it_is_left_alone_nothing_is_put(spared: StoreBench) -> None:
    spared.slow.gone = True
    await spared.looked_up(20)
    puts = spared.slow.puts
    await spared.store.put(b"b", b"2", 60.0)
    assert spared.slow.puts == puts


async def test_what_is_put_finds_out_that_it_is_back_and_lookups_do_not(spared: StoreBench) -> None:
    spared.slow.gone = True
    await spared.looked_up(20)
    spared.slow.gone = False
    spared.clock.now += SPARING.open_s
    lookups = spared.slow.lookups
    assert await spared.looked_up(5) == [None] * 5
    assert spared.slow.lookups == lookups
    for key in (b"b", b"c"):
        await spared.store.put(key, b"2", 600.0)
    assert await spared.looked_up() == [b"1"]
