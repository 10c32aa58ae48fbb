"""How long a caller is told to wait, whatever the wall clock does meanwhile."""

from __future__ import annotations

import pytest
from limits import parse
from limits.aio.storage import MemoryStorage

from inkgate.api.ratelimit import RateLimiter
from inkgate.errors import Overloaded

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("now", [0.0, 1e12])
async def test_no_longer_than_the_window_when_the_clock_jumps(now: float) -> None:
    limiter = RateLimiter(parse("1/minute"), MemoryStorage(), now=lambda: now)
    await limiter.count("me")
    with pytest.raises(Overloaded) as refused:
        await limiter.count("me")
    assert 0 <= refused.value.retry_after_s <= 60
