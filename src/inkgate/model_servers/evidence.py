"""What readings and the ends of requests show about an engine's capacity. AdaptiveLimit (adaptive.py) decides by it.

Pressure is the load of a model server between two readings. Each other class answers one question: how long a request
takes (ServiceTime), how many requests fail or time out (OutcomeShares), whether the engine is saturated
(UsualThroughput), whether growth brought throughput (ThroughputGain), and how many requests the engine runs at once
without harm (SustainedConcurrency). Used from one event loop.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from inkgate.serving.outcomes import WorkOutcome


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


TARGETS: Final = PressureTargets()


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

    @property
    def u(self) -> float:
        """The largest ratio of a signal to its target: below 1 there is room, above 1 the engine is overloaded.

        u = max(waiting/2, kv/0.85, render wait/1 s, queue time/max(1 s, 0.1*service time), inter-token/(1.5*baseline))
        """
        usual = None if self.baseline_s is None else TARGETS.slower * self.baseline_s
        return max(
            self.waiting / TARGETS.waiting,
            self.memory,
            _ratio(self.render_s, TARGETS.render_s),
            _ratio(self.queue_s, max(TARGETS.queue_s, TARGETS.queue_part * (self.service_s or 0.0))),
            _ratio(self.inter_token_s, usual),
        )

    @property
    def memory(self) -> float:
        """The ratio of KV cache usage to its target: the part of u that is not about time."""
        return _ratio(self.kv_usage, TARGETS.kv_usage)

    def running_of(self, in_flight: int) -> int:
        """How many of inkgate's `in_flight` requests the engine runs, if it treats other clients' requests alike."""
        there = self.running + self.waiting
        return min(self.running, in_flight, round(in_flight * self.running / there)) if there else 0

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.span_s


def _ratio(value: float | None, target: float | None) -> float:
    return 0.0 if value is None or not target else value / target


class ServiceTime:
    """Decaying mean time of a request at the engine, by Little's law (1961): concurrent ones * time / finished ones.

    Idle time does not count. Rejected and cancelled requests are no samples.

    Attributes:
        mean_s: the mean; `_ASSUMED_S` before any request has ended.
    """

    def __init__(self) -> None:
        self.mean_s = _ASSUMED_S
        self._request_s = 0.0
        self._ends = 0.0
        self._ended_since = 0

    def ended(self) -> None:
        """Counts a request that ended."""
        self._ended_since += 1

    def passed(self, in_flight: float, span_s: float) -> None:
        """Adds `span_s` seconds with `in_flight` requests at the engine."""
        decay = 0.5 ** (span_s / _SERVICE_HALF_LIFE_S)
        self._request_s = self._request_s * decay + in_flight * span_s
        self._ends = self._ends * decay + self._ended_since
        self._ended_since = 0
        if self._ends >= 1 and self._request_s:
            self.mean_s = self._request_s / self._ends


class OutcomeShares:
    """Shares of requests that failed and that timed out at the engine, as exponentially weighted means.

    Attributes:
        failed, late: the shares, 0 to 1.
    """

    def __init__(self) -> None:
        self.failed = self.late = 0.0

    def ended(self, outcome: WorkOutcome) -> None:
        """Counts a request that ended."""
        self.failed += ((outcome is WorkOutcome.FAILED) - self.failed) / _REQUESTS
        self.late += ((outcome is WorkOutcome.LATE) - self.late) / _REQUESTS


class UsualThroughput:
    """The throughput that an engine has under load; with about as much, it counts as saturated.

    A saturated engine divides its time among all concurrent requests: with half as many, each finishes in half the time
    at the same throughput. An engine that is not saturated runs each as fast as it can: a request is late there because
    it is large or its deadline is short.
    """

    def __init__(self) -> None:
        self._tokens_per_s = 0.0

    def observe(self, tokens_per_s: float, *, loaded: bool) -> None:
        """Takes the throughput since the last change. `loaded`: whether the engine had enough work, and few late ones:
        only then does lower throughput show that the engine is slower than usual.
        """
        falls = _FALLS if loaded else _FORGETS
        weight = _RISES if tokens_per_s > self._tokens_per_s else falls
        self._tokens_per_s += weight * (tokens_per_s - self._tokens_per_s)

    def is_reached(self, tokens_per_s: float) -> bool:
        """Whether the engine is saturated at this throughput."""
        return tokens_per_s > 0 and tokens_per_s >= _SATURATED * self._tokens_per_s


@dataclass(frozen=True, slots=True)
class GainSample:
    """Mean concurrency, throughput and limit of one step."""

    limit: float
    in_flight: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Elasticity:
    """Relative change of throughput per relative change of concurrency: 1 with free capacity, 0 at capacity.

    The slope of least squares through the samples, over their means; `error` is its standard error.
    """

    value: float
    error: float


class ThroughputGain:
    """Finds out whether higher concurrency gives more throughput: by their covariance, as in Uber's Cinnamon.

    Measured as an elasticity, which has no unit, over the shortest recent history in which concurrency varied enough
    and whose standard error is small. Growth counts as useless only if the largest plausible gain is too small (a
    one-sided t-test of the slope; Student, 1908). Until then the limit keeps growing, which widens the range and adds
    evidence.
    """

    def __init__(self) -> None:
        self._samples: deque[GainSample] = deque(maxlen=_MAX_SAMPLES)

    def add(self, sample: GainSample) -> None:
        self._samples.append(sample)
        while len(self._samples) > _MIN_SAMPLES and _is_precise(_elasticity([*self._samples][1:])):
            self._samples.popleft()

    def forget(self) -> None:
        """Drops all samples. To be called when something else changed the limit or the throughput."""
        self._samples.clear()

    def limit_before_useless_growth(self) -> float | None:
        """The limit before growth that gave no throughput; None if it gave some, or if that is not known."""
        if len(self._samples) < _MIN_SAMPLES:
            return None
        gain = _elasticity(self._samples)
        if gain is None or gain.value + _ERRORS * gain.error >= _MIN_ELASTICITY:
            return None
        return self._samples[0].limit


def _is_precise(gain: Elasticity | None) -> bool:
    return gain is not None and gain.error <= _SMALL_ERROR


def _elasticity(samples: Sequence[GainSample]) -> Elasticity | None:
    """None if the concurrency hardly varies or there are no tokens."""
    in_flight = fmean(sample.in_flight for sample in samples)
    tokens_per_s = fmean(sample.tokens_per_s for sample in samples)
    x = [sample.in_flight - in_flight for sample in samples]
    y = [sample.tokens_per_s - tokens_per_s for sample in samples]
    squares = math.fsum(each * each for each in x)
    if squares <= len(x) * (_MIN_SPREAD * in_flight) ** 2 or not tokens_per_s:
        return None
    slope = math.fsum(dx * dy for dx, dy in zip(x, y, strict=True)) / squares
    residuals = math.fsum((dy - slope * dx) ** 2 for dx, dy in zip(x, y, strict=True))
    error = math.sqrt(residuals / (len(x) - 2) / squares)
    unit = in_flight / tokens_per_s
    return Elasticity(slope * unit, error * unit)


class SustainedConcurrency:
    """The highest number of requests that an engine ran at once while as many ended well. It is taken from the engine's
    count of running requests, so that it can't exceed the maximum batch size (vLLM: max-num-seqs).

    Attributes:
        requests: that number; 0 while unknown.
    """

    def __init__(self, requests: float = 0.0) -> None:
        """`requests`: initial value."""
        self._configured = self.requests = float(requests)
        self._seen = 0.0
        self._well = 0
        self._running: deque[float] = deque(maxlen=_FEWER)
        self._confirmed_at = -math.inf

    def observe(self, reading: Pressure, in_flight: int, limit: float) -> None:
        """Takes a reading; `in_flight`: requests at the engine then.

        If requests wait in an engine with free memory, it runs as many as it can. If that is fewer than known, it was
        restarted with a lower maximum, or has other clients now.
        """
        running = min(reading.running_of(in_flight), limit)
        if reading.waiting and in_flight >= self.requests and reading.memory < 1:
            self._running.append(running)
            if len(self._running) == _FEWER:
                self.requests = min(self.requests, max(self._running))
        self._seen = max(self._seen, running)

    def ended_well(self, now: float) -> None:
        """Counts a request that ended well while hardly any are late."""
        self._well += 1
        if self._well < self._seen or not self._seen:
            return
        if self._seen >= self.requests:
            self.requests, self._confirmed_at = self._seen, now
        self.reset()

    def reset(self) -> None:
        """Starts counting again after damage: only requests that end well from now on count."""
        self._seen, self._well = 0.0, 0

    def at_most(self, requests: float) -> None:
        """Lowers the value: more than `requests` brought no throughput, or crashed the engine."""
        self.requests = min(self.requests, requests)
        self.reset()

    def recent(self, now: float) -> float:
        """`requests` if as many ended well recently, else at most the initial value: if all have timed out since then,
        fewer may finish in time.
        """
        return self.requests if now - self._confirmed_at <= _REMEMBERED_S else min(self.requests, self._configured)


_ASSUMED_S = 5.0
"""Assumed time of a request before any has ended: a page of 500 tokens at 100 tokens a second."""
_SERVICE_HALF_LIFE_S = 60.0
"""Several times the longest pages, so that the mean does not follow single ones."""
_REQUESTS = 20
"""Requests over which shares are averaged: one failure or timeout weighs 5 %."""
_SATURATED = 0.8
"""Share of the usual throughput from which on an engine counts as saturated: the usual one is near the highest of noisy
readings."""
_RISES, _FALLS = 1 / 2, 1 / 8
"""Smoothing factors for a higher and a lower throughput. It is a maximum of noisy values, so it rises faster."""
_FORGETS = 0.002
"""Smoothing factor of a lower throughput without load, which says little: half is forgotten after 350 steps."""
_MIN_SPREAD = 0.05
"""Minimum coefficient of variation of the concurrency; below it, a covariance is noise."""
_MIN_ELASTICITY = 0.2
"""Minimum gain, as a share of the added concurrency: less is no gain, but latency. With 0.4, the simulator served 9 %
fewer pages in time at twice the capacity; with 0.1, as many."""
_MIN_SAMPLES, _MAX_SAMPLES = 8, 32
_SMALL_ERROR = 0.1
"""Standard error of the elasticity at which older samples are not needed: half of the least elasticity."""
_ERRORS = 2.0
"""Upper bound in standard errors above the slope: 95 % confidence with 8 samples, 97 % with 32."""
_FEWER = 15
"""Readings in a row in which the engine ran fewer than known, after which the known value is lowered."""
_REMEMBERED_S = 60.0
"""How long the value holds against timeouts, since as many requests last ended well."""
