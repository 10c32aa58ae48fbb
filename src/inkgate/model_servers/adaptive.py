"""The adaptive concurrency limit of a model server."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

import anyio

from inkgate.model_servers.evidence import (
    GainSample,
    OutcomeShares,
    Pressure,
    ServiceTime,
    SustainedConcurrency,
    ThroughputGain,
    UsualThroughput,
)
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings


class LimitState(StrEnum):
    """Says what an AdaptiveLimit does; see its diagram."""

    SLOW_START = "slow_start"
    PROBING = "probing"
    HOLDING = "holding"
    SATURATED = "saturated"
    DOWN = "down"


class StepMeans(NamedTuple):
    """Means over the readings since the last change of the limit."""

    pressure: float
    memory: float
    in_flight: float
    tokens_per_s: float


class AdaptiveLimit:
    """Follows the capacity of a model server: grows while that brings throughput, falls under pressure and on damage.

        .--------------- growing ---------------.                       .---------.
        |              -- L >= 0.7 T -->         |-- growth brought no ->|         |
        |  SLOW_START                   PROBING  |   tokens              | HOLDING |
        |              <-- L < 0.7 T --          |<------ 30 steps ------|         |
        '---------------------------------------'                       '---------'
              |   ^                                                           |
              |   | u < 1               u >= 1, damage or timeouts            |
              v   |                                                           |
            SATURATED <-------------------------------------------------------'
                ^
                | a reading or a response
              DOWN <---- from any state: the server died under load

    L is the limit; T is the slow-start threshold, L when the last saturation began (at first infinite); u is the mean
    pressure of the readings since the last change. A step is made each max(interval, half a service time):

        SLOW_START  L <- L + L/4, as in TCP's slow start (Jacobson, 1988): smaller steps would take minutes
        PROBING     L <- L + 0.2 sqrt(L)
        HOLDING     on entry T <- L, and L <- its value before the growth that brought no tokens; then L stays
        SATURATED   on entry T <- L; L <- 0.8 L + 0.2 L clamp(1/u, 0.5, 1)
        DOWN        on entry L <- L/2 and T <- 0.75 of the requests in the server; that is the maximum from then on, and
                    rises by 2 % a minute: memory for activations runs out without warning, and each attempt to find
                    its limit costs a server

    L does not grow while less than half of it is in use, or while requests time out at a saturated engine.

    Between steps, at most once a service time: on damage (a preemption, `damaged`, more than a tenth of requests
    failed) L <- 0.9 L; if more than a fifth of the requests, a share p, time out at a saturated engine,
    L <- (1 - p/2) L.

    Waits, slow tokens and timeouts don't lower L below the concurrency that the engine is known to sustain
    (SustainedConcurrency), and waits and slow tokens don't prevent growth up to there: on a shared machine they rise
    without overload. Only damage, a full KV cache and growth that brought no tokens lower it further.

    Readings that are stale, repeated or older than the last change are ignored: several can't add up to one large step.
    Without readings L is kept; it only recovers from cuts, up to its value at the last reading. The form of the steps
    is Gradient2's (Netflix, concurrency-limits), with pressure in place of latency, which follows the length of the
    output. Used from one event loop.

    Attributes:
        state: as of the last step, damage or answer.
    """

    def __init__(
        self, settings: AdaptiveSettings, clock: Callable[[], float] = anyio.current_time, seats: int = 0
    ) -> None:
        """`seats`: the engine's maximum batch size, such as vLLM's max-num-seqs; 0: unknown."""
        self.state = LimitState.SLOW_START
        self._settings = settings
        self._clock = clock
        self._limit = float(max(settings.least, min(settings.most, settings.initial)))
        self._threshold = math.inf
        self._limit_at_reading = self._limit
        self._ceiling: tuple[float, float] | None = None
        self._max_in_flight = 0
        self._window: list[StepMeans] = []
        self._service = ServiceTime()
        self._shares = OutcomeShares()
        self._usual = UsualThroughput()
        self._gain = ThroughputGain()
        self._sustained = SustainedConcurrency(min(seats, settings.initial))
        self._read_at = self._received_at = self._changed_at = self._cut_at = self._hold_until = -math.inf

    @property
    def value(self) -> int:
        return int(self._limit)

    @property
    def most(self) -> int:
        """The configured maximum. The lower ceiling after a crash of the server is not included."""
        return self._settings.most

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Learns how a request ended. Failures count as damage only above a tenth: some pages fail on any engine.

        Failures after a crash are ignored until the server is back: they say nothing about its capacity.
        """
        down = self.state is LimitState.DOWN
        if outcome in {WorkOutcome.REJECTED, WorkOutcome.LEFT} or (down and outcome is not WorkOutcome.OK):
            return
        self._answers()
        self._service.ended()
        self._shares.ended(outcome)
        if outcome is WorkOutcome.OK and self._few_late:
            self._sustained.ended_well(at)
        if outcome is WorkOutcome.LATE:
            self._timed_out()
        elif outcome is WorkOutcome.FAILED and self._shares.failed > _MANY_FAILED:
            self.damaged()
        else:
            self._recover(at)

    def damaged(self) -> None:
        """Lowers the limit after requests were lost to overload: a preemption, a 503, a timeout, or out of memory."""
        self._cut(_DAMAGE)
        self._sustained.reset()

    def lost(self, in_flight: int) -> None:
        """Lowers the limit after the server died with `in_flight` requests in it.

        Does nothing if these are less than half of the limit, or of what it has run before: then the load was not the
        cause, but content, or somebody stopped the server.
        """
        if in_flight < _USED * min(self._limit, max(self._settings.initial, self._max_in_flight)):
            return
        now, safe = self._clock(), _SAFE * in_flight
        self.state, self._threshold, self._ceiling = LimitState.DOWN, safe, (safe, now)
        self._cut_at, self._max_in_flight = now, 0
        self._sustained.at_most(safe)
        self._gain.forget()
        self._set(self._limit / 2, now)

    def observe(self, reading: Pressure, in_flight: int) -> None:
        """Adapts to a reading; `in_flight`: requests at the engine when the reading was requested."""
        now = self._clock()
        if now - reading.at > self._settings.stale_s or reading.at <= self._read_at:
            return
        self._answers()
        self._read_at, self._received_at = reading.at, now
        self._max_in_flight = max(self._max_in_flight, in_flight)
        self._service.passed(in_flight, reading.span_s)
        if reading.preemptions:
            self.damaged()
        if reading.at > self._changed_at:
            self._window.append(StepMeans(reading.u, reading.memory, in_flight, reading.tokens_per_s))
            self._sustained.observe(reading, in_flight, self._limit)
            if now - self._changed_at >= self._step_s:
                self._step(now)
        self._limit_at_reading = self._limit

    @property
    def _step_s(self) -> float:
        return max(self._settings.interval_s, self._service.mean_s / 2)

    @property
    def _few_late(self) -> bool:
        return self._shares.late < _MANY_LATE / 2

    def _means(self) -> StepMeans:
        """Returns the means since the last change. There must be a reading since then."""
        return StepMeans(*(fmean(each) for each in zip(*self._window, strict=True)))

    def _step(self, now: float) -> None:
        means, sustained = self._means(), self._sustained.requests
        used = means.in_flight >= _USED * self._limit
        self._usual.observe(means.tokens_per_s, loaded=used and self._few_late)
        pressure = means.memory if self._limit <= sustained else means.pressure
        if pressure >= 1:
            self._saturate()
            lowered = self._limit + _SMOOTHING * self._limit * (max(_MIN_GRADIENT, 1 / pressure) - 1)
            self._set(lowered if means.memory >= 1 else max(lowered, min(self._limit, sustained)), now)
            return
        if self.state is not LimitState.HOLDING or now >= self._hold_until:
            far = self._limit < _FAR * self._threshold
            self.state = LimitState.SLOW_START if far else LimitState.PROBING
        self._set(self._grown(means, now) if used else self._limit, now)

    def _grown(self, means: StepMeans, now: float) -> float:
        """The limit after a step without pressure."""
        self._gain.add(GainSample(self._limit, means.in_flight, means.tokens_per_s))
        before = self._gain.limit_before_useless_growth()
        if before is not None:
            self._gain.forget()
            self.state, self._threshold = LimitState.HOLDING, self._limit
            self._hold_until = now + _HOLD_STEPS * self._step_s
            lowered = min(self._limit, before)
            self._sustained.at_most(lowered)
            return lowered
        # a stalled engine has low pressure too, since nothing enters its queue
        stalled = means.tokens_per_s <= 0
        late = not self._few_late and self._usual.is_reached(means.tokens_per_s)
        if self.state is LimitState.HOLDING or stalled or late:
            return self._limit
        far = self.state is LimitState.SLOW_START
        return self._limit + (_FAST_GROWTH * self._limit if far else _SMOOTHING * math.sqrt(self._limit))

    def _timed_out(self) -> None:
        """A request timed out at the engine: the limit may be too high."""
        if not self._window or self._shares.late <= _MANY_LATE:
            return
        means = self._means()
        if means.in_flight < _USED * self._limit or not self._usual.is_reached(means.tokens_per_s):
            return
        if self._cut(1 - self._shares.late / 2, least=self._sustained.recent(self._clock())):
            self._usual.observe(means.tokens_per_s, loaded=False)

    def _cut(self, part: float, least: float = 0.0) -> bool:
        """Multiplies the limit by `part`, not below `least`, at most once a service time. Returns whether it did."""
        now = self._clock()
        if now - self._cut_at < max(self._settings.interval_s, self._service.mean_s) or self._limit <= least:
            return False
        self._cut_at = now
        self._saturate()
        self._set(max(least, part * self._limit), now)
        return True

    def _saturate(self) -> None:
        """Enters SATURATED. The threshold is where saturation began, not what the limit is lowered to afterwards."""
        self._gain.forget()
        if self.state not in {LimitState.SATURATED, LimitState.DOWN}:
            self.state, self._threshold = LimitState.SATURATED, self._limit

    def _answers(self) -> None:
        """The server answers: if it was down, it is back."""
        if self.state is LimitState.DOWN:
            self.state = LimitState.SATURATED

    def _recover(self, at: float) -> None:
        """Undoes cuts step by step while there are no readings."""
        silent_since = max(self._received_at + self._settings.stale_s, self._changed_at)
        if self._limit < self._limit_at_reading and at - silent_since >= self._step_s:
            self._set(min(self._limit_at_reading, self._limit + _SMOOTHING * math.sqrt(self._limit)), at)

    def _set(self, limit: float, now: float) -> None:
        most = float(self._settings.most)
        if self._ceiling is not None:
            ceiling, since = self._ceiling
            most = min(most, ceiling * math.pow(_RISE_A_MINUTE, (now - since) / 60))
        self._limit = max(float(self._settings.least), min(most, limit))
        self._changed_at = now
        self._window.clear()


