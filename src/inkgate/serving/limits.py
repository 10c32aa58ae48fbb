"""Concurrency limits of an engine: fixed, or adapted to its capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean
from typing import Protocol

import anyio

from inkgate.serving.gain import Gain, GainSample
from inkgate.serving.lateness import LateWork
from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.pressure import Pressure
from inkgate.serving.rate import ServiceTime
from inkgate.serving.sustained import SustainedConcurrency
from inkgate.settings import AdaptiveSettings


class Limit(Protocol):
    """The maximum number of works at the engine at once. Used from one event loop."""

    @property
    def value(self) -> int: ...

    @property
    def most(self) -> int:
        """Upper bound of `value`."""
        ...

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Adapts to how a work ended, at clock time `at` in seconds."""
        ...


class FixedLimit:
    """A constant limit: value = n."""

    def __init__(self, n: int) -> None:
        self._n = n

    @property
    def value(self) -> int:
        return self._n

    @property
    def most(self) -> int:
        return self._n

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Does nothing."""


class AdaptiveLimit:
    """Lowers the limit slowly under pressure and at once on damage. The ledger, not this, protects the KV cache.

    A step every max(interval, half a service time), where u is the mean pressure since the last step:

        L <- 0.8*L + 0.2*(L*clamp(1/u, 0.5, 1) + sqrt(L)*[u < 1 and in flight >= L/2 and more works still bring more])

    On damage (a preemption, or `damaged`), at most once a service time: L <- 0.9*L. If a large share p of works times
    out at a saturated engine: L <- (1 - p/2)*L, and no growth (`lateness.py`). Far below the last saturation point
    (where pressure or damage began or growth brought nothing; at first infinite), it grows by L/4 instead, as in TCP's
    slow start (Jacobson, 1988): steps of sqrt(L) would take minutes.

    If the server died (`lost`): L <- L/2, with a ceiling of 0.75 of the works in it, which rises by 2 % a minute.
    Activation memory runs out without warning, and each attempt to find its limit costs a server.

    Waits, slow tokens and timeouts lower it at most to the concurrency that the engine is known to sustain
    (`sustained.py`), and waits and slow tokens don't prevent growth up to there: on a shared machine they rise without
    overload. Only damage, a full KV cache and growth that brought no more tokens lower it further.

    Readings that are stale, repeated or older than the last change are ignored: several can't add up to one large step.
    Without readings L is kept; it only recovers from cuts, up to its value at the last reading. The form of the step is
    Gradient2's (Netflix, concurrency-limits).
    """

    def __init__(
        self, settings: AdaptiveSettings, clock: Callable[[], float] = anyio.current_time, seats: int = 0
    ) -> None:
        """`seats`: the engine's maximum batch size, such as vLLM's max-num-seqs; 0: unknown."""
        self._settings = settings
        self._clock = clock
        self._limit = float(max(settings.least, min(settings.most, settings.initial)))
        self._observed = self._limit
        self._service = ServiceTime()
        self._gain = Gain()
        self._since: list[tuple[float, float, float, float]] = []
        self._sustained = SustainedConcurrency(min(seats, settings.initial))
        self._failing = 0.0
        self._lateness = LateWork()
        self._enough = math.inf
        self._pressed = self._is_down = False
        self._proven = 0
        self._ceiling: tuple[float, float] | None = None
        self._read_at = self._heard_at = self._changed_at = self._cut_at = -math.inf

    @property
    def value(self) -> int:
        return int(self._limit)

    @property
    def most(self) -> int:
        """As configured. The lower ceiling after a crash of the server is not included."""
        return self._settings.most

    @property
    def floor(self) -> float:
        """The concurrency that the engine is known to sustain."""
        return self._sustained.works

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """See Limit. Failures count as damage only above a tenth: some pages fail on any engine.

        Failures after a crash are ignored until the server is back: they say nothing about its capacity.
        """
        if outcome in {WorkOutcome.REJECTED, WorkOutcome.LEFT} or (self._is_down and outcome is not WorkOutcome.OK):
            return
        self._is_down = False
        self._service.ended()
        self._failing += ((outcome is WorkOutcome.FAILED) - self._failing) / 20
        self._lateness.ended(late=outcome is WorkOutcome.LATE)
        if outcome is WorkOutcome.OK and self._lateness.is_low:
            self._sustained.ended_well(at)
        if outcome is WorkOutcome.FAILED and self._failing > _FAILING:
            self.damaged()
            return
        if outcome is WorkOutcome.LATE:
            self._timed_out()
            return
        unheard_since = max(self._heard_at + self._settings.stale_s, self._changed_at)
        if self._limit < self._observed and at - unheard_since >= self._pause_s:
            self._set(min(self._observed, self._limit + 0.2 * math.sqrt(self._limit)), at)

    def damaged(self) -> None:
        """Lowers the limit after work was lost to overload: a preemption, a 503, a timeout, or out of memory."""
        self._cut(0.9)
        self._sustained.reset()

    def lost(self, in_flight: int) -> None:
        """Lowers the limit after the server died with `in_flight` works in it.

        Does nothing if these are less than half of the limit, or of what it has run before: then the load was not the
        cause, but content, or somebody stopped the server.
        """
        if in_flight < min(self._limit, max(self._settings.initial, self._proven)) / 2:
            return
        now = self._cut_at = self._clock()
        self._ceiling = (_SAFE * in_flight, now)
        self._enough, self._pressed = _SAFE * in_flight, True
        self._proven, self._is_down = 0, True
        self._sustained.at_most(_SAFE * in_flight)
        self._gain.forget()
        self._set(self._limit / 2, now)

    def observe(self, reading: Pressure, in_flight: int) -> None:
        """Adapts to a reading; `in_flight`: works at the engine when it was requested."""
        now = self._clock()
        if now - reading.at > self._settings.stale_s or reading.at <= self._read_at:
            return
        self._read_at, self._heard_at = reading.at, now
        self._proven, self._is_down = max(self._proven, in_flight), False
        self._service.passed(in_flight, reading.span_s)
        if reading.preemptions:
            self.damaged()
        if reading.at > self._changed_at:
            self._since.append((reading.u, reading.memory, in_flight, reading.tokens_per_s))
            self._sustained.read(reading, in_flight, self._limit)
            if now - self._changed_at >= self._pause_s:
                self._step(now)
        self._observed = self._limit

    def _timed_out(self) -> None:
        """A work timed out at the engine: the limit may be too high."""
        if not self._since:
            return
        _, _, in_flight, tokens_per_s = self._means
        full = in_flight >= self._limit / 2 and self._lateness.calls_for_fewer(tokens_per_s)
        if full and self._cut(1 - self._lateness.share / 2, least=self._sustained.recent(self._clock())):
            self._lateness.read(tokens_per_s, busy=True)

    def _cut(self, part: float, least: float = 0.0) -> bool:
        """Multiplies the limit by `part`, not below `least`, at most once a service time. Returns whether it did."""
        now = self._clock()
        if now - self._cut_at < max(self._settings.interval_s, self._service.mean_s) or self._limit <= least:
            return False
        self._cut_at = now
        self._set_enough()
        self._gain.forget()
        self._set(max(least, part * self._limit), now)
        return True

    @property
    def _means(self) -> tuple[float, float, float, float]:
        """Means since the last change: pressure, memory pressure, works in flight, tokens a second. There must be a
        reading.
        """
        u, memory, in_flight, tokens_per_s = (fmean(each) for each in zip(*self._since, strict=True))
        return u, memory, in_flight, tokens_per_s

    @property
    def _pause_s(self) -> float:
        return max(self._settings.interval_s, self._service.mean_s / 2)

    def _step(self, now: float) -> None:
        u, memory, in_flight, tokens_per_s = self._means
        limit = self._limit
        if limit <= self.floor:
            u = memory
        busy = in_flight >= limit / 2
        self._lateness.read(tokens_per_s, busy=busy)
        grows = False
        if u >= 1:
            self._set_enough()
            self._gain.forget()
        elif busy:
            self._gain.add(GainSample(limit, in_flight, tokens_per_s))
            if self._gain.is_none:
                self._set_enough()
                limit = min(limit, self._gain.undone(now + _HOLD_STEPS * self._pause_s))
                self._sustained.at_most(limit)
            # a stalled engine has low pressure too, since nothing enters its queue
            grows = self._gain.may_be(now) and tokens_per_s > 0 and self._lateness.allows_more(tokens_per_s)
        gradient = min(1.0, max(0.5, 1 / u)) if u else 1.0
        if u < 1:
            self._pressed = False
        growth = limit / 4 if limit < _FAR * self._enough else 0.2 * math.sqrt(limit)
        trimmed = limit + 0.2 * limit * (gradient - 1)
        if memory < 1:
            trimmed = max(trimmed, min(limit, self.floor))
        self._set(trimmed + growth * grows, now)

    def _set_enough(self) -> None:
        """Records the limit at which saturation began, and not the values to which it is lowered afterwards."""
        if not self._pressed:
            self._enough = self._limit
        self._pressed = True

    def _most(self, now: float) -> float:
        """Upper bound at clock time `now`."""
        most = float(self._settings.most)
        if self._ceiling is None:
            return most
        ceiling, since = self._ceiling
        return min(most, ceiling * math.pow(_RISE_A_MINUTE, (now - since) / 60))

    def _set(self, limit: float, now: float) -> None:
        self._limit = max(float(self._settings.least), min(self._most(now), limit))
        self._changed_at = now
        self._since.clear()


_FAILING = 0.1
"""Failure rate, averaged over about 20 works, above which failures count as damage."""
_FAR = 0.7
"""Share of the last saturation point below which growth is fast."""
_SAFE = 0.75
"""After a crash: ceiling as a share of the works in the server."""
_RISE_A_MINUTE = 1.02
"""Growth of that ceiling: it doubles in 35 minutes."""
_HOLD_STEPS = 30
"""Steps without growth after growth brought no more tokens."""
