"""Rates of recent events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

SPAN_S = 10


class Rates:
    """Events per second over the last `SPAN_S` whole seconds, by name. Counting is O(1)."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, dict[int, int]] = {}

    @property
    def seconds_kept(self) -> int:
        """Seconds with counts, of all names together."""
        return sum(len(counts) for counts in self._counts.values())

    def add(self, name: str, count: int = 1) -> None:
        """Counts events now; 0 only creates the name."""
        second = int(self._clock())
        counts = self._counts.setdefault(name, {})
        counts[second] = counts.get(second, 0) + count
        if len(counts) > 2 * SPAN_S:
            self._counts[name] = {at: n for at, n in counts.items() if at >= second - SPAN_S}

    def per_s(self) -> Mapping[str, float]:
        """The current rate of each name."""
        second = int(self._clock())
        return {
            name: sum(count for at, count in counts.items() if second - SPAN_S <= at < second) / SPAN_S
            for name, counts in self._counts.items()
        }
