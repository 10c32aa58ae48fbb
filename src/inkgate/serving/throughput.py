"""How fast what waits will get its turn."""

from __future__ import annotations

import math
from typing import Protocol

from inkgate.serving.limiter import WorkOutcome

_KEPT = 0.95
"""Of the past, at each work that counts: the mean is over about the last twenty."""
_SURE = 2.0
"""Standard deviations over the mean under which nearly all stay: 95 % of log-normal times, 98 % of normal ones."""
_LONGEST_KEPT = 0.99
"""Of the longest stay, at each work that counts, so that it is one of about the last hundred."""
_HALF = 0.5


class ThroughputRate(Protocol):
    """Tokens finished a second, of the time that any work was under way; None before any was finished."""

    @property
    def per_s(self) -> float | None: ...

    def started(self) -> None: ...

    def finished(self, tokens: int) -> None: ...


class Throughput:
    """Tokens a second that a full engine gets done, in the unit in which work is charged.

        per_s = max(rate, N / R)    R = max(mean residence by tokens, time since the last work ended well)

    The rate alone was perhaps measured on an engine that was nearly idle, and would have a first burst refused that a
    full batch serves easily. Hence Little's law for what is there now: N tokens, each of which stays R seconds, leave
    at N / R. An engine that hangs makes both fall. Charged tokens are counted, not used ones, since charged ones wait:
    an estimate that is three times too high cancels out. `now` is always clock time in seconds.

    A work that its deadline ended would have stayed for longer than it did. Where that is longer than usual it counts
    as if it had ended then: or an engine on which all is just too late would never be known to be slow, and what waits
    for it would be begun too late, too, for ever.
    """

    def __init__(self, rate: ThroughputRate) -> None:
        self._rate = rate
        self._under_way = 0
        self._works = 0
        self._tokens = 0.0
        self._token_s = 0.0
        self._seconds = 0.0
        self._squares = 0.0
        self._longest_s = 0.0
        self._progress_at = 0.0

    def per_s(self, now: float) -> float | None:
        """None, or over 0; None before anything is known."""
        measured = self._rate.per_s or 0.0
        now_there = self._under_way / self._residence_s(now) if self._tokens else 0.0
        return max(measured, now_there) or None

    def residence_s(self, tokens: int) -> float:
        """How long a work of so many tokens stays at the engine, if it isn't one of the few that take longest.

            min(tokens * (mean + 2 * standard deviation of seconds a token), longest of late)

        Tokens may be charged for the worst case, and nobody is refused for that alone. 0 before any is known.
        """
        if not self._tokens:
            return 0.0
        mean = self._seconds / self._tokens
        spread = math.sqrt(max(0.0, self._squares / self._tokens - mean**2))
        return min(tokens * (mean + _SURE * spread), self._longest_s)

    def started(self, tokens: int, now: float) -> None:
        """A work goes to the engine."""
        if not self._works:
            self._progress_at = now
        self._works += 1
        self._under_way += tokens
        self._rate.started()

    def is_usual(self, tokens: int, seconds: float) -> bool:
        """Whether a work of so many tokens that was at the engine for so long had half of the mean time, or more.

        True of all while nothing is known.
        """
        return self._had(_HALF, tokens, seconds)

    def ended(self, tokens: int, began: float, now: float, outcome: WorkOutcome) -> None:
        """A work that `began` then has left the engine."""
        self._works -= 1
        self._under_way -= tokens
        well = outcome is WorkOutcome.OK
        if well:
            self._progress_at = now
        if well or (outcome is WorkOutcome.LATE and self._had(1.0, tokens, now - began)):
            self._stayed(tokens, now - began)
        self._rate.finished(tokens if well else 0)

    def _had(self, part: float, tokens: int, seconds: float) -> bool:
        """Whether `seconds` are at least this part of the mean time of so many tokens."""
        return seconds * self._tokens >= part * tokens * self._seconds

    def _stayed(self, tokens: int, seconds: float) -> None:
        self._tokens = _KEPT * self._tokens + tokens
        self._token_s = _KEPT * self._token_s + tokens * seconds
        self._seconds = _KEPT * self._seconds + seconds
        self._squares = _KEPT * self._squares + seconds**2 / max(1, tokens)
        self._longest_s = max(_LONGEST_KEPT * self._longest_s, seconds)

    def _residence_s(self, now: float) -> float:
        stuck_s = now - self._progress_at if self._works else 0.0
        return max(self._token_s / self._tokens, stuck_s, 1e-6)
