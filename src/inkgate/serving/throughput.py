"""Estimates throughput and residence time of work at the engine."""

from __future__ import annotations

import math
from collections.abc import Callable

from inkgate.serving.outcomes import WorkOutcome
from inkgate_client.concurrency import loop_time

_DECAY = 0.95
"""Weight of the past at each new sample: the mean is over about the last twenty."""
_SURE = 2.0
"""Standard deviations above the mean that cover 95 % of log-normal times and 98 % of normal ones."""
_LONGEST_DECAY = 0.99
"""Decay of the longest residence at each new sample, so that it is one of about the last hundred."""
_HALF = 0.5


class TokenRate:
    """Tokens finished a second of busy time, decaying with half-life `half_life_s` of busy time.

        per_s = sum(tokens * 2^(-age / half_life)) / integral over busy time of 2^(-age / half_life)

    Age counts busy time only: a night without work changes nothing. Stuck work lowers the rate, since time passes
    without tokens. Used from one event loop.
    """

    def __init__(self, clock: Callable[[], float] = loop_time, half_life_s: float = 30.0) -> None:
        self._clock = clock
        self._half_life_s = half_life_s
        self._tokens = 0.0
        self._busy_s = 0.0
        self._at = 0.0
        self._under_way = 0

    def started(self) -> None:
        """Counts a work that goes to the engine. The engine is busy while it has any."""
        self._age()
        self._under_way += 1

    def finished(self, tokens: int) -> None:
        """Counts the end of a started work that took `tokens`; 0 if it failed."""
        self._age()
        self._under_way = max(0, self._under_way - 1)
        self._tokens += tokens

    @property
    def per_s(self) -> float | None:
        """Tokens a second; None before any are finished."""
        self._age()
        return self._tokens / self._busy_s if self._tokens and self._busy_s else None

    def _age(self) -> None:
        now = self._clock()
        passed, self._at = now - self._at, now
        if self._under_way and passed > 0:
            decay = 0.5 ** (passed / self._half_life_s)
            self._tokens *= decay
            self._busy_s = self._busy_s * decay + (1 - decay) * self._half_life_s / math.log(2)


class Throughput:
    """Tokens a second of a saturated engine, in the unit in which work is charged.

        per_s = max(rate, N / R)    R = max(mean residence by tokens, time since the last work ended well)

    The rate alone may come from a nearly idle engine, and would refuse a first burst that a full batch serves easily.
    Hence Little's law for the current work: N tokens that stay R seconds each leave at N / R. If the engine hangs, both
    fall. Tokens are counted as charged, like those in the queue, so that an estimate that is three times too high
    cancels out. `now` is clock time in seconds.

    Timed-out work counts as a sample of at least its timeout if that is longer than the mean. Otherwise an engine on
    which all work is just too late would never be known to be slow, and waiting work would keep starting too late.
    """

    def __init__(self, rate: TokenRate) -> None:
        self._rate = rate
        self._under_way = 0
        self._requests = 0
        self._tokens = 0.0
        self._token_s = 0.0
        self._seconds = 0.0
        self._squares = 0.0
        self._longest_s = 0.0
        self._progress_at = 0.0

    def per_s(self, now: float) -> float | None:
        """Above 0; None while unknown."""
        measured = self._rate.per_s or 0.0
        now_there = self._under_way / self._residence_s(now) if self._tokens else 0.0
        return max(measured, now_there) or None

    def residence_s(self, tokens: int) -> float:
        """Upper estimate of the time at the engine of a work with this many tokens; 0 while unknown.

            min(tokens * (mean + 2 * standard deviation of seconds a token), longest of about the last hundred)

        Tokens may be charged for the worst case, and no work is refused for that alone.
        """
        if not self._tokens:
            return 0.0
        mean = self._seconds / self._tokens
        spread = math.sqrt(max(0.0, self._squares / self._tokens - mean**2))
        return min(tokens * (mean + _SURE * spread), self._longest_s)

    def mean_s(self, tokens: int) -> float:
        """Mean time at the engine of a work with this many tokens; 0 while unknown."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0

    def started(self, tokens: int, now: float) -> None:
        """Counts a work that goes to the engine."""
        if not self._requests:
            self._progress_at = now
        self._requests += 1
        self._under_way += tokens
        self._rate.started()

    def is_usual(self, tokens: int, seconds: float) -> bool:
        """Whether `seconds` are at least half of the mean time of a work with this many tokens. True while unknown."""
        return self._is_at_least(_HALF, tokens, seconds)

    def ended(self, tokens: int, began: float, now: float, outcome: WorkOutcome) -> None:
        """Counts a work that left the engine; `began`: clock time of its start."""
        self._requests -= 1
        self._under_way -= tokens
        well = outcome is WorkOutcome.OK
        if well:
            self._progress_at = now
        if well or (outcome is WorkOutcome.LATE and self._is_at_least(1.0, tokens, now - began)):
            self._learn(tokens, now - began)
        self._rate.finished(tokens if well else 0)

    def _is_at_least(self, part: float, tokens: int, seconds: float) -> bool:
        """Whether `seconds` are at least this part of the mean time of that many tokens."""
        return seconds * self._tokens >= part * tokens * self._seconds

    def _learn(self, tokens: int, seconds: float) -> None:
        self._tokens = _DECAY * self._tokens + tokens
        self._token_s = _DECAY * self._token_s + tokens * seconds
        self._seconds = _DECAY * self._seconds + seconds
        self._squares = _DECAY * self._squares + seconds**2 / max(1, tokens)
        self._longest_s = max(_LONGEST_DECAY * self._longest_s, seconds)

    def _residence_s(self, now: float) -> float:
        stuck_s = now - self._progress_at if self._requests else 0.0
        return max(self._token_s / self._tokens, stuck_s, 1e-6)
