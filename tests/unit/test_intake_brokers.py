"""The handler of all brokers: adds, buries, acknowledges, in this order, and waits while the store is full."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import pytest

from inkgate.errors import InputRejected
from inkgate.jobs import machine
from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.intake.base import BrokerEvent, DeadEvent
from inkgate.jobs.intake.brokers import BrokerIntake, intake_tasks
from inkgate.jobs.intake.kafka import kafka_options
from inkgate.settings import BrokerSettings, PipelineSettings
from support.adder import MemoryAdder
from support.events import SNS_CONFIRMATION, s3_records

pytestmark = pytest.mark.anyio

SETTINGS = BrokerSettings(kind="kafka", address="localhost:9092", topic="scans")
_offsets = count()


class ScriptedSource:
    """Delivers events once; notes what is done with them."""

    def __init__(self, adder: MemoryAdder, events: Sequence[BrokerEvent]) -> None:
        self.events = list(events)
        self.acknowledged: list[BrokerEvent] = []
        self.dead: list[DeadEvent] = []
        self.waits: list[float] = []
        self.jobs_at_ack = -1
        self._adder = adder

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        taken, self.events = self.events[:limit], self.events[limit:]
        return taken

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        self.acknowledged += events
        self.dead += dead
        self.jobs_at_ack = len(self._adder.jobs)

    async def wait(self, _events: Sequence[BrokerEvent], seconds: float) -> None:
        self.waits.append(seconds)


def _event(body: object, headers: dict[str, str] | None = None) -> BrokerEvent:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return BrokerEvent(raw, headers or {}, "scans", str(next(_offsets)), "3")


def _created(name: str, number: int = 1) -> BrokerEvent:
    records = [s3_records(f"in/{name}-{index}.jpg")["Records"][0] for index in range(number)]
    return _event({"Records": records})


@pytest.fixture
def adder() -> MemoryAdder:
    return MemoryAdder()


@pytest.fixture
def intake(adder: MemoryAdder) -> Intake:
    return Intake(adder, {"scans": PipelineSettings(sources=("s3://scans/in/",))})


async def _handle(intake: Intake, source: ScriptedSource) -> None:
    handler = BrokerIntake("till", SETTINGS, intake)
    while source.events:
        await handler.step(source)


async def test_a_batch_is_added_in_one_transaction_before_it_is_acknowledged(
    adder: MemoryAdder, intake: Intake
) -> None:
    source = ScriptedSource(adder, [_created(str(number)) for number in range(100)])
    await _handle(intake, source)
    assert adder.calls == [100]
    assert source.jobs_at_ack == len(source.acknowledged) == 100
    assert intake.counts["till", IntakeOutcome.ADDED] == 100


async def test_events_that_cannot_be_used_become_dead_letters_with_the_reason(
    adder: MemoryAdder, intake: Intake
) -> None:
    broken = _event(b"{", {"traceparent": "00-1"})
    foreign = _event(s3_records("out/a.jpg"))
    source = ScriptedSource(adder, [_created("a"), broken, foreign, _created("b")])
    await _handle(intake, source)
    assert len(adder.jobs) == 2
    assert [letter.event for letter in source.dead] == [broken, foreign]
    assert len(source.acknowledged) == 4
    first, second = (letter.headers() for letter in source.dead)
    assert first["inkgate-error"] == "event_invalid"
    assert (first["inkgate-topic"], first["inkgate-partition"]) == ("scans", "3")
    assert (first["inkgate-offset"], first["traceparent"]) == (broken.offset, "00-1")
    assert second["inkgate-error"] == "source_forbidden"
    assert intake.counts["till", IntakeOutcome.DEAD] == 2


async def test_deletions_tests_and_handshakes_are_acknowledged_only(adder: MemoryAdder, intake: Intake) -> None:
    deleted = s3_records("in/a", eventName="ObjectRemoved:Delete")
    source = ScriptedSource(adder, [_event({"Event": "s3:TestEvent"}), _event(SNS_CONFIRMATION), _event(deleted)])
    await _handle(intake, source)
    assert (adder.calls, source.dead, len(source.acknowledged)) == ([], [], 3)
    assert intake.counts["till", IntakeOutcome.IGNORED] == 3


async def test_a_full_store_pauses_and_nothing_is_lost(adder: MemoryAdder, intake: Intake) -> None:
    adder.full = 3
    source = ScriptedSource(adder, [_created("a", 8), _event(b"bad")])
    await _handle(intake, source)
    assert source.waits == [0.05] * 3
    assert source.jobs_at_ack == len(adder.jobs) == 8
    assert len(source.acknowledged) == 2
    assert adder.calls[:4] == [8, 4, 2, 1], "by halves, as there may never be room for all"
    assert not intake.paused


async def test_one_event_with_a_refused_object_is_one_dead_letter(adder: MemoryAdder, intake: Intake) -> None:
    records = [*s3_records("in/a")["Records"], *s3_records("x/b")["Records"], *s3_records("x/c")["Records"]]
    source = ScriptedSource(adder, [_created("z"), _event({"Records": records})])
    await _handle(intake, source)
    assert len(adder.jobs) == 2
    assert [letter.event.offset for letter in source.dead] == [source.acknowledged[1].offset]


async def test_it_connects_with_a_topic_for_dead_letters(intake: Intake) -> None:
    connected = []

    @asynccontextmanager
    async def connect(settings: BrokerSettings, dead_topic: str) -> AsyncIterator[ScriptedSource]:
        connected.append(dead_topic)
        if connected:
            raise ConnectionError
        yield ScriptedSource(MemoryAdder(), [])

    for settings in (SETTINGS, SETTINGS.model_copy(update={"dead_letters": "buried"})):
        with pytest.raises(ConnectionError):
            await BrokerIntake("till", settings, intake, connect).run()
    assert connected == ["scans-dead", "buried"]


async def test_each_broker_has_a_task(intake: Intake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [task.name for task in intake_tasks({"till": SETTINGS, "web": SETTINGS}, intake)] == [
        "intake_till",
        "intake_web",
    ]
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    with pytest.raises(InputRejected, match=r"intake\.till.*aiokafka.*install 'aiokafka>="):
        intake_tasks({"till": SETTINGS}, intake)


def test_addresses_of_kafka() -> None:
    assert kafka_options("a:9092,b:9092") == {"bootstrap_servers": "a:9092,b:9092"}
    assert kafka_options("kafka://a:9092") == {"bootstrap_servers": "a:9092", "security_protocol": "PLAINTEXT"}
    secured = kafka_options("kafkas://me:p%40ss@a:9093,b:9093?mechanism=SCRAM-SHA-512")
    assert secured.pop("ssl_context")
    assert secured == {
        "bootstrap_servers": "a:9093,b:9093",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": "p@ss",
    }
