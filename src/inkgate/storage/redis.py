"""Bytes in Redis."""

from __future__ import annotations

from hashlib import blake2b

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

log = structlog.get_logger(__name__)

_SEAL_SIZE = 16
_CONNECTIONS = 16
_CONNECT_S = 1.0


def connections(url: str) -> BlockingConnectionPool:
    """A few connections, for which commands wait for a second at most, as for an answer: one that fails may be sent
    again on a new connection, once. `url` as RedisStore takes it.

    Raises:
        ValueError: `url` is none.
    """
    return BlockingConnectionPool.from_url(
        url,
        max_connections=_CONNECTIONS,
        timeout=_CONNECT_S,
        socket_connect_timeout=_CONNECT_S,
        socket_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 1),
    )


class RedisStore:
    """A Store (serving/store.py) in Redis, which several services may share. Keys begin with `prefix`.

    Each value is sealed with its key: what was written by somebody else, or comes back as the answer to another
    question, is no value. One larger than `max_value_bytes` is not put. A connection that broke is made anew once.
    """

    def __init__(self, url: str, prefix: str = "inkgate:", max_value_bytes: int = 4_000_000) -> None:
        """`url` is `redis://`, `rediss://` or `unix://`, with user, password and database as redis-py takes them.

        Raises:
            ValueError: `url` is none.
        """
        self._redis = Redis.from_pool(connections(url))
        self._refused = False
        self._prefix = prefix.encode()
        self._max_value_bytes = max_value_bytes

    async def get(self, key: bytes) -> bytes | None:
        """What was put under `key`, or None.

        Raises:
            OSError: Redis can't be reached, or is not in order.
        """
        try:
            sealed = await self._redis.get(self._name(key))
        except RedisError as error:
            raise OSError(f"Redis: {type(error).__name__}") from error
        if not isinstance(sealed, bytes):
            return None
        seal, value = sealed[:_SEAL_SIZE], sealed[_SEAL_SIZE:]
        if seal != _seal(key, value):
            log.warning("redis_value_foreign")
            return None
        return value

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps `value` for `ttl_s` seconds at most; not at all where Redis refuses it, being full for example.

        Raises:
            OSError: Redis can't be reached.
        """
        if len(value) > self._max_value_bytes:
            return
        sealed = _seal(key, value) + value
        try:
            await self._redis.set(self._name(key), sealed, px=max(1, round(ttl_s * 1000)))
            self._refused = False
        except ResponseError as error:
            if not self._refused:
                log.warning("redis_refuses", reason=type(error).__name__)
            self._refused = True
        except RedisError as error:
            raise OSError(f"Redis: {type(error).__name__}") from error

    async def close(self) -> None:
        """Closes the connections."""
        await self._redis.aclose()

    def _name(self, key: bytes) -> bytes:
        return self._prefix + key.hex().encode()


def _seal(key: bytes, value: bytes) -> bytes:
    return blake2b(value, key=key[:64], digest_size=_SEAL_SIZE).digest()
