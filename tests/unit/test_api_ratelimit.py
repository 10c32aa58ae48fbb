"""Retry-After does not depend on changes of the wall clock."""

from __future__ import annotations

import anyio
import pytest
from limits import parse
from limits.aio.storage import MemoryStorage

from inkgate.api.http.ratelimit import FORGOING, RateLimiter
from inkgate.errors import Overloaded
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


@pytest.mark.parametrize("now", [0.0, 1e12])
async def test_no_longer_than_the_window_when_the_clock_jumps(now: float) -> None:
    limiter = RateLimiter(parse("1/minute"), MemoryStorage(), now=lambda: now)
    await limiter.count("me")
    with pytest.raises(Overloaded) as refused:
        await limiter.count("me")
    assert 0 <= refused.value.retry_after_s <= 60


class FreezableStorage(MemoryStorage):
    """A storage that answers nothing while it is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = True
        self.asked = 0

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        self.asked += 1
        if self.frozen:
            await anyio.sleep_forever()
        return await super().acquire_sliding_window_entry(key, limit, expiry, amount)


async def test_a_storage_that_is_frozen_is_waited_for_by_few_requests_and_asked_again_later() -> None:
    storage, now = FreezableStorage(), 0.0
    limiter = RateLimiter(parse("1/minute"), storage, clock=lambda: now)
    for _ in range(50):
        await limiter.count("me")
    assert storage.asked == FORGOING.min_calls
    now += FORGOING.open_s
    storage.frozen = False
    await limiter.count("me")
    assert storage.asked == FORGOING.min_calls + 1
    with pytest.raises(Overloaded, match="rate_limited"):
        await limiter.count("me")


async def test_a_caller_over_the_limit_is_no_failure_of_the_storage() -> None:
    limiter = RateLimiter(parse("1/minute"), MemoryStorage())
    await limiter.count("me")
    for _ in range(50):
        with pytest.raises(Overloaded, match="rate_limited"):
            await limiter.count("me")
