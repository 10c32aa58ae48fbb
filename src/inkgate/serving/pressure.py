"""Load on an engine, from two readings of its metrics. Not from latency, which depends on the output's length."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inkgate.engines.vllm.metrics import HistogramTotal, ServerReading


@dataclass(frozen=True, slots=True)
class PressureTargets:
    """The highest healthy value of each signal; at the target, a signal's pressure is 1.

    Attributes:
        waiting: requests in the engine's own queue. They should wait in inkgate's, where they can be reordered.
        kv_usage: use of the KV cache, 0 to 1.
        queue_s: seconds a request waits in the engine's queue, on average.
        queue_part: the same as a share of the service time, if that is longer: behind a batch of long pages, a request
            waits seconds even if the load is healthy.
        render_s: seconds that images wait for preprocessing, before the engine counts them.
        slower: allowed inter-token latency as a multiple of the usual one for the same batch size.
    """

    waiting: float = 2.0
    kv_usage: float = 0.85
    queue_s: float = 1.0
    queue_part: float = 0.1
    render_s: float = 1.0
    slower: float = 1.5


@dataclass(frozen=True, slots=True)
class Pressure:
    """State of an engine between two readings. None: unknown, and ignored.

    Attributes:
        at: clock time at which the later reading was requested, in seconds.
        span_s: since the previous reading.
        running, waiting: requests in the batch and in the engine's queue, including other clients'.
        kv_usage: 0 to 1.
        queue_s: mean wait in the engine's queue of the requests that left it.
        waited_s: the same over about the last 15 s, for display: 0 while no request waits or leaves the queue.
        service_s: mean time of a request in the engine, without its wait.
        render_s: wait of an image for preprocessing, by Little's law: images in it / requests finished a second.
        inter_token_s, baseline_s: mean time between tokens of a request, and the usual one for this batch size.
        preemptions: number of preempted requests.
        tokens: number of generated tokens.
    """

    at: float
    span_s: float
    running: int = 0
    waiting: int = 0
    kv_usage: float | None = None
    queue_s: float | None = None
    waited_s: float | None = None
    service_s: float | None = None
    render_s: float | None = None
    inter_token_s: float | None = None
    baseline_s: float | None = None
    preemptions: int = 0
    tokens: int = 0
    targets: PressureTargets = PressureTargets()

    @property
    def u(self) -> float:
        """The largest ratio of a signal to its target: below 1 there is room, above 1 the engine is overloaded.

        u = max(waiting/2, kv/0.85, render wait/1 s, queue time/max(1 s, 0.1*service time), inter-token/(1.5*baseline))
        """
        targets = self.targets
        usual = None if self.baseline_s is None else targets.slower * self.baseline_s
        return max(
            self.waiting / targets.waiting,
            self.memory,
            _ratio(self.render_s, targets.render_s),
            _ratio(self.queue_s, max(targets.queue_s, targets.queue_part * (self.service_s or 0.0))),
            _ratio(self.inter_token_s, usual),
        )

    @property
    def memory(self) -> float:
        """The ratio of KV cache usage to its target: the part of u that is not about time."""
        return _ratio(self.kv_usage, self.targets.kv_usage)

    def running_of(self, in_flight: int) -> int:
        """How many of inkgate's `in_flight` works the engine runs, if it treats other clients' requests alike."""
        there = self.running + self.waiting
        return min(self.running, in_flight, round(in_flight * self.running / there)) if there else 0

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.span_s


class PressureGauge:
    """Computes the Pressure of one server from consecutive readings. Used from one event loop."""

    def __init__(self, targets: PressureTargets | None = None) -> None:
        self._targets = targets or PressureTargets()
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
            targets=self._targets,
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
        if self._count < _RECENT_LEAST:
            return None if waiting else 0.0
        return max(0.0, self._sum) / self._count


class Baselines:
    """The usual inter-token latency for each batch size. It is normal for latency to grow with the batch.

    Batch sizes are grouped in steps of 20 %. A baseline moves halfway to a lower value, but only 1 % of the way to a
    higher one: a server that slows down raises the baseline only if it stays slow.
    """

    _LEAST = 8
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
        return usual if seen >= self._LEAST else None


_SMOOTH_S = 5.0
"""A single reading of the number of images in preprocessing is too noisy."""
_RECENT_S = 15.0
"""Prometheus' usual scrape interval: it would miss most values of a shorter window."""
_RECENT_LEAST = 0.05
"""A single value is forgotten after 45 s."""
_SMOOTH_REQUESTS = 20
"""Pages differ in length: within a few seconds, few long ones end, or none."""


def _ratio(value: float | None, target: float | None) -> float:
    return 0.0 if value is None or not target else value / target


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