# Figures of the simulator are means of 2 to 4 seeds on the card of benchmarks/simulate (2026-11-23).
_SMOOTHING = 0.2
"""Weight of the new value in a step (Gradient2)."""
_MIN_GRADIENT = 0.5
"""A step lowers the limit by at most a tenth, however high the pressure is (Gradient2)."""
_USED = 1 / 2
"""Share of the limit that must be in use; with less, the limit is not what decides (Gradient2)."""
_FAST_GROWTH = 1 / 4
"""TCP doubles, but here the next step comes before the requests that this one let in have ended. With 1 and with 1/10,
the simulator served 7 and 5 % fewer pages in the 50 s after a step in load from 1 to 11 pages a second."""
_FAR = 0.7
"""Share of the threshold below which growth is fast: the factor by which CUBIC lowers a window (RFC 9438). From 0.5
to 0.9, goodput in the simulator differed by 2 % at most."""
_HOLD_STEPS = 30
"""Steps without growth after growth that brought no tokens: each try raises the limit a little for nothing. From 10 to
100, goodput in the simulator differed by 2 % at most."""
_DAMAGE = 0.9
"""Factor of a cut (AIMDLimit in concurrency-limits)."""
_SAFE = 0.75
"""Maximum after a crash, as a share of the requests that were in the server. With 1/2 and with 0.9, the simulator
served 8 and 10 % fewer pages in time at twice the capacity; with 0.9, its server died half as often again."""
_RISE_A_MINUTE = 1.02
"""Growth of the ceiling after a crash: it doubles in 35 minutes. With 10 % a minute, the simulator's server died 5
times in 15 minutes instead of 3."""
_MANY_FAILED = 0.1
"""Share of failed requests from which on failures are damage: three failures in a row are enough."""
_MANY_LATE = 0.2
"""Share of requests that time out from which on the limit is lowered. It grows only below half of that."""
