"""How hard an engine is pressed, from two readings of it: not from latency, which follows the length of the output."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inkgate.engines.vllm.metrics import ServerReading, Total


@dataclass(frozen=True, slots=True)
class PressureTargets:
    """What is still healthy; at the target, a signal's pressure is 1.

    Attributes:
        waiting: requests in the engine's own queue. They should wait with us, where they can be reordered.
        kv_usage: of 1.
        queue_s: seconds a request waits in the engine's queue, on average.
        queue_part: the same as a part of the time it is served for, where that is longer: before a batch of long pages,
            seconds go by until one of them ends, without there being too many.
        render_s: seconds that images wait to be prepared, before the engine counts them.
        slower: times the inter-token latency may be of what is usual in a batch as large.
    """

    waiting: float = 2.0
    kv_usage: float = 0.85
    queue_s: float = 1.0
    queue_part: float = 0.1
    render_s: float = 1.0
    slower: float = 1.5


@dataclass(frozen=True, slots=True)
class Pressure:
    """An engine between two readings; None is what isn't known, and presses nobody.

    Attributes:
        at: clock time at which the later reading was asked for, in seconds.
        span_s: from the reading before.
        running, waiting: requests in the batch, and before it, those of other clients too.
        kv_usage: 0 to 1.
        queue_s: mean wait in the engine's queue of those that left it.
        waited_s: the same over the last quarter of a minute, for who looks on: 0 while nobody waits or leaves.
        service_s: mean time of a request in the engine, without its queue.
        render_s: how long an image waits to be prepared: by Little's law, those in it / requests ended a second.
        inter_token_s, baseline_s: mean time between tokens of a request, and the usual one in such a batch.
        preemptions: of requests.
        tokens: generated.
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
        """The largest of all signals over their targets: under 1 there is room, over 1 there is too much.

        u = max(waiting/2, kv/0.85, render wait/1 s, queue time/max(1 s, 0.1*service time), inter-token/(1.5*baseline))
        """
        targets = self.targets
        usual = None if self.baseline_s is None else targets.slower * self.baseline_s
        return max(
            self.waiting / targets.waiting,
            self.memory,
            _over(self.render_s, targets.render_s),
            _over(self.queue_s, max(targets.queue_s, targets.queue_part * (self.service_s or 0.0))),
            _over(self.inter_token_s, usual),
        )

    @property
    def memory(self) -> float:
        """The part of u that isn't about time: use of the KV cache over its target."""
        return _over(self.kv_usage, self.targets.kv_usage)

    def running_of(self, in_flight: int) -> int:
        """How many of `in_flight` works the engine runs at once; others' requests wait and run beside them alike."""
        there = self.running + self.waiting
        return min(self.running, in_flight, round(in_flight * self.running / there)) if there else 0

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.span_s


class PressureGauge:
    """Makes a Pressure of each reading of one server and the reading before it. Used from one event loop."""

    def __init__(self, targets: PressureTargets | None = None) -> None:
        self._targets = targets or PressureTargets()
        self._baselines = Baselines()
        self._before: tuple[float, ServerReading] | None = None
        self._rendering = 0.0
        self._ended_per_s = 0.0
        self._waits = RecentMean()
        self._service_s: float | None = None

    def read(self, reading: ServerReading | None, at: float, in_flight: int) -> Pressure | None:
        """The pressure since the reading before; None at first, without a reading, or where the server began anew.

        `at`: clock time in seconds at which the reading was asked for. `in_flight`: calls of ours at the server then.
        """
        before, self._before = self._before, None if reading is None else (at, reading)
        if reading is None or before is None or at <= before[0] or _began_anew(reading, before[1]):
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
            waited_s=self._waits.learned(reading.queue_s, last.queue_s, span_s, waiting=reading.waiting > 0),
            service_s=self._service_s,
            render_s=self._rendering / self._ended_per_s if self._ended_per_s else None,
            inter_token_s=inter_token_s,
            baseline_s=self._baselines.learned((last.running + reading.running) / 2, inter_token_s),
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
    """The mean of a histogram's values that came lately, the latest counting most."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0.0

    def learned(self, now: Total, before: Total, span_s: float, *, waiting: bool) -> float | None:
        """With what came within `span_s`. When nothing came lately: 0; not known where something is `waiting` to."""
        keep = math.exp(-span_s / _LATELY_S)
        self._sum = keep * self._sum + now.sum - before.sum
        self._count = keep * self._count + now.count - before.count
        if self._count < _LATELY_LEAST:
            return None if waiting else 0.0
        return max(0.0, self._sum) / self._count


class Baselines:
    """The usual inter-token latency by size of the batch: latency grows with the batch, and healthily so.

    Batches are told apart in steps of a fifth. A baseline falls to a lower value by half the difference and rises to
    a higher one by 1 % of it: a server that got slow is not soon what is usual, but one that stays so is in the end.
    """

    _LEAST = 8
    """Readings of a batch before it has a baseline."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, int]] = {}

    def learned(self, running: float, inter_token_s: float | None) -> float | None:
        """The baseline of a batch of `running` before this reading of it, which is then learned; None: not known."""
        if running < 1 or inter_token_s is None or inter_token_s <= 0:
            return None
        step = round(math.log(running) / math.log(1.2))
        usual, seen = self._known.get(step, (inter_token_s, 0))
        pace = 0.5 if inter_token_s < usual else 0.01
        self._known[step] = (usual + pace * (inter_token_s - usual), seen + 1)
        return usual if seen >= self._LEAST else None


_SMOOTH_S = 5.0
"""One reading of how many images are prepared is a sample of a number that jumps."""
_LATELY_S = 15.0
"""As long as between two looks of Prometheus: what is only said of the moment is mostly missed."""
_LATELY_LEAST = 0.05
"""One value is forgotten after 45 s."""
_SMOOTH_REQUESTS = 20
"""Pages differ in length; a few seconds see a few of long ones end, or none."""


def _over(value: float | None, target: float | None) -> float:
    return 0.0 if value is None or not target else value / target


def _began_anew(reading: ServerReading, before: ServerReading) -> bool:
    """Whether a counter ran backwards: the server was started again."""
    return (
        reading.generation_tokens < before.generation_tokens
        or reading.requests < before.requests
        or reading.preemptions < before.preemptions
        or reading.queue_s.count < before.queue_s.count
        or reading.inter_token_s.count < before.inter_token_s.count
        or reading.request_s.count < before.request_s.count
    )
