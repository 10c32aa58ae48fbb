"""Events of Kafka, by aiokafka."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from inkgate.jobs.intake.base import BrokerEvent, DeadEvent
from inkgate.settings import BrokerSettings

log = structlog.get_logger(__name__)

_POLL_MS = 1_000
_CLOSE_S = 5.0
_COMMIT_S = 5.0
"""Time within which a commit under way is finished at a shutdown; otherwise its events would come again."""
_METADATA_MS = 10_000
"""How long a topic or a partition that was made later goes unnoticed. aiokafka's default is five minutes."""


def kafka_options(address: str) -> dict[str, Any]:
    """Options of aiokafka's clients for an address: `host:9092,host:9092`, or a URL with what else is needed:
    `kafka://` without and `kafkas://` with TLS, `user:password@`, and `?mechanism=SCRAM-SHA-512`.
    """
    if "://" not in address:
        return {"bootstrap_servers": address}
    url = urlsplit(address)
    tls = url.scheme == "kafkas"
    account, _, servers = url.netloc.rpartition("@")
    options: dict[str, Any] = {"bootstrap_servers": servers}
    if tls:
        options["ssl_context"] = ssl.create_default_context()
    if account:
        user, _, password = account.partition(":")
        options["sasl_plain_username"], options["sasl_plain_password"] = unquote(user), unquote(password)
        options["sasl_mechanism"] = parse_qs(url.query).get("mechanism", ["PLAIN"])[0]
    options["security_protocol"] = ("SASL_" if account else "") + ("SSL" if tls else "PLAINTEXT")
    return options


class KafkaEvents:
    """A topic of Kafka."""

    def __init__(self, consumer: AIOKafkaConsumer, options: dict[str, Any], dead_topic: str) -> None:
        self._consumer = consumer
        self._options = options
        self._dead_topic = dead_topic

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        found = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=limit)
        return [_event(record) for records in found.values() for record in records]

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        if dead:
            await self._dead_letter(dead)
        offsets: dict[TopicPartition, int] = {}
        for event in events:
            place = TopicPartition(event.topic, int(event.partition))
            offsets[place] = max(offsets.get(place, 0), int(event.offset) + 1)
        owned = self._consumer.assignment()
        try:
            if offsets := {place: offset for place, offset in offsets.items() if place in owned}:
                with anyio.move_on_after(_COMMIT_S, shield=True):
                    await self._consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError) as error:
            # A partition went to another consumer meanwhile. It gets the events again, as duplicates.
            log.info("intake_not_committed", topic=events[0].topic, reason=type(error).__name__)

    async def wait(self, _events: Sequence[BrokerEvent], seconds: float) -> None:
        """Polls paused partitions: without polls, the group would give them to others after five minutes."""
        until = anyio.current_time() + seconds
        try:
            while (left_s := until - anyio.current_time()) > 0:
                self._consumer.pause(*self._consumer.assignment())
                polled = await self._consumer.getmany(timeout_ms=int(min(left_s * 1_000, _POLL_MS)))
                # Of a partition that came to this consumer since the pause.
                for place, records in polled.items():
                    self._consumer.seek(place, records[0].offset)
        finally:
            self._consumer.resume(*self._consumer.assignment())

    async def _dead_letter(self, dead: Sequence[DeadEvent]) -> None:
        """Publishes dead letters: in a topic that is made if it is missing, by a connection of its own, as there are
        few.
        """
        await self._make_dead_topic()
        producer = AIOKafkaProducer(**self._options, acks="all")
        try:
            await producer.start()
            for letter in dead:
                headers = [(name, value.encode()) for name, value in letter.headers().items()]
                await producer.send_and_wait(self._dead_topic, letter.event.body, headers=headers)
        finally:
            await _close(producer)

    async def _make_dead_topic(self) -> None:
        if self._dead_topic in await self._consumer.topics():
            return
        admin = AIOKafkaAdminClient(**self._options)
        try:
            await admin.start()
            await admin.create_topics([NewTopic(self._dead_topic, num_partitions=1, replication_factor=-1)])
        except KafkaError as error:  # it exists by now, or publishing says why it can't
            log.info("intake_dead_topic_not_made", topic=self._dead_topic, reason=type(error).__name__)
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await admin.close()


@asynccontextmanager
async def kafka_events(settings: BrokerSettings, dead_topic: str) -> AsyncIterator[KafkaEvents]:
    """The topic, while connected. Raises KafkaError if no broker answers."""
    options = kafka_options(settings.address.get_secret_value())
    session_ms = int(min(max(settings.redeliver_s, 6.0), 1_800.0) * 1_000)  # the bounds that Kafka has by default
    consumer = AIOKafkaConsumer(
        settings.topic,
        group_id=settings.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=session_ms // 3,
        metadata_max_age_ms=_METADATA_MS,
        **options,
    )
    try:
        await consumer.start()
        yield KafkaEvents(consumer, options, dead_topic)
    finally:
        await _close(consumer)


async def _close(client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
    with anyio.move_on_after(_CLOSE_S, shield=True):
        await client.stop()


def _event(record: ConsumerRecord) -> BrokerEvent:
    headers = {name: value.decode(errors="replace") for name, value in record.headers if value is not None}
    return BrokerEvent(record.value or b"", headers, record.topic, str(record.offset), str(record.partition))
