"""Key-value stores with expiry: in memory, or remote behind a circuit breaker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import anyio
import structlog

from inkgate.errors import Overloaded
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState

log = structlog.get_logger(__name__)

_ENTRY_BYTES = 300
"""Memory of a MemoryStore entry besides its value: key, tuple, and node of the ordered dict."""


class Store(Protocol):
    """Bytes by key, with expiry. Any entry may vanish at any time."""

    async def get(self, key: bytes) -> bytes | None:
        """The value of `key`, or None. Raises OSError if the store can't be reached."""
        ...

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps `value` for at most `ttl_s` seconds. Raises OSError if the store can't be reached."""
        ...

    async def close(self) -> None:
        """Frees its connections."""
        ...


class MemoryStore:
    """A Store of at most `max_bytes`; evicts the least recently used entry first (LRU).

    Attributes:
        bytes: current size.
        max_bytes: maximum size.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = anyio.current_time) -> None:
        """`clock` in seconds."""
        self.bytes = 0
        self.max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()

    def __len__(self) -> int:
        """Number of entries, including expired ones that were not requested since."""
        return len(self._entries)

    async def get(self, key: bytes) -> bytes | None:
        value, ends_at = self._entries.get(key, (None, 0.0))
        if value is None:
            return None
        if self._clock() >= ends_at:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return value

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        self._drop(key)
        if len(value) + _ENTRY_BYTES > self.max_bytes:
            return
        self._entries[key] = (value, self._clock() + ttl_s)
        self.bytes += len(value) + _ENTRY_BYTES
        while self.bytes > self.max_bytes:
            self._drop(next(iter(self._entries)))

    async def close(self) -> None:
        self._entries.clear()
        self.bytes = 0

    def _drop(self, key: bytes) -> None:
        if entry := self._entries.pop(key, None):
            self.bytes -= len(entry[0]) + _ENTRY_BYTES


SPARING = BreakerSettings(window_s=2.0, least=5, failed_rate=0.5, target_s=0.02, slow_rate=0.5, open_most_s=60.0)
"""A lookup of more than 20 ms counts as slow: reading a page takes hundreds of milliseconds."""


class BreakingStore:
    """A Store behind a circuit breaker: if it is slow or unreachable, only cache hits are lost.

    `get_s`, `put_s`: timeouts in seconds. While `breaker` is not closed, lookups return None at once. Puts, which no
    request waits for, serve as probes.
    """

    def __init__(self, inner: Store, breaker: Breaker, get_s: float = 0.05, put_s: float = 1.0) -> None:
        self._inner = inner
        self._breaker = breaker
        self._get_s = get_s
        self._put_s = put_s

    async def get(self, key: bytes) -> bytes | None:
        if self._breaker.state is not BreakerState.CLOSED:
            return None
        async with self._breaker.guard():
            with anyio.fail_after(self._get_s):
                return await self._inner.get(key)

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        try:
            async with self._breaker.guard():
                with anyio.fail_after(self._put_s):
                    await self._inner.put(key, value, ttl_s)
        except Overloaded as error:
            log.debug("cache_put_spared", reason=error.detail)

    async def close(self) -> None:
        await self._inner.close()
