"""Scenarios of events that real brokers deliver: publishers, consumers that are killed, readers of dead letters."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aio_pika
import anyio
import nats as nats_client
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis.asyncio import Redis

from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.intake.brokers import intake_tasks
from inkgate.settings import BrokerSettings
from inkgate.supervision import Pauses, Supervisor
from support.adder import MemoryAdder
from support.brokers import BrokerServer
from support.events import s3_records
from support.intake_consumer import PIPELINES, command, open_store
from support.redis_server import RedisServer

PATIENCE_S = 60.0
Publish = Callable[[str, str, Sequence[bytes]], Awaitable[None]]
"""Publishes messages to a topic of a broker: address, topic, messages."""


def created(number: int) -> bytes:
    return json.dumps(s3_records(f"in/receipt+{number}.jpg", f"etag{number}")).encode()


async def publish_kafka(address: str, topic: str, messages: Sequence[bytes]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=4, replication_factor=1)])
    await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    for index, message in enumerate(messages):
        await producer.send(topic, message, partition=index % 4)
    await producer.stop()


async def publish_nats(address: str, topic: str, messages: Sequence[bytes]) -> None:
    client = await nats_client.connect(address)
    stream = client.jetstream()
    await stream.add_stream(name=topic, subjects=[topic])
    for message in messages:
        await stream.publish(topic, message)
    await client.close()


async def publish_rabbit(address: str, topic: str, messages: Sequence[bytes]) -> None:
    connection = await aio_pika.connect(address)
    channel = await connection.channel(publisher_confirms=False)
    await channel.declare_queue(topic, durable=True)
    for message in messages:
        await channel.default_exchange.publish(aio_pika.Message(message), topic)
    await connection.close()


async def publish_redis(address: str, topic: str, messages: Sequence[bytes]) -> None:
    async with Redis.from_url(address) as client:
        for message in messages:
            await client.xadd(topic, {"data": message})


def _handled(reports: Sequence[Path]) -> list[dict[str, Any]]:
    """What all consumers have counted, by batch."""
    lines = [line for report in reports if report.exists() for line in report.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


@contextmanager
def _consumer(arguments: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output, subprocess.Popen(arguments, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.kill()


async def _until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - of other processes, which tell nothing
            await anyio.sleep(0.02)


async def check_each_once(settings: dict[str, Any], folder: Path, events: int) -> None:
    """Two consumers, of which the first kills itself in the middle, with jobs added and events not acknowledged.

    `events` were published twice.
    """
    reports, log = [folder / "first", folder / "second"], folder / "log"
    with _consumer(command(settings, folder, reports[0], die_after=events // 2), log) as first:
        await _until(lambda: first.poll() is not None)
    killed = _handled(reports)[-1]
    assert killed["killed"], "see the file `log`"
    # Each event came twice, and those of the batch that was killed once more.
    expected = 2 * events + killed["events"]
    with _consumer(command(settings, folder, reports[1]), log):
        await _until(lambda: sum(line["events"] for line in _handled(reports)) >= expected)
    handled = _handled(reports)
    assert sum(line["added"] for line in handled) == events
    assert sum(line["duplicates"] for line in handled) == expected - events
    store = open_store(folder)
    async with store.running():
        assert (await store.counts()).queued_pages == events


def settings_of(kind: str, address: str, topic: str, **more: object) -> dict[str, Any]:
    return {"kind": kind, "address": address, "topic": topic, "batch": 40, "redeliver_s": 2.0, **more}


async def _dead_of_kafka(address: str, topic: str) -> tuple[bytes, dict[str, str]]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=address, auto_offset_reset="earliest")
    await consumer.start()
    record = await consumer.getone()
    await consumer.stop()
    return record.value, {name: value.decode() for name, value in record.headers}


async def _dead_of_nats(address: str, topic: str) -> tuple[bytes, dict[str, str]]:
    client = await nats_client.connect(address)
    consumer = await client.jetstream().pull_subscribe(topic, durable="reader")
    [message] = await consumer.fetch(1)
    await client.close()
    return message.data, message.headers or {}


async def _dead_of_rabbit(address: str, topic: str) -> tuple[bytes, dict[str, str]]:
    connection = await aio_pika.connect(address)
    message = await (await (await connection.channel()).get_queue(topic)).get()
    await connection.close()
    return message.body, {name: str(value) for name, value in message.headers.items()}


async def _dead_of_redis(address: str, topic: str) -> tuple[bytes, dict[str, str]]:
    async with Redis.from_url(address, protocol=2) as client:
        [(_, fields)] = cast("list[tuple[bytes, dict[bytes, bytes]]]", await client.xrange(topic))
    return fields.pop(b"data"), {name.decode(): value.decode() for name, value in fields.items()}


@dataclass(frozen=True, slots=True)
class BrokerKind:
    """How a kind of broker is used in tests."""

    publish: Publish
    read_dead: Callable[[str, str], Awaitable[tuple[bytes, dict[str, str]]]]


KINDS = {
    "kafka": BrokerKind(publish_kafka, _dead_of_kafka),
    "nats": BrokerKind(publish_nats, _dead_of_nats),
    "rabbit": BrokerKind(publish_rabbit, _dead_of_rabbit),
    "redis": BrokerKind(publish_redis, _dead_of_redis),
}


async def check_faults(kind: str, server: BrokerServer | RedisServer, address: str) -> None:
    """A full store, an event that can't be used, and a broker that is killed and started again."""
    adder = MemoryAdder()
    adder.full = 3
    intake = Intake(adder, PIPELINES)
    settings = BrokerSettings(**settings_of(kind, address, "faults"))
    await KINDS[kind].publish(address, "faults", [b"no event", created(1)])
    supervisor = Supervisor(pauses=lambda: Pauses(0.05, 0.2, 60.0))
    async with supervisor.running(intake_tasks({"test": settings}, intake)):
        await _until(lambda: intake.counts["test", IntakeOutcome.DEAD] == 1)
        assert len(adder.jobs) == 1
        body, headers = await KINDS[kind].read_dead(address, "faults-dead")
        assert body == b"no event"
        assert (headers["inkgate-error"], headers["inkgate-topic"]) == ("event_invalid", "faults")
        server.kill()
        await anyio.sleep(0.2)
        server.start()
        await KINDS[kind].publish(address, "faults", [created(2)])
        await _until(lambda: len(adder.jobs) == 2)
