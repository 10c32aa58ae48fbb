"""Connections that publish to topics: Kafka, NATS JetStream, RabbitMQ and Redis streams.

The clients are used without FastStream, as in intake. Each publisher returns once the broker has the message safely, as
far as the broker can tell, and raises an error of its client otherwise. Topics, queues and streams have to exist: how
long they keep messages, and for whom, is for those who read them to decide.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio
import structlog

from inkgate.settings import TopicSinkSettings

if TYPE_CHECKING:
    from aiokafka import AIOKafkaProducer

log = structlog.get_logger(__name__)

_CONNECT_S = 10
_CLOSE_S = 5.0


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """What is published.

    Attributes:
        id: the same whenever it is published again.
        key: messages with the same key stay in order, where the broker has partitions.
    """

    id: str
    key: str
    body: bytes
    media_type: str


class NotPublished(Exception):
    """The message was not published, for a reason that a new connection would not change, such as a missing queue."""


class Publisher(Protocol):
    async def publish(self, message: TopicMessage) -> None: ...


def connect(settings: TopicSinkSettings, answer_s: float = 20.0) -> AbstractAsyncContextManager[Publisher]:
    """The topic of the settings, while connected. `answer_s`: time limit of the broker's answer."""
    match settings.broker:
        case "kafka":
            return kafka_publisher(settings, answer_s)
        case "nats":
            return nats_publisher(settings, answer_s)
        case "rabbit":
            return rabbit_publisher(settings, answer_s)
        case "redis":
            return redis_publisher(settings, answer_s)


@asynccontextmanager
async def kafka_publisher(settings: TopicSinkSettings, answer_s: float) -> AsyncIterator[Publisher]:
    """A topic of Kafka. All replicas in sync have a message. What the client repeats is dropped by the broker, unless
    it denies idempotent producers. A lost connection is made again by the client.
    """
    from aiokafka.errors import KafkaConnectionError, KafkaError

    producer = _kafka_producer(settings, answer_s, idempotent=True)
    try:
        try:
            await producer.start()
        except KafkaConnectionError:
            raise
        except KafkaError as error:  # brokers before Kafka 3.0 want a right for it; Tansu doesn't have it
            log.info("sink_not_idempotent", topic=settings.topic, error=type(error).__name__)
            await _stop(producer)
            producer = _kafka_producer(settings, answer_s, idempotent=False)
            await producer.start()
        yield _KafkaTopic(producer, settings.topic, answer_s)
    finally:
        await _stop(producer)


def _kafka_producer(settings: TopicSinkSettings, answer_s: float, *, idempotent: bool) -> AIOKafkaProducer:
    from aiokafka import AIOKafkaProducer

    from inkgate.jobs.intake.kafka import kafka_options

    return AIOKafkaProducer(
        **kafka_options(settings.address.get_secret_value()),
        acks="all",
        enable_idempotence=idempotent,
        request_timeout_ms=int(answer_s * 1000),
        max_request_size=4 * 1024 * 1024,  # the broker's limit decides
    )


async def _stop(producer: AIOKafkaProducer) -> None:
    with anyio.move_on_after(_CLOSE_S, shield=True):
        await producer.stop()


class _KafkaTopic:
    def __init__(self, producer: AIOKafkaProducer, topic: str, answer_s: float) -> None:
        self._producer = producer
        self._topic = topic
        self._answer_s = answer_s

    async def publish(self, message: TopicMessage) -> None:
        from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

        headers = [("content-type", message.media_type.encode()), ("id", message.id.encode())]
        key = message.key.encode()
        try:
            with anyio.fail_after(self._answer_s):
                await self._producer.send_and_wait(self._topic, message.body, key=key, headers=headers)
        except (TimeoutError, KafkaTimeoutError, KafkaConnectionError) as error:
            raise NotPublished(f"Kafka did not confirm the message ({type(error).__name__})") from error


@asynccontextmanager
async def nats_publisher(settings: TopicSinkSettings, answer_s: float) -> AsyncIterator[Publisher]:
    """A subject of a JetStream stream, which drops repeats within its `duplicate_window` by `Nats-Msg-Id`."""
    import nats
    from nats.js.errors import NoStreamResponseError

    async def known(_: Exception) -> None:
        """Takes errors of the connection, which calls raise too."""

    client = await nats.connect(
        settings.address.get_secret_value(), allow_reconnect=False, connect_timeout=_CONNECT_S, error_cb=known
    )
    stream = client.jetstream()

    class NatsSubject:
        async def publish(self, message: TopicMessage) -> None:
            headers = {"Nats-Msg-Id": message.id, "content-type": message.media_type}
            try:
                await stream.publish(settings.topic, message.body, timeout=answer_s, headers=headers)
            except NoStreamResponseError:
                raise NotPublished(f"no JetStream stream has the subject `{settings.topic}`") from None

    try:
        yield NatsSubject()
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await client.close()


@asynccontextmanager
async def rabbit_publisher(settings: TopicSinkSettings, answer_s: float) -> AsyncIterator[Publisher]:
    """A queue of RabbitMQ. Messages are persistent, and confirmed by the server."""
    import aio_pika
    from aio_pika.exceptions import DeliveryError

    connection = await aio_pika.connect(settings.address.get_secret_value(), timeout=_CONNECT_S)

    class RabbitQueue:
        async def publish(self, message: TopicMessage) -> None:
            made = aio_pika.Message(
                message.body,
                content_type=message.media_type,
                message_id=message.id,
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            )
            try:
                await channel.default_exchange.publish(made, settings.topic, timeout=answer_s)
            except DeliveryError:
                raise NotPublished(f"RabbitMQ does not take it: is there a queue `{settings.topic}`?") from None

    try:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        yield RabbitQueue()
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await connection.close()


@asynccontextmanager
async def redis_publisher(settings: TopicSinkSettings, answer_s: float) -> AsyncIterator[Publisher]:
    """A stream of Redis. The event is the field `data` of an entry, as intake reads it."""
    from redis.asyncio import Redis

    client = Redis.from_url(
        settings.address.get_secret_value(), socket_connect_timeout=_CONNECT_S, socket_timeout=answer_s
    )

    class RedisStream:
        async def publish(self, message: TopicMessage) -> None:
            await client.xadd(
                settings.topic, {"data": message.body, "id": message.id, "content-type": message.media_type}
            )

    try:
        yield RedisStream()
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await client.aclose()
