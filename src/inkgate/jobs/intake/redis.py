"""Events of a Redis stream, by redis-py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast
from uuid import uuid4

import anyio
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from inkgate.jobs.intake.base import BrokerEvent, DeadEvent
from inkgate.settings import BrokerSettings

_POLL_MS = 1_000
_CLOSE_S = 5.0
_BODY = b"data"

Entries = list[tuple[bytes, dict[bytes, bytes]]]
Streams = list[tuple[bytes, Entries]]
Claimed = tuple[bytes, Entries, list[bytes]]
Fields = dict[bytes | bytearray | memoryview | str | int | float, bytes | bytearray | memoryview | str | int | float]


class RedisEvents:
    """A stream of Redis. The event is the field `data` of an entry, or its only field; other fields are headers."""

    def __init__(self, client: Redis, settings: BrokerSettings, dead_stream: str) -> None:
        self._client = client
        self._stream = settings.topic
        self._group = settings.group
        self._consumer = uuid4().hex
        self._dead_stream = dead_stream
        self._redeliver_ms = int(settings.redeliver_s * 1_000)

    async def start(self) -> None:
        """Makes the stream and the group if they are missing."""
        try:
            await self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        """New entries. If there are none, entries that a consumer took and never acknowledged."""
        found = await self._client.xreadgroup(
            self._group, self._consumer, {self._stream: ">"}, count=limit, block=_POLL_MS
        )
        entries = [entry for _, of_stream in cast("Streams", found) for entry in of_stream]
        if not entries:
            claimed = await self._client.xautoclaim(
                self._stream, self._group, self._consumer, self._redeliver_ms, count=limit
            )
            entries = [entry for entry in cast("Claimed", claimed)[1] if entry[1]]  # without those that were deleted
        return [self._event(identity, fields) for identity, fields in entries]

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        for letter in dead:
            fields: Fields = {_BODY: letter.event.body}
            fields.update(letter.headers().items())
            await self._client.xadd(self._dead_stream, fields)
        await self._client.xack(self._stream, self._group, *(event.offset for event in events))

    async def wait(self, events: Sequence[BrokerEvent], seconds: float) -> None:
        until = anyio.current_time() + seconds
        while (left_s := until - anyio.current_time()) > 0:
            # Claims its own entries again, so that others don't take them for abandoned.
            identities: list[int | bytes | str | memoryview] = [event.offset for event in events]
            await self._client.xclaim(self._stream, self._group, self._consumer, 0, identities, justid=True)
            await anyio.sleep(min(left_s, self._redeliver_ms / 3_000))

    async def leave(self) -> None:
        """Deletes this consumer, unless it has entries that others should claim."""
        waiting = await self._client.xpending_range(
            self._stream, self._group, min="-", max="+", count=1, consumername=self._consumer
        )
        if not waiting:
            await self._client.xgroup_delconsumer(self._stream, self._group, self._consumer)

    def _event(self, identity: bytes, fields: dict[bytes, bytes]) -> BrokerEvent:
        body = fields.get(_BODY, next(iter(fields.values())) if len(fields) == 1 else b"")
        headers = {
            name.decode(errors="replace"): value.decode(errors="replace")
            for name, value in fields.items()
            if name != _BODY
        }
        return BrokerEvent(body, headers, self._stream, identity.decode())


@asynccontextmanager
async def redis_events(settings: BrokerSettings, dead_stream: str) -> AsyncIterator[RedisEvents]:
    """The stream, while connected. Raises an error of redis-py if no server answers."""
    client = Redis.from_url(settings.address.get_secret_value(), protocol=2)  # the other has other types
    try:
        events = RedisEvents(client, settings, dead_stream)
        await events.start()
        yield events
        await events.leave()
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await client.aclose()
