"""The ports of intake, and what passes through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inkgate.errors import InputRejected
from inkgate.jobs.job import AddedJob, NewJob


@dataclass(frozen=True, slots=True)
class ObjectCreated:
    """An object that an event tells of.

    Attributes:
        url: such as `s3://bucket/key`, with the key as the store has it, unescaped.
        etag, version: empty if the event doesn't say. The etag has no quotes.
        byte_count: None if the event doesn't say.
        event: what distinguishes the event, the same when it is delivered again; for objects without etag and version.
    """

    url: str
    etag: str = ""
    version: str = ""
    byte_count: int | None = None
    event: str = ""


class JobAdder(Protocol):
    """Adds jobs: the store."""

    async def add(self, jobs: Sequence[NewJob]) -> Sequence[AddedJob]:
        """Adds jobs in one transaction.

        Raises:
            Overloaded: "jobs_full": the queue is full; "jobs_unavailable": the database can't be reached.
        """
        ...


@dataclass(frozen=True, slots=True)
class BrokerEvent:
    """An event that a broker delivered. `offset`, `partition`: where it is in the topic; empty if the broker has none.

    `message`: the broker's own object, to acknowledge it with.
    """

    body: bytes
    headers: Mapping[str, str]
    topic: str
    offset: str = ""
    partition: str = ""
    message: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DeadEvent:
    """An event that can't be used, and why."""

    event: BrokerEvent
    error: InputRejected

    def headers(self) -> dict[str, str]:
        """Headers of its dead letter: its own, and the reason in ASCII, as not all brokers have more in headers."""
        detail = " ".join(self.error.detail.split()).encode("ascii", "backslashreplace").decode()
        return {
            **self.event.headers,
            "inkgate-error": self.error.code,
            "inkgate-detail": detail,
            "inkgate-topic": self.event.topic,
            "inkgate-partition": self.event.partition,
            "inkgate-offset": self.event.offset,
        }


class EventSource(Protocol):
    """A topic of a broker, while connected. Used by one task. Methods raise if the connection is lost."""

    async def take(self, limit: int) -> Sequence[BrokerEvent]:
        """Returns up to `limit` events. Waits a while for the first one; empty if none came."""
        ...

    async def done(self, events: Sequence[BrokerEvent], dead: Sequence[DeadEvent]) -> None:
        """Publishes the dead letters, then acknowledges `events`, which are what was taken last."""
        ...

    async def wait(self, events: Sequence[BrokerEvent], seconds: float, /) -> None:
        """Waits. The broker keeps `events`, which are not acknowledged yet, for this process all that time."""
        ...
