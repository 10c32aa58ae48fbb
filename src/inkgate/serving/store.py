"""Where bytes are kept for a while: in memory, or elsewhere, as long as that costs little."""

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
"""What an entry of MemoryStore takes beside its value: the key, the tuple, its place in the dict and in the order."""


class Store(Protocol):
    """Bytes by key, each for a time. What it holds may be gone at any moment."""

    async def get(self, key: bytes) -> bytes | None:
        """What was put under `key`, or None. Raises OSError when it can't be reached."""
        ...

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps `value` for `ttl_s` seconds at most. Raises OSError when it can't be reached."""
        ...

    async def close(self) -> None:
        """Frees its connections."""
        ...


class MemoryStore:
    """A Store of at most `max_bytes`: what was not asked for the longest goes first (LRU).

    Attributes:
        bytes: taken now.
        max_bytes: that it may take.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = anyio.current_time) -> None:
        """`clock` in seconds."""
        self.bytes = 0
        self.max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()

    def __len__(self) -> int:
        """Entries, those included whose time is over and that nobody has asked for since."""
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
"""When a store is more trouble than help: a page takes hundreds of milliseconds to read, and 20 to be looked up."""


class BreakingStore:
    """A Store that is left alone when it is slow or gone: all that is lost then are hits.

    A lookup has `get_s` seconds, a put `put_s`. While `breaker` is not closed there are no lookups: they cost nothing.
    Whether the store is back is found out by what is put into it, which nobody waits for.
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
