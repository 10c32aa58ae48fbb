"""Reads the metrics of model servers: their load for the limit, and the size of their KV cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.balancer import ReplicaSet
from inkgate.model_servers.evidence import Pressure
from inkgate.model_servers.metrics import HistogramTotal, ServerReading
from inkgate.model_servers.replica import Replica, ReplicaState
from inkgate.serving.limits import Limit
from inkgate.serving.outcomes import WorkOutcome

log = structlog.get_logger(__name__)


class PressureGauge:
    """Computes the Pressure of one server from consecutive readings. Used from one event loop."""

    def __init__(self) -> None:
        self._baselines = Baselines()
        self._before: tuple[float, ServerReading] | None = None
        self._rendering = 0.0
        self._ended_per_s = 0.0
        self._waits = RecentMean()
        self._service_s: float | None = None

    def read(self, reading: ServerReading | None, at: float, in_flight: int) -> Pressure | None:
        """The pressure since the previous reading; None at first, without a reading, or if the server restarted.

        `at`: clock time in seconds at which the reading was requested. `in_flight`: inkgate's calls at the server then.
        """
        before, self._before = self._before, None if reading is None else (at, reading)
        if reading is None or before is None or at <= before[0] or _restarted(reading, before[1]):
            return None
        span_s, last = at - before[0], before[1]
        self._smooth(max(0, in_flight - reading.running - reading.waiting), reading.requests - last.requests, span_s)
        inter_token_s = reading.inter_token_s.mean_since(last.inter_token_s)
        queue_s = reading.queue_s.mean_since(last.queue_s)
        self._learn_service(reading, last, queue_s or 0.0)
        return Pressure(
            at,
            span_s,
            reading.running,
            reading.waiting,
            reading.kv_usage,
            queue_s=queue_s,
            waited_s=self._waits.update(reading.queue_s, last.queue_s, span_s, waiting=reading.waiting > 0),
            service_s=self._service_s,
            render_s=self._rendering / self._ended_per_s if self._ended_per_s else None,
            inter_token_s=inter_token_s,
            baseline_s=self._baselines.update((last.running + reading.running) / 2, inter_token_s),
            preemptions=round(reading.preemptions - last.preemptions),
            tokens=round(reading.generation_tokens - last.generation_tokens),
        )

    def _smooth(self, rendering: float, ended: float, span_s: float) -> None:
        new = 1 - math.exp(-span_s / _SMOOTH_S)
        self._rendering += new * (rendering - self._rendering)
        self._ended_per_s += new * (ended / span_s - self._ended_per_s)

    def _learn_service(self, reading: ServerReading, last: ServerReading, queue_s: float) -> None:
        whole_s = reading.request_s.mean_since(last.request_s)
        if whole_s is None:
            return
        served_s = max(0.0, whole_s - queue_s)
        known_s = served_s if self._service_s is None else self._service_s
        new = 1 - math.exp(-(reading.request_s.count - last.request_s.count) / _SMOOTH_REQUESTS)
        self._service_s = known_s + new * (served_s - known_s)


class RecentMean:
    """Exponentially decaying mean of a histogram's recent values."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0.0

    def update(self, now: HistogramTotal, before: HistogramTotal, span_s: float, *, waiting: bool) -> float | None:
        """Adds the values of the last `span_s`. Without recent values: None if something is `waiting`, else 0."""
        keep = math.exp(-span_s / _RECENT_S)
        self._sum = keep * self._sum + now.sum - before.sum
        self._count = keep * self._count + now.count - before.count
        if self._count < _MIN_RECENT:
            return None if waiting else 0.0
        return max(0.0, self._sum) / self._count


class Baselines:
    """The usual inter-token latency for each batch size. It is normal for latency to grow with the batch.

    Batch sizes are grouped in steps of 20 %. A baseline moves halfway to a lower value, but only 1 % of the way to a
    higher one: a server that slows down raises the baseline only if it stays slow.
    """

    _MIN_READINGS = 8
    """Number of readings of a batch size before it has a baseline."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, int]] = {}

    def update(self, running: float, inter_token_s: float | None) -> float | None:
        """Returns the baseline of a batch of `running`, None if unknown, and then adds this reading to it."""
        if running < 1 or inter_token_s is None or inter_token_s <= 0:
            return None
        step = round(math.log(running) / math.log(1.2))
        usual, seen = self._known.get(step, (inter_token_s, 0))
        pace = 0.5 if inter_token_s < usual else 0.01
        self._known[step] = (usual + pace * (inter_token_s - usual), seen + 1)
        return usual if seen >= self._MIN_READINGS else None


_SMOOTH_S = 5.0
"""A single reading of the number of images in preprocessing is too noisy."""


_RECENT_S = 15.0
"""Prometheus' usual scrape interval: it would miss most values of a shorter window."""


_MIN_RECENT = 0.05
"""A single value is forgotten after 45 s."""


_SMOOTH_REQUESTS = 20
"""Pages differ in length: within a few seconds, few long ones end, or none."""


def _restarted(reading: ServerReading, before: ServerReading) -> bool:
    """Whether a counter decreased, which shows that the server was restarted."""
    return (
        reading.generation_tokens < before.generation_tokens
        or reading.requests < before.requests
        or reading.preemptions < before.preemptions
        or reading.queue_s.count < before.queue_s.count
        or reading.inter_token_s.count < before.inter_token_s.count
        or reading.request_s.count < before.request_s.count
    )


