"""What a load test has shown so far, for those who watch it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from inkgate.bench.load.bench import Progress
from inkgate.bench.load.readings import Reading
from inkgate.bench.load.results import SIZES_AN_OCTAVE, Second, ServerSide, Summary

RECENT_S = 10
"""Seconds that percentiles are of: of one alone they would jump about."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over."""

    level: float
    summary: Summary
    server: ServerSide | None


@dataclass(slots=True)
class Seen:
    """A Watcher that keeps what it is told. `kinds`: of errors, of the run that goes on."""

    progress: Progress | None = None
    last: Second | None = None
    reading: Reading | None = None
    recent: deque[Second] = field(default_factory=lambda: deque(maxlen=RECENT_S))
    kinds: Counter[str] = field(default_factory=Counter)
    runs: list[Ended] = field(default_factory=list)

    def begins(self, progress: Progress) -> None:
        self.progress = progress
        self.last = None
        self.recent.clear()
        self.kinds.clear()

    def second(self, second: Second, reading: Reading | None) -> None:
        self.last = second
        self.reading = reading
        self.recent.append(second)
        self.kinds.update(second.kinds)

    def ended(self, level: float, summary: Summary, server: ServerSide | None) -> None:
        self.runs.append(Ended(level, summary, server))

    def percentiles(self, *shares: float) -> tuple[float | None, ...]:
        """Latencies of the recent answers in seconds, to 2 %; None where there was no answer."""
        return percentiles([second.sizes for second in self.recent], shares)


def percentiles(sizes: Sequence[Sequence[tuple[int, int]]], shares: Sequence[float]) -> tuple[float | None, ...]:
    """Of latencies by size, as `Second.sizes` has them: in the middle of their class."""
    together: Counter[int] = Counter()
    for each in sizes:
        for size, many in each:
            together[size] += many
    whole = sum(together.values())
    return tuple(_percentile(together, whole, share) for share in shares)


def _percentile(together: Counter[int], whole: int, share: float) -> float | None:
    below = 0
    for size in sorted(together):
        below += together[size]
        if below >= share * whole:
            return float(2 ** ((size + 0.5) / SIZES_AN_OCTAVE) / 1000)
    return None
