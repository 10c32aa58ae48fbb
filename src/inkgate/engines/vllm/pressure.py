"""Load on one model server, from consecutive readings of its metrics.

Not from latency, which depends on the output's length.
"""

from __future__ import annotations

import math

from inkgate.engines.vllm.metrics import HistogramTotal, ServerReading
from inkgate.serving.evidence import Pressure, PressureTargets


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
