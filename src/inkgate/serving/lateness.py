"""Decides whether lower concurrency would let more work meet its deadlines."""

from __future__ import annotations

_MANY = 0.2
"""Tolerated share of timed-out work, averaged over about 20."""
_FULL = 0.8
"""Share of the usual throughput from which on an engine counts as saturated."""
_RISES, _FALLS = 1 / 2, 1 / 8
"""Smoothing factors of the usual throughput for a higher and a lower reading."""
_FORGETS = 0.002
"""Smoothing factor of a lower reading under low load or after the limit was lowered."""


class LateWork:
    """The share of work that timed out at the engine, and whether concurrency is the cause.

    A saturated engine divides its time among all concurrent work: with half as many, each finishes in half the time at
    the same throughput. An engine that is not saturated runs each as fast as it can: work is late there because it is
    large or its deadline is short. An engine counts as saturated while its throughput is as high as usual.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self._usual = 0.0

    def ended(self, *, late: bool) -> None:
        """Counts a work that ended, by its deadline or otherwise."""
        self.share += (late - self.share) / 20

    def read(self, tokens_per_s: float, *, busy: bool) -> None:
        """Takes the engine's throughput since the last change; `busy`: at least half of the limit was in use."""
        falls = _FALLS if busy and self.is_low else _FORGETS
        self._usual += (tokens_per_s - self._usual) * (_RISES if tokens_per_s > self._usual else falls)

    @property
    def is_low(self) -> bool:
        """Whether hardly any work is late."""
        return self.share < _MANY / 2

    def calls_for_fewer(self, tokens_per_s: float) -> bool:
        """Whether much work is late and the engine is saturated at this throughput."""
        return self.share > _MANY and self._full(tokens_per_s)

    def allows_more(self, tokens_per_s: float) -> bool:
        """Whether hardly any work is late, or is late for other reasons."""
        return self.is_low or not self._full(tokens_per_s)

    def _full(self, tokens_per_s: float) -> bool:
        return tokens_per_s > 0 and tokens_per_s >= _FULL * self._usual
