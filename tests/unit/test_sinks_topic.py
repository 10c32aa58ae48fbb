"""Topics, with a publisher that fails as told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from inkgate.jobs.job import JobSource
from inkgate.jobs.sinks.base import DeliverLater
from inkgate.jobs.sinks.publishers import NotPublished, Publisher, TopicMessage
from inkgate.jobs.sinks.topic import TopicSink
from inkgate.settings import TopicSinkSettings
from inkgate_client.concurrency import Threads
from support.jobs import delivery

pytestmark = pytest.mark.anyio

SETTINGS = TopicSinkSettings.model_validate({"kind": "topic", "broker": "kafka", "address": "a:9092", "topic": "t"})


class Broker:
    """Attributes: `error`: raised by the next calls; `open`, `opened`: connections."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.published: list[TopicMessage] = []
        self.open = self.opened = 0

    @asynccontextmanager
    async def connect(self, _: TopicSinkSettings) -> AsyncIterator[Publisher]:
        self._fail()
        self.open += 1
        self.opened += 1
        try:
            await anyio.lowlevel.checkpoint()
            yield self
        finally:
            self.open -= 1

    async def publish(self, message: TopicMessage) -> None:
        await anyio.lowlevel.checkpoint()
        self._fail()
        self.published.append(message)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


def topic_sink(broker: Broker) -> TopicSink:
    return TopicSink("events", SETTINGS, Threads("test", 1), broker.connect)


async def test_event_is_published_by_one_connection() -> None:
    broker = Broker()
    async with topic_sink(broker) as sink, anyio.create_task_group() as group:
        for n in range(5):
            group.start_soon(sink.deliver, delivery(key=f"dlv_{n}"))
    assert (broker.opened, broker.open) == (1, 0)
    assert {message.id for message in broker.published} == {f"dlv_{n}" for n in range(5)}
    assert json.loads(broker.published[0].body)["subject"] == "job_01"


async def test_key_is_the_input_without_secrets_or_the_job() -> None:
    broker = Broker()
    async with topic_sink(broker) as sink:
        await sink.deliver(delivery())
        await sink.deliver(delivery(source=JobSource(url="https://host/a.png?signature=s3cret")))
        await sink.deliver(delivery(source=JobSource(upload="0" * 64)))
    keys = [message.key for message in broker.published]
    assert keys == ["s3://scans/in/2026/receipt.png", "https://host/a.png", "job_01"]


async def test_connection_is_made_again_after_an_error() -> None:
    broker = Broker()
    async with topic_sink(broker) as sink:
        await sink.deliver(delivery())
        broker.error = ConnectionError("amqp://user:s3cret@host")
        for _ in range(2):
            with pytest.raises(DeliverLater, match=r"not published \(ConnectionError\)"):
                await sink.deliver(delivery())
        broker.error = None
        await sink.deliver(delivery())
    assert (broker.opened, broker.open) == (2, 0)


async def test_missing_topic_is_named_and_the_connection_stays() -> None:
    broker = Broker()
    async with topic_sink(broker) as sink:
        await sink.deliver(delivery())
        broker.error = NotPublished("no JetStream stream has the subject `t`")
        with pytest.raises(DeliverLater, match="no JetStream stream"):
            await sink.deliver(delivery())
    assert broker.opened == 1
