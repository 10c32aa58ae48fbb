"""Scenarios (tenants, servers, events) and the results of their requests."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.simulate.batch import Flags
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.server import Server
from benchmarks.simulate.workload import Request, Tenant
from inkgate.model_servers.metrics import ServerReading


class Link:
    """The connection to a server's /metrics, which may be cut (`gone`) or lag by `lag_s`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.gone = False
        self.lag_s = 0.0
        self._seen: deque[tuple[float, ServerReading | None]] = deque(maxlen=100)

    def reading(self, now: float) -> ServerReading | None:
        """The server's reading, as the gateway sees it."""
        self._seen.append((now, self.server.reading()))
        if self.gone:
            return None
        return next((reading for at, reading in reversed(self._seen) if at <= now - self.lag_s), None)


@dataclass(frozen=True, slots=True)
class Event:
    """An event at `at` seconds that changes servers and the connections to their metrics."""

    at: float
    act: Callable[[Sequence[Link]], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Times in seconds.

    Attributes:
        tenants: sources of requests, which go to the gateways round robin.
        beside: tenants that bypass the gateways. They are not measured.
        until_s: time of the last request; requests in flight are completed.
        from_s: earlier requests don't count.
        leave_s: time after which clients disconnect.
        servers, gateways: number of each; gateways of the same server don't communicate.
    """

    tenants: Sequence[Tenant]
    until_s: float = 120.0
    from_s: float = 0.0
    leave_s: float = 60.0
    beside: Sequence[Tenant] = ()
    card: Card = RTX_4090D
    flags: Flags = field(default_factory=Flags)
    servers: int = 1
    gateways: int = 1
    events: Sequence[Event] = ()
    seed: int = 1


class End(StrEnum):
    """How a request ended. `expired`: accepted, and timed out in the queue or at the server."""

    ANSWERED = "answered"
    REFUSED = "refused"
    EXPIRED = "expired"
    FAILED = "failed"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class RequestResult:
    """Result of a request, with its times."""

    request: Request
    how: End
    at: float

    @property
    def took_s(self) -> float:
        return self.at - self.request.at

    @property
    def good(self) -> bool:
        """Whether it completed in time."""
        return self.how is End.ANSWERED and self.at <= self.request.deadline


@dataclass(frozen=True, slots=True)
class Sample:
    """State of a gateway and its server, once a second. `limit` is None if the policy has none."""

    at: float
    limit: int | None
    running: int
    waiting: int
    kv_usage: float


@dataclass(frozen=True, slots=True)
class Run:
    """Results of one simulation."""

    scenario: Scenario
    ended: Sequence[RequestResult]
    samples: Sequence[Sample]
    preemptions: int
    deaths: int
    busy: float

    def goodput(self, tenant: str | None = None, after_s: float | None = None, before_s: float = math.inf) -> float:
        """Responses in time a second, for requests since `after_s` (None: the scenario's `from_s`)."""
        start = self.scenario.from_s if after_s is None else after_s
        end = min(before_s, self.scenario.until_s)
        good = sum(
            ended.good and start <= ended.request.at < end and tenant in {None, ended.request.tenant}
            for ended in self.ended
        )
        return good / (end - start)

    def answered_per_s(self, after_s: float, before_s: float) -> float:
        """Responses a second between two times, late ones included."""
        answered = sum(ended.how is End.ANSWERED and after_s <= ended.at < before_s for ended in self.ended)
        return answered / (before_s - after_s)

    def limits(self, after_s: float = 0.0, before_s: float = math.inf) -> list[int]:
        """The limit, once a second."""
        return [sample.limit for sample in self.samples if sample.limit is not None and after_s <= sample.at < before_s]

    def times(self, how: End, tenant: str | None = None) -> list[float]:
        """Sorted seconds of requests that ended this way."""
        return sorted(
            ended.took_s
            for ended in self.ended
            if ended.how is how and ended.request.at >= self.scenario.from_s and tenant in {None, ended.request.tenant}
        )
