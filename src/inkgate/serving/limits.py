"""How many works may be at the engine at once: as set, or as the engine turns out to bear."""

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
    """How many works may be at the engine at once. Used from one event loop."""

    @property
    def value(self) -> int: ...

    @property
    def most(self) -> int:
        """How far it may rise."""
        ...

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Learns from how a work ended, at clock time `at` in seconds."""
        ...


class FixedLimit:
    """As many as set: value = n."""

    def __init__(self, n: int) -> None:
        self._n = n

    @property
    def value(self) -> int:
        return self._n

    @property
    def most(self) -> int:
        return self._n

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Nothing is learned."""


class AdaptiveLimit:
    """Trims slowly on pressure and cuts on damage; the ledger, not this, is what keeps the KV cache from running over.

    Every max(interval, half a service time), with u the mean pressure since the last step:

        L <- 0.8*L + 0.2*(L*clamp(1/u, 0.5, 1) + sqrt(L)*[u < 1 and in flight >= L/2 and more works still bring more])

    On damage (a preemption, or `damaged`), at most once a service time: L <- 0.9*L. Where deadlines end many works, a
    part p, at an engine that is full: L <- (1 - p/2)*L, and no growth (`lateness.py`). Far below where there last was
    enough (pressure, damage, or growth that brought nothing set in; at first: nowhere), growth is by L/4 instead, as in
    TCP's slow start (Jacobson, 1988): steps of a root would take minutes.

    Where the server died (`lost`): L <- L/2, and for long no more than 0.75 of what was in it, which rises by 2 % a
    minute. Memory for activations gives no sign before it is over, and each try to find out costs a server.

    Waits, slow tokens and deadlines lower it no further than to what the engine is known to run at once
    (`sustained.py`), and waits and slow tokens don't keep it from growing back to there: on a shared machine they rise
    without there being too many. Only damage, a full KV cache and growth that brought no more tokens go below.

    A reading that is stale, comes twice or is of before the last change is ignored: several can't add up to one large
    step. Without readings L stays as it is, for that is no reason to read less; only cuts are made good again, up to
    what it was with the last reading. The form of the step is Gradient2's (Netflix, concurrency-limits).
    """

    def __init__(
        self, settings: AdaptiveSettings, clock: Callable[[], float] = anyio.current_time, seats: int = 0
    ) -> None:
        """`seats`: how many the engine runs at once, such as vLLM's max-num-seqs; 0: not known."""
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
        self._pressed = self._gone = False
        self._borne = 0
        self._ceiling: tuple[float, float] | None = None
        self._read_at = self._heard_at = self._changed_at = self._cut_at = -math.inf

    @property
    def value(self) -> int:
        return int(self._limit)

    @property
    def most(self) -> int:
        """By the settings; where the server died, less for a while, which this doesn't say."""
        return self._settings.most

    @property
    def floor(self) -> float:
        """What the engine is known to run at once."""
        return self._sustained.works

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """See Limit. Failures are damage when they are more than a few: some pages fail whoever reads them.

        Those of a server that was lost are not: until it is back, they say nothing of how much it bears.
        """
        if outcome in {WorkOutcome.REJECTED, WorkOutcome.LEFT} or (self._gone and outcome is not WorkOutcome.OK):
            return
        self._gone = False
        self._service.ended()
        self._failing += ((outcome is WorkOutcome.FAILED) - self._failing) / 20
        self._lateness.ended(late=outcome is WorkOutcome.LATE)
        if outcome is WorkOutcome.OK and self._lateness.is_low:
            self._sustained.ended_well(at)
        if outcome is WorkOutcome.FAILED and self._failing > _FAILING:
            self.damaged()
            return
        if outcome is WorkOutcome.LATE:
            self._came_late()
            return
        unheard_since = max(self._heard_at + self._settings.stale_s, self._changed_at)
        if self._limit < self._observed and at - unheard_since >= self._pause_s:
            self._set(min(self._observed, self._limit + 0.2 * math.sqrt(self._limit)), at)

    def damaged(self) -> None:
        """Something was lost for want of room: a preemption, a 503 of the engine, a timeout, memory that ran out."""
        self._cut(0.9)
        self._sustained.doubted()

    def lost(self, in_flight: int) -> None:
        """The server died with `in_flight` works in it.

        With less than half of what it may have, or has borne, it was not their number: content is to blame, or whoever
        stopped it.
        """
        if in_flight < min(self._limit, max(self._settings.initial, self._borne)) / 2:
            return
        now = self._cut_at = self._clock()
        self._ceiling = (_SAFE * in_flight, now)
        self._enough, self._pressed = _SAFE * in_flight, True
        self._borne, self._gone = 0, True
        self._sustained.at_most(_SAFE * in_flight)
        self._gain.forget()
        self._set(self._limit / 2, now)

    def observe(self, reading: Pressure, in_flight: int) -> None:
        """Learns from a reading; `in_flight` works were at the engine when it was asked for."""
        now = self._clock()
        if now - reading.at > self._settings.stale_s or reading.at <= self._read_at:
            return
        self._read_at, self._heard_at = reading.at, now
        self._borne, self._gone = max(self._borne, in_flight), False
        self._service.passed(in_flight, reading.span_s)
        if reading.preemptions:
            self.damaged()
        if reading.at > self._changed_at:
            self._since.append((reading.u, reading.memory, in_flight, reading.tokens_per_s))
            self._sustained.read(reading, in_flight, self._limit)
            if now - self._changed_at >= self._pause_s:
                self._step(now)
        self._observed = self._limit

    def _came_late(self) -> None:
        """A deadline ended a work at the engine: there may be too many at once."""
        if not self._since:
            return
        _, _, in_flight, tokens_per_s = self._means
        full = in_flight >= self._limit / 2 and self._lateness.calls_for_fewer(tokens_per_s)
        if full and self._cut(1 - self._lateness.share / 2, least=self._sustained.lately(self._clock())):
            self._lateness.read(tokens_per_s, busy=True)

    def _cut(self, part: float, least: float = 0.0) -> bool:
        """Leaves this part of the limit, but `least`, at most once a service time; whether it did."""
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
        """Pressure, that of memory, works in flight and tokens a second of the readings since the last change; there
        must be one.
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
                limit = min(limit, self._gain.undone(now + _HOLD * self._pause_s))
                self._sustained.at_most(limit)
            # an engine that stands still has nothing waiting in it either
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
        """Notes where there began to be enough; what it is trimmed to from there says nothing."""
        if not self._pressed:
            self._enough = self._limit
        self._pressed = True

    def _most(self, now: float) -> float:
        """As many as may be at clock time `now`."""
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
"""Part of the works that failed, averaged over about 20, from which failures are taken as damage."""
_FAR = 0.7
"""Part of where there was enough, below which growth is fast."""
_SAFE = 0.75
"""Part of the works under which a server died that it is given again."""
_RISE_A_MINUTE = 1.02
"""Of what it is given at most after that: doubled in 35 minutes."""
_HOLD = 30
"""Steps without growth after growth brought nothing."""
