"""Rate limit per caller, counted in memory or in Redis."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import ceil
from typing import Any

import anyio
import structlog
from limits import RateLimitItem, parse
from limits.aio.storage import RedisStorage, Storage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from inkgate.errors import Overloaded
from inkgate.serving.breaker import Breaker, BreakerSettings
from inkgate.settings import RateLimitSettings

log = structlog.get_logger(__name__)


def _now() -> float:
    return datetime.now(UTC).timestamp()


COUNT_S = 0.25
"""Time limit for counting, as requests wait for it. A working Redis takes a millisecond."""
FORGOING = BreakerSettings(window_s=10.0, min_calls=3, failed_rate=0.5, open_s=5.0, max_open_s=60.0)
"""Counting pauses after three requests that timed out. Slow counts still count."""


class RateLimiter:
    """Counts requests by caller. If the storage does not respond in time, requests pass: a broken or frozen Redis must
    not stop the service. Failure and recovery are each logged once. While a circuit breaker is open, requests pass at
    once and single ones probe the storage.
    """

    def __init__(
        self,
        limit: RateLimitItem,
        storage: Storage,
        now: Callable[[], float] = _now,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`now`: Unix time in seconds, as in the storage; `clock`: of the breaker, in seconds."""
        self._limit = limit
        self._storage = storage
        self._strategy = SlidingWindowCounterRateLimiter(storage)
        self._now = now
        self._reachable = True
        self._breaker = Breaker("rate limit storage", FORGOING, clock)

    async def count(self, caller: str) -> None:
        """Counts one request of `caller`.

        Raises:
            Overloaded: "rate_limited", with the time until the next one may pass.
        """
        try:
            async with self._breaker.guard():
                with anyio.fail_after(COUNT_S):
                    reset_at = await self._hit(caller)
        except StorageError as error:
            self._note(reachable=False, reason=type(error.storage_error).__name__)
            return
        except TimeoutError:
            self._note(reachable=False, reason="TimeoutError")
            return
        except Overloaded:  # the breaker is open, which it has logged
            return
        except Exception as error:  # noqa: BLE001 - the parser of answers raises anything when they are no Redis's
            self._note(reachable=False, reason=type(error).__name__)
            return
        self._note(reachable=True)
        if reset_at is not None:
            # Both are wall clock times; the clock may be changed between them.
            wait_s = min(max(0.0, reset_at - self._now()), self._limit.get_expiry())
            whom = "this API key" if caller.startswith("key:") else "this address"
            detail = f"Requests of {whom} are limited to {self._limit}; the next is accepted in {ceil(wait_s)} s."
            refusal = Overloaded("rate_limited", detail, wait_s)
            refusal.slot_s = self._limit.get_expiry() / self._limit.amount
            raise refusal

    async def _hit(self, caller: str) -> float | None:
        """Counts one request. Returns None if it passes, else the time when the next one may."""
        if await self._strategy.hit(self._limit, caller):
            return None
        return (await self._strategy.get_window_stats(self._limit, caller)).reset_time

    async def close(self) -> None:
        """Closes the connections to the storage."""
        if isinstance(self._storage, RedisStorage) and isinstance(self._storage.bridge, RedispyBridge):
            await self._storage.bridge.storage.aclose(close_connection_pool=True)

    def _note(self, *, reachable: bool, reason: str = "") -> None:
        if reachable and not self._reachable:
            log.info("rate_limit_storage_back")
        elif self._reachable and not reachable:
            log.warning("rate_limit_storage_unreachable", reason=reason)
        self._reachable = reachable


def build_rate_limiter(settings: RateLimitSettings) -> RateLimiter | None:
    """The limiter for the settings; None if they set no limit.

    Raises:
        ValueError: the limit is invalid.
    """
    if not settings.per_key:
        return None
    limit = parse(settings.per_key)
    url = settings.storage_url
    options = _redis_options(url) if url.startswith("redis") else {}
    storage = storage_from_string(f"async+{url}", wrap_exceptions=True, **options)
    if not isinstance(storage, Storage):
        raise TypeError(f"{settings.storage_url!r} is not a storage that can be awaited")
    return RateLimiter(limit, storage)


def _redis_options(url: str) -> dict[str, Any]:
    """A pool that waits for a free connection. At its maximum, redis-py's default pool fails and counts nothing."""
    from inkgate.storage.redis import connections  # requires inkgate[redis]

    return {"implementation": "redispy", "connection_pool": connections(url.replace("redis+unix", "unix", 1))}
