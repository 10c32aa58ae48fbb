"""Background tasks that take events of brokers and add jobs.

One handler for all brokers: parse a batch, add its jobs in one transaction, publish dead letters, acknowledge. So an
event is acknowledged only after its job is in the store. If the process dies before, the event comes again and is a
duplicate. No page is read here, so a batch takes milliseconds, and no broker takes the consumer for dead.

The clients of the brokers are used without FastStream, through the port `EventSource`: FastStream has no batches for
RabbitMQ, either reads or claims a Redis stream, can't pause a Kafka subscriber while its handler waits, and commits
positions instead of the offsets of what was handled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import structlog
from anyio.lowlevel import checkpoint

from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.intake.base import BrokerEvent, DeadEvent, EventSource, ObjectCreated
from inkgate.jobs.intake.forms import parse_event
from inkgate.jobs.machine import check_broker_package
from inkgate.settings import BrokerSettings
from inkgate.supervision import BackgroundTask

log = structlog.get_logger(__name__)

_AT_ONCE = 1_000
"""Jobs of one transaction. A batch has more only if its events tell of many objects each."""
_MIN_WAIT_S, _MAX_WAIT_S = 0.05, 10.0
"""How long intake pauses before it tries again, whatever the store says."""

Connect = Callable[[BrokerSettings, str], AbstractAsyncContextManager[EventSource]]
"""Connects to the topic of the settings; the second argument is the topic of dead letters."""


def connect(settings: BrokerSettings, dead_topic: str) -> AbstractAsyncContextManager[EventSource]:
    """The source of events that the settings name."""
    match settings.kind:
        case "kafka":
            from inkgate.jobs.intake.kafka import kafka_events

            return kafka_events(settings, dead_topic)
        case "nats":
            from inkgate.jobs.intake.nats import nats_events

            return nats_events(settings, dead_topic)
        case "rabbit":
            from inkgate.jobs.intake.rabbit import rabbit_events

            return rabbit_events(settings, dead_topic)
        case "redis":
            from inkgate.jobs.intake.redis import redis_events

            return redis_events(settings, dead_topic)


def intake_tasks(brokers: Mapping[str, BrokerSettings], intake: Intake) -> tuple[BackgroundTask, ...]:
    """A background task for each broker of the settings. One that loses its broker is restarted with back-off.

    Raises:
        InputRejected: "feature_unavailable": the packages for a broker are not installed.
    """
    for name, settings in brokers.items():
        check_broker_package(f"intake.{name}", settings.kind)
    return tuple(
        BackgroundTask(f"intake_{name}", BrokerIntake(name, settings, intake).run) for name, settings in brokers.items()
    )


class BrokerIntake:
    """Takes events of one broker's topic."""

    def __init__(self, name: str, settings: BrokerSettings, intake: Intake, connect: Connect = connect) -> None:
        self._name = name
        self._settings = settings
        self._intake = intake
        self._connect = connect

    async def run(self) -> None:
        """Takes events until cancelled. Raises whatever the broker's client raises."""
        dead_topic = self._settings.dead_letters or f"{self._settings.topic}-dead"
        async with self._connect(self._settings, dead_topic) as source:
            log.info("intake_connected", intake=self._name, kind=self._settings.kind, topic=self._settings.topic)
            while True:
                await self.step(source)

    async def step(self, source: EventSource) -> None:
        """Takes and handles one batch."""
        events = await source.take(self._settings.batch)
        if not events:
            return
        objects: list[ObjectCreated] = []
        event_of: list[int] = []
        dead: dict[int, InputRejected] = {}
        for index, event in enumerate(events):
            await checkpoint()  # a batch of large events takes a while to parse
            try:
                parsed = parse_event(event.body, event.headers)
            except InputRejected as error:
                dead[index] = error
            else:
                objects += parsed.objects
                event_of += [index] * len(parsed.objects)
                ignored = parsed.ignored + (parsed.handshake is not None)
                self._intake.count(self._name, IntakeOutcome.IGNORED, ignored)
        for index, refusal in await self._take(source, events, objects):
            dead.setdefault(event_of[index], refusal)
        await source.done(events, [DeadEvent(events[index], dead[index]) for index in sorted(dead)])
        self._report(dead)

    async def _take(
        self, source: EventSource, events: Sequence[BrokerEvent], objects: Sequence[ObjectCreated]
    ) -> list[tuple[int, InputRejected]]:
        """Adds jobs, and waits as long as the store has no room. Returns which objects were refused, and why."""
        refused: list[tuple[int, InputRejected]] = []
        start, size = 0, _AT_ONCE
        try:
            while start < len(objects):
                part = objects[start : start + size]
                try:
                    taken = await self._intake.take(part, self._name)
                except Overloaded as full:
                    if self._name not in self._intake.paused:
                        log.warning("intake_paused", intake=self._name, code=full.code)
                    self._intake.paused.add(self._name)
                    await source.wait(events, min(max(full.retry_after_s, _MIN_WAIT_S), _MAX_WAIT_S))
                    size = max(1, len(part) // 2)  # there may never be room for all at once
                else:
                    refused += [(start + found.index, found.error) for found in taken.refused]
                    start, size = start + len(part), min(_AT_ONCE, size * 2)
        finally:
            self._intake.paused.discard(self._name)
        return refused

    def _report(self, dead: Mapping[int, InputRejected]) -> None:
        if dead:
            first = next(iter(dead.values()))
            self._intake.count(self._name, IntakeOutcome.DEAD, len(dead))
            log.warning("intake_dead_letters", intake=self._name, events=len(dead), code=first.code, first=first.detail)
