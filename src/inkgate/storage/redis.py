"""A Store in Redis."""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

_DIGEST_SIZE = 16
_CONNECTIONS = 16
_CONNECT_S = 1.0


def connections(url: str) -> BlockingConnectionPool:
    """A small connection pool. Commands wait at most a second for a connection and a second for a reply, and are
    retried once on a new connection. `url`: as for RedisStore.

    Raises:
        ValueError: `url` is invalid.
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
    """A Store (serving/cache.py) in Redis that several services may share. Keys begin with `prefix`.

    Each value is stored with a digest of itself and its key: damaged values, and values of other keys, are ignored.
    With a `secret` the digest is a signature, so that values written without the secret are ignored too. Without it,
    any client that may write to this Redis can forge results.

    Values larger than `max_value_bytes` are not stored. A broken connection is reopened once.
    """

    def __init__(self, url: str, prefix: str = "inkgate:", max_value_bytes: int = 4_000_000, secret: str = "") -> None:
        """`url` is `redis://`, `rediss://` or `unix://`, with user, password and database as redis-py takes them.

        Raises:
            ValueError: `url` is invalid.
        """
        self._redis = Redis.from_pool(connections(url))
        self._refused = False
        self._secret = blake2b(secret.encode()).digest() if secret else b""
        self._prefix = prefix.encode()
        self._max_value_bytes = max_value_bytes
        self._threads = Threads("redis", 1)

    async def get(self, key: bytes) -> bytes | None:
        """The value of `key`, or None.

        Raises:
            OSError: Redis can't be reached, or replies with an error.
        """
        try:
            stored = await self._redis.get(self._name(key))
        except Exception as error:  # not only RedisError: other servers may send what the client can't parse
            raise OSError(f"Redis: {type(error).__name__}") from error
        if not isinstance(stored, bytes):
            return None
        found, value = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
        if not compare_digest(found, await self._digest(key, value)):
            log.warning("redis_value_foreign")
            return None
        return value

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps `value` for at most `ttl_s` seconds. Does nothing if Redis refuses it, for example because it is full.

        Raises:
            OSError: Redis can't be reached.
        """
        if len(value) > self._max_value_bytes:
            return
        stored = await self._digest(key, value) + value
        try:
            await self._redis.set(self._name(key), stored, px=max(1, round(ttl_s * 1000)))
            self._refused = False
        except ResponseError as error:
            if not self._refused:
                log.warning("redis_refuses", reason=type(error).__name__)
            self._refused = True
        except Exception as error:  # not only RedisError: other servers may send what the client can't parse
            raise OSError(f"Redis: {type(error).__name__}") from error

    async def close(self) -> None:
        """Closes the connections."""
        await self._redis.aclose()

    async def _digest(self, key: bytes, value: bytes) -> bytes:
        return await self._threads.run_large(len(value), digest, key, value, self._secret)

    def _name(self, key: bytes) -> bytes:
        return self._prefix + key.hex().encode()


def digest(key: bytes, value: bytes, secret: bytes = b"") -> bytes:
    """Digest of an entry: a signature with `secret` (up to 64 bytes), a checksum without."""
    made = blake2b(key=secret, digest_size=_DIGEST_SIZE)
    made.update(len(key).to_bytes(4, "big"))
    made.update(key)
    made.update(value)
    return made.digest()
