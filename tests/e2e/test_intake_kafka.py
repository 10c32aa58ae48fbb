"""Events of Kafka become jobs, each once, though each is published twice and a consumer is killed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from inkgate.jobs.intake import kafka as intake
from inkgate.jobs.intake.base import BrokerEvent
from inkgate.settings import BrokerSettings
from support.broker_events import PATIENCE_S, check_each_once, check_faults, created, publish_kafka, settings_of
from support.brokers import BrokerServer

pytestmark = [pytest.mark.anyio, pytest.mark.real]


async def test_2000_events_twice_through_kafka_make_2000_jobs(kafka: BrokerServer, tmp_path: Path) -> None:
    events = [created(number) for number in range(2_000)]
    await publish_kafka(kafka.address, "scans", [*events, *events])
    await check_each_once(settings_of("kafka", kafka.address, "scans", batch=100), tmp_path, 2_000)


async def test_faults_with_kafka(kafka: BrokerServer) -> None:
    await check_faults("kafka", kafka, kafka.address)


async def test_a_pause_longer_than_the_longest_poll_keeps_the_partitions_of_kafka(
    kafka: BrokerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without polls, a consumer leaves its group after five minutes; here after half a second."""
    impatient = partial(AIOKafkaConsumer, max_poll_interval_ms=500)
    monkeypatch.setattr(intake, "AIOKafkaConsumer", impatient)
    await publish_kafka(kafka.address, "pauses", [created(number) for number in range(8)])
    settings = BrokerSettings(**settings_of("kafka", kafka.address, "pauses"))
    async with intake.kafka_events(settings, "pauses-dead") as source:
        events: list[BrokerEvent] = []
        with anyio.fail_after(PATIENCE_S):
            while not events:
                events += await source.take(4)
        await source.wait(events, 2.0)
        await source.done(events, [])
        committed = [await source._consumer.committed(TopicPartition("pauses", partition)) for partition in range(4)]
        assert sum(offset or 0 for offset in committed) == len(events)
        more: list[BrokerEvent] = []
        with anyio.fail_after(PATIENCE_S):
            while len(more) < 8 - len(events):
                more += await source.take(8)
        assert not {(event.partition, event.offset) for event in events} & {
            (event.partition, event.offset) for event in more
        }
