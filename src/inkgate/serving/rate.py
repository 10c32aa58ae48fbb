"""Throughput in tokens a second and mean time of a work, both over busy time."""

from __future__ import annotations

import math
from collections.abc import Callable

from inkgate.concurrency import loop_time


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
            kept = 0.5 ** (passed / self._half_life_s)
            self._tokens *= kept
            self._busy_s = self._busy_s * kept + (1 - kept) * self._half_life_s / math.log(2)


class ServiceTime:
    """Decaying mean time of a work at the engine, by Little's law: concurrent works * time / finished works.

    Idle time does not count. Rejected and cancelled works are no samples.
    """

    _HALF_LIFE_S = 60.0

    def __init__(self, assumed_s: float = 5.0) -> None:
        """`assumed_s`: the mean before any work has ended."""
        self._mean_s = assumed_s
        self._work_s = 0.0
        self._ends = 0.0
        self._ended_since = 0

    def ended(self) -> None:
        """Counts a work that ended."""
        self._ended_since += 1

    def passed(self, in_flight: float, span_s: float) -> None:
        """Adds `span_s` seconds with `in_flight` works at the engine."""
        kept = 0.5 ** (span_s / self._HALF_LIFE_S)
        self._work_s = self._work_s * kept + in_flight * span_s
        self._ends = self._ends * kept + self._ended_since
        self._ended_since = 0
        if self._ends >= 1 and self._work_s:
            self._mean_s = self._work_s / self._ends

    @property
    def mean_s(self) -> float:
        return self._mean_s
