"""Events of NATS JetStream, by nats-py."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NoStreamResponseError, NotFoundError

from inkgate.jobs.intake.base import BrokerEvent, DeadEvent
from inkgate.settings import BrokerSettings

_POLL_S = 1.0
_CONNECT_S = 5
_CLOSE_S = 5.0
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


class NatsEvents:
    """A subject of a JetStream stream."""

    def __init__(
        self, client: Client, consumer: JetStreamContext.PullSubscription, dead_subject: str, redeliver_s: float
    ) -> None:
        self._client = client
        self._stream = client.jetstream()
        self._consumer = consumer
        self._dead_subject = dead_subject
        self._redeliver_s = redeliver_s

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        try:
            return [_event(message) for message in await self._consumer.fetch(limit, timeout=_POLL_S)]
        except TimeoutError:  # nats-py raises its own, or asyncio's if the time is over between two messages
            return []

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        for letter in dead:
            await self._dead_letter(letter)
        for event in events:
            await _message(event).ack()
        await self._client.flush()

    async def wait(self, events: Sequence[BrokerEvent], seconds: float) -> None:
        until = anyio.current_time() + seconds
        while (left_s := until - anyio.current_time()) > 0:
            for event in events:
                await _message(event).in_progress()
            await anyio.sleep(min(left_s, self._redeliver_s / 3))

    async def _dead_letter(self, letter: DeadEvent) -> None:
        body, headers = letter.event.body, letter.headers()
        try:
            await self._stream.publish(self._dead_subject, body, headers=headers)
        except NoStreamResponseError:
            await _make_stream(self._stream, self._dead_subject)
            await self._stream.publish(self._dead_subject, body, headers=headers)


@asynccontextmanager
async def nats_events(settings: BrokerSettings, dead_subject: str) -> AsyncIterator[NatsEvents]:
    """The subject, while connected; a stream is made if none has it. Raises nats-py's errors if no server answers."""
    # Without reconnecting, a lost connection is an error here, and the supervisor connects again. The first connection
    # is tried again all the same, by default for two minutes.
    client = await nats.connect(
        settings.address.get_secret_value(),
        allow_reconnect=False,
        max_reconnect_attempts=1,
        reconnect_time_wait=0,
        connect_timeout=_CONNECT_S,
        error_cb=_known,
    )
    try:
        stream = client.jetstream()
        try:
            await stream.find_stream_name_by_subject(settings.topic)
        except NotFoundError:
            await _make_stream(stream, settings.topic)
        # One durable consumer has one subject.
        durable = _NO_NAME.sub("_", f"{settings.group}-{settings.topic}")
        config = ConsumerConfig(ack_policy=AckPolicy.EXPLICIT, ack_wait=settings.redeliver_s)
        consumer = await stream.pull_subscribe(settings.topic, durable=durable, config=config)
        yield NatsEvents(client, consumer, dead_subject, settings.redeliver_s)
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await client.close()


async def _make_stream(stream: JetStreamContext, subject: str) -> None:
    await stream.add_stream(name=_NO_NAME.sub("_", subject), subjects=[subject])


async def _known(_: Exception) -> None:
    """Takes errors of the connection, which calls raise too."""


def _message(event: BrokerEvent) -> Msg:
    if not isinstance(event.message, Msg):
        raise TypeError("the event is not of NATS")
    return event.message


def _event(message: Msg) -> BrokerEvent:
    offset = str(message.metadata.sequence.stream)
    return BrokerEvent(message.data, dict(message.headers or {}), message.subject, offset, message=message)
