"""How many works an engine is known to run at once, and well."""

from __future__ import annotations

import math
from collections import deque

from inkgate.serving.pressure import Pressure

_FEWER = 15
"""Readings in a row in which the engine runs fewer than it is given, and known to, before that is what it runs."""
_REMEMBERED_S = 60.0
"""How long it holds against deadlines that end many works, after as many as it says have last ended well."""


class SustainedConcurrency:
    """The most works that an engine was seen running at once while as many ended well. It is learned from the
    engine's own count of what runs, so that no more than its largest batch (vLLM: max-num-seqs) is taken for it.

    Attributes:
        works: that many; 0 while nothing is known.
    """

    def __init__(self, works: float = 0.0) -> None:
        """`works`: what is known before anything was seen."""
        self._told = self.works = float(works)
        self._seen = 0.0
        self._well = 0
        self._all: deque[float] = deque(maxlen=_FEWER)
        self._confirmed_at = -math.inf

    def read(self, reading: Pressure, in_flight: int, limit: float) -> None:
        """Learns from a reading; `in_flight` works were at the engine then.

        Where others wait in an engine that has memory left, what runs is all that it runs: if that is fewer than known,
        the engine was started with fewer, or has other clients now.
        """
        running = min(reading.running_of(in_flight), limit)
        if reading.waiting and in_flight >= self.works and reading.memory < 1:
            self._all.append(running)
            if len(self._all) == _FEWER:
                self.works = min(self.works, max(self._all))
        self._seen = max(self._seen, running)

    def ended_well(self, now: float) -> None:
        """A work ended well, while hardly any are late."""
        self._well += 1
        if self._well < self._seen or not self._seen:
            return
        if self._seen >= self.works:
            self.works, self._confirmed_at = self._seen, now
        self.doubted()

    def doubted(self) -> None:
        """Something was lost: what is seen from now on has to end well before it counts."""
        self._seen, self._well = 0.0, 0

    def at_most(self, works: float) -> None:
        """More than `works` brought nothing, or killed the engine."""
        self.works = min(self.works, works)
        self.doubted()

    def lately(self, now: float) -> float:
        """`works` if they ended well a short time ago: where deadlines end all since then, fewer may be in time. What
        was told at the start holds all the same.
        """
        return self.works if now - self._confirmed_at <= _REMEMBERED_S else min(self.works, self._told)
