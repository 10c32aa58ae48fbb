"""Bytes in Redis."""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

log = structlog.get_logger(__name__)

_DIGEST_SIZE = 16
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

    Each value is stored behind a digest of it and its key: what was damaged, or comes back as the answer to another
    question, is no value. With a `secret` the digest is a signature: what somebody wrote who does not know it is no
    value either. Without one, whoever may write to this Redis can make answers up.

    A value larger than `max_value_bytes` is not put. A connection that broke is made anew once.
    """

    def __init__(self, url: str, prefix: str = "inkgate:", max_value_bytes: int = 4_000_000, secret: str = "") -> None:
        """`url` is `redis://`, `rediss://` or `unix://`, with user, password and database as redis-py takes them.

        Raises:
            ValueError: `url` is none.
        """
        self._redis = Redis.from_pool(connections(url))
        self._refused = False
        self._secret = blake2b(secret.encode()).digest() if secret else b""
        self._prefix = prefix.encode()
        self._max_value_bytes = max_value_bytes

    async def get(self, key: bytes) -> bytes | None:
        """What was put under `key`, or None.

        Raises:
            OSError: Redis can't be reached, or is not in order.
        """
        try:
            stored = await self._redis.get(self._name(key))
        except Exception as error:  # not only RedisError: what is no Redis answers what its client can't parse
            raise OSError(f"Redis: {type(error).__name__}") from error
        if not isinstance(stored, bytes):
            return None
        found, value = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
        if not compare_digest(found, digest(key, value, self._secret)):
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
        stored = digest(key, value, self._secret) + value
        try:
            await self._redis.set(self._name(key), stored, px=max(1, round(ttl_s * 1000)))
            self._refused = False
        except ResponseError as error:
            if not self._refused:
                log.warning("redis_refuses", reason=type(error).__name__)
            self._refused = True
        except Exception as error:  # not only RedisError: what is no Redis answers what its client can't parse
            raise OSError(f"Redis: {type(error).__name__}") from error

    async def close(self) -> None:
        """Closes the connections."""
        await self._redis.aclose()

    def _name(self, key: bytes) -> bytes:
        return self._prefix + key.hex().encode()


def digest(key: bytes, value: bytes, secret: bytes = b"") -> bytes:
    """Of an entry: a signature with `secret` (up to 64 bytes), a checksum without."""
    made = blake2b(key=secret, digest_size=_DIGEST_SIZE)
    made.update(len(key).to_bytes(4, "big"))
    made.update(key)
    made.update(value)
    return made.digest()