_DEADLINE_S = 1.0
"""Timeout of one reading. /metrics takes milliseconds; a server that is busy with images answers later."""


@dataclass(frozen=True, slots=True)
class PerServerLimit:
    """A Limit of `each` per server in service; at least for one server, whose calls then wait for it.

    `leaving`: calls at servers that take no more. They end in their own time and take nobody's slots.
    """

    each: Limit
    count: Callable[[], int]
    leaving: Callable[[], int] = lambda: 0

    @property
    def value(self) -> int:
        return self.each.value * max(1, self.count()) + self.leaving()

    @property
    def most(self) -> int:
        return self.each.most * max(1, self.count()) + self.leaving()

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        self.each.ended(outcome, at)


class _WatchedServer:
    """What the readings of one server show.

    Attributes:
        being_read: set when the reading that is in progress has ended; None if none is.
        arrived: the last reading and its pressure, until they are applied.
        kv_tokens: capacity of its KV cache, as last reported.
    """

    def __init__(self) -> None:
        self.gauge = PressureGauge()
        self.being_read: anyio.Event | None = None
        self.arrived: tuple[ServerReading, Pressure | None] | None = None
        self.kv_tokens: int | None = None


class ServerMonitor:
    """Reads every server about once a second. Its background task is `run`.

    All servers are alike and share one limit, which follows the server under the highest pressure.

    Attributes:
        read: the last reading and pressure of each server that answered.
        kv_tokens: tokens that the KV caches of the servers in service hold together; None until all have reported it.
        after_reading: called after each round, when limits may have grown.
    """

    def __init__(
        self,
        replicas: ReplicaSet,
        limit: AdaptiveLimit | None,
        interval_s: float,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`limit`: None if it is fixed."""
        self._set = replicas
        self._watched: dict[Replica, _WatchedServer] = {}
        self._limit = limit
        self._interval_s = interval_s
        self._clock = clock
        self.kv_tokens: int | None = None
        self.read: dict[Replica, tuple[ServerReading, Pressure | None]] = {}
        self.after_reading: list[Callable[[], None]] = []

    @property
    def up(self) -> int:
        """Servers in service."""
        return sum(replica.state is ReplicaState.UP for replica in self._set.replicas)

    async def run(self) -> None:
        """Reads until cancelled. A server that does not answer delays the others by a second, once."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._look(tasks)
                await anyio.sleep(self._interval_s)

    async def look(self) -> None:
        """Reads every server once, concurrently."""
        async with anyio.create_task_group() as tasks:
            await self._look(tasks)

    async def _look(self, tasks: TaskGroup) -> None:
        """Reads every server that is not being read already, and applies what arrives in time. Later readings are
        applied in the next round.
        """
        watched = {replica: self._watched.get(replica) or _WatchedServer() for replica in self._set.replicas}
        self._watched = watched
        begun: list[anyio.Event] = []
        for replica, server in watched.items():
            if replica.state is not ReplicaState.OUT and server.being_read is None:
                begun.append(ended := anyio.Event())
                server.being_read = ended
                tasks.start_soon(self._read_one, replica, server, ended)
        with anyio.move_on_after(_DEADLINE_S):
            for ended in begun:
                await ended.wait()
        arrived = {replica: server.arrived for replica, server in watched.items() if server.arrived is not None}
        slow = {replica for replica, server in watched.items() if server.being_read is not None}
        for server in watched.values():
            server.arrived = None
        # A slow server's last reading is used until the next one arrives or fails.
        self.read = {replica: read for replica, read in self.read.items() if replica in slow} | arrived
        if arrived or not slow:
            self._apply(arrived)

    async def _read_one(self, replica: Replica, server: _WatchedServer, ended: anyio.Event) -> None:
        at, in_flight = self._clock(), len(replica.leases)
        reading: ServerReading | None = None
        try:
            reading = await replica.server.readings()
        except Exception:  # per-server border: the others are still read
            log.exception("model_server_metrics_not_read", url=replica.name)
        finally:
            server.being_read = None
        pressure = server.gauge.read(reading, at, in_flight)
        if reading is not None:
            server.arrived = reading, pressure
            server.kv_tokens = reading.kv_tokens or server.kv_tokens
        ended.set()

    def _apply(self, read: dict[Replica, tuple[ServerReading, Pressure | None]]) -> None:
        serving = [
            server.kv_tokens
            for replica, server in self._watched.items()
            if replica.state is not ReplicaState.OUT and not replica.is_gone
        ]
        known = [tokens for tokens in serving if tokens is not None]
        if known and len(known) == len(serving):
            self.kv_tokens = sum(known)
        pressures = [pressure for _, pressure in read.values() if pressure is not None]
        if self._limit is not None and pressures:
            worst = max(pressures, key=lambda pressure: pressure.u)
            tokens = sum(pressure.tokens for pressure in pressures) // len(pressures)
            preemptions = sum(pressure.preemptions for pressure in pressures)
            in_flight = sum(len(replica.leases) for replica in read) // len(read)
            self._limit.observe(replace(worst, tokens=tokens, preemptions=preemptions), in_flight)
        for wake in self.after_reading:
            wake()
