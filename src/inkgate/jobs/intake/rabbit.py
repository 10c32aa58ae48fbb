"""Events of RabbitMQ, by aio-pika."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aio_pika
import anyio
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aio_pika.exceptions import ChannelNotFoundEntity
from anyio.streams.memory import MemoryObjectReceiveStream

from inkgate.jobs.intake.base import BrokerEvent, DeadEvent
from inkgate.settings import BrokerSettings

_POLL_S = 1.0
_CONNECT_S = 10.0
_CLOSE_S = 5.0


class RabbitEvents:
    """A queue of RabbitMQ."""

    def __init__(
        self, channel: AbstractChannel, queue: str, dead_queue: str, arrived: MemoryObjectReceiveStream[BrokerEvent]
    ) -> None:
        """`arrived`: what the consumer of the channel gets, up to its prefetch count."""
        self._channel = channel
        self._queue = queue
        self._dead_queue = dead_queue
        self._arrived = arrived

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        events = []
        with anyio.move_on_after(_POLL_S):
            events.append(await self._arrived.receive())
        while events and len(events) < limit and self._arrived.statistics().current_buffer_used:
            events.append(self._arrived.receive_nowait())
        if not events and self._channel.is_closed:
            raise ConnectionError("RabbitMQ closed the channel")
        return events

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        if dead:
            await self._channel.declare_queue(self._dead_queue, durable=True)
        for letter in dead:
            message = aio_pika.Message(
                letter.event.body, headers=dict(letter.headers()), delivery_mode=aio_pika.DeliveryMode.PERSISTENT
            )
            await self._channel.default_exchange.publish(message, self._dead_queue)
        # Also acknowledges the messages before it, all of which were taken.
        await _message(events[-1]).ack(multiple=True)

    async def wait(self, _events: Sequence[BrokerEvent], seconds: float) -> None:
        await anyio.sleep(seconds)
        if self._channel.is_closed:
            raise ConnectionError("RabbitMQ closed the channel")


@asynccontextmanager
async def rabbit_events(settings: BrokerSettings, dead_queue: str) -> AsyncIterator[RabbitEvents]:
    """The queue, while connected; made if it is missing. Raises an error of aio-pika if no server answers."""
    # Not connect_robust: a lost connection is an error here, and the supervisor connects again.
    connection = await aio_pika.connect(settings.address.get_secret_value(), timeout=_CONNECT_S)
    try:
        try:
            # Whatever its arguments are.
            queue = await (await connection.channel()).get_queue(settings.topic)
        except ChannelNotFoundEntity:
            queue = await (await connection.channel()).declare_queue(settings.topic, durable=True)
        channel = queue.channel
        await channel.set_qos(prefetch_count=settings.batch)
        send, receive = anyio.create_memory_object_stream[BrokerEvent](settings.batch)

        async def put(message: AbstractIncomingMessage) -> None:
            await send.send(_event(message, settings.topic))

        with send, receive:
            await queue.consume(put)
            yield RabbitEvents(channel, settings.topic, dead_queue, receive)
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await connection.close()


def _message(event: BrokerEvent) -> AbstractIncomingMessage:
    if not isinstance(event.message, AbstractIncomingMessage):
        raise TypeError("the event is not of RabbitMQ")
    return event.message


def _event(message: AbstractIncomingMessage, queue: str) -> BrokerEvent:
    headers = {name: str(value) for name, value in (message.headers or {}).items()}
    return BrokerEvent(message.body, headers, queue, message.message_id or "", message=message)
