"""Results are published to real brokers: each arrives, though the broker is restarted or the topic missing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import cast

import aio_pika
import anyio
import nats as nats_client
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis.asyncio import Redis

from inkgate.jobs.sinks.base import DeliverLater
from inkgate.jobs.sinks.publishers import connect
from inkgate.jobs.sinks.topic import TopicSink
from inkgate.settings import TopicSinkSettings
from inkgate_client.concurrency import Threads
from support.brokers import BrokerServer
from support.jobs import delivery
from support.redis_server import RedisServer, redis_server

pytestmark = [pytest.mark.anyio, pytest.mark.real]

COUNT = 20


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@asynccontextmanager
async def topic_sink(broker: str, address: str, topic: str) -> AsyncIterator[TopicSink]:
    given = {"kind": "topic", "broker": broker, "address": address, "topic": topic}
    settings = TopicSinkSettings.model_validate(given)
    async with TopicSink("events", settings, Threads("test", 1), lambda one: connect(one, 2.0)) as sink:
        yield sink


async def deliver_all(sink: TopicSink) -> None:
    async with anyio.create_task_group() as group:
        for n in range(COUNT):
            group.start_soon(sink.deliver, delivery(key=f"dlv_{n}"))


async def deliver_until_taken(sink: TopicSink) -> None:
    """As the relay does: again until it is delivered."""
    with anyio.fail_after(60):
        while True:
            try:
                await sink.deliver(delivery(key="dlv_again"))
            except DeliverLater:
                await anyio.sleep(0.1)
            else:
                return


def check(bodies: list[bytes], keys: set[str]) -> None:
    events = [json.loads(body) for body in bodies]
    assert {event["id"] for event in events} == keys
    assert all(event["type"] == "io.inkgate.job.succeeded" for event in events)


KEYS = {f"dlv_{n}" for n in range(COUNT)}


async def restarted(server: BrokerServer, sink: TopicSink, made: Callable[[], Awaitable[None]]) -> None:
    """Kills the broker, delivers in vain, starts it, and delivers."""
    server.kill()
    try:
        with pytest.raises(DeliverLater, match=r"not (published|confirm)"):
            await sink.deliver(delivery(key="dlv_again"))
    finally:
        server.restore()
    await made()
    await deliver_until_taken(sink)


async def test_events_reach_kafka(kafka: BrokerServer) -> None:
    async def make() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.address)
        await admin.start()
        await admin.create_topics([NewTopic("results", num_partitions=2, replication_factor=1)])
        await admin.close()

    async def received(count: int) -> list[bytes]:
        consumer = AIOKafkaConsumer("results", bootstrap_servers=kafka.address, auto_offset_reset="earliest")
        await consumer.start()
        try:
            with anyio.fail_after(30):
                records = [await consumer.getone() for _ in range(count)]
        finally:
            await consumer.stop()
        assert {record.key for record in records} == {b"s3://scans/in/2026/receipt.png"}
        assert len({record.partition for record in records}) == 1
        return [cast("bytes", record.value) for record in records]

    await make()
    async with topic_sink("kafka", kafka.address, "results") as sink:
        await deliver_all(sink)
        check(await received(COUNT), KEYS)
        await restarted(kafka, sink, make)  # it keeps everything in memory
        check(await received(1), {"dlv_again"})


async def test_events_reach_nats(nats: BrokerServer) -> None:
    async with topic_sink("nats", nats.address, "results.receipts") as sink:
        with pytest.raises(DeliverLater, match="no JetStream stream has the subject `results"):
            await sink.deliver(delivery())
        client = await nats_client.connect(nats.address)
        stream = client.jetstream()
        await stream.add_stream(name="results", subjects=["results.>"])
        await deliver_all(sink)
        await deliver_all(sink)  # the broker drops what it had
        consumer = await stream.pull_subscribe("results.receipts", durable="test")
        messages = await consumer.fetch(2 * COUNT, timeout=5)
        check([message.data for message in messages], KEYS)
        assert len(messages) == COUNT
        await client.close()

        async def kept() -> None:
            pass

        await restarted(nats, sink, kept)


async def test_events_reach_rabbitmq(rabbit: BrokerServer) -> None:
    async with topic_sink("rabbit", rabbit.address, "results") as sink:
        with pytest.raises(DeliverLater, match="is there a queue `results`"):
            await sink.deliver(delivery())
        connection = await aio_pika.connect(rabbit.address)
        queue = await (await connection.channel()).declare_queue("results", durable=True)
        await deliver_all(sink)
        messages = [await queue.get(timeout=10) for _ in range(COUNT)]
        check([message.body for message in messages], KEYS)
        assert messages[0].delivery_mode == aio_pika.DeliveryMode.PERSISTENT
        await connection.close()


async def test_events_reach_a_redis_stream(redis: RedisServer) -> None:
    async with topic_sink("redis", redis.url, "results") as sink:
        await deliver_all(sink)
        async with Redis.from_url(redis.url) as client:
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await client.xrange("results"))
        check([fields[b"data"] for _, fields in entries], KEYS)
        redis.kill()
        try:
            with pytest.raises(DeliverLater, match=r"not (published|confirm)"):
                await sink.deliver(delivery(key="dlv_again"))
        finally:
            redis.restore()
        await deliver_until_taken(sink)
