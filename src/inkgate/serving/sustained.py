"""The concurrency that an engine is known to sustain."""

from __future__ import annotations

import math
from collections import deque

from inkgate.serving.pressure import Pressure

_FEWER = 15
"""After this many readings in a row in which the engine ran fewer than known, the known value is lowered."""
_REMEMBERED_S = 60.0
"""How long the value holds against timeouts, since as many works last ended well."""


class SustainedConcurrency:
    """The highest number of works that an engine ran at once while as many ended well. It is taken from the engine's
    count of running requests, so that it can't exceed the maximum batch size (vLLM: max-num-seqs).

    Attributes:
        works: that number; 0 while unknown.
    """

    def __init__(self, works: float = 0.0) -> None:
        """`works`: initial value."""
        self._configured = self.works = float(works)
        self._seen = 0.0
        self._well = 0
        self._running: deque[float] = deque(maxlen=_FEWER)
        self._confirmed_at = -math.inf

    def read(self, reading: Pressure, in_flight: int, limit: float) -> None:
        """Takes a reading; `in_flight`: works at the engine then.

        If requests wait in an engine with free memory, it runs as many as it can. If that is fewer than known, it was
        restarted with a lower maximum, or has other clients now.
        """
        running = min(reading.running_of(in_flight), limit)
        if reading.waiting and in_flight >= self.works and reading.memory < 1:
            self._running.append(running)
            if len(self._running) == _FEWER:
                self.works = min(self.works, max(self._running))
        self._seen = max(self._seen, running)

    def ended_well(self, now: float) -> None:
        """Counts a work that ended well while hardly any are late."""
        self._well += 1
        if self._well < self._seen or not self._seen:
            return
        if self._seen >= self.works:
            self.works, self._confirmed_at = self._seen, now
        self.reset()

    def reset(self) -> None:
        """After damage: only works that end well from now on count."""
        self._seen, self._well = 0.0, 0

    def at_most(self, works: float) -> None:
        """Lowers the value: more than `works` brought no throughput, or crashed the engine."""
        self.works = min(self.works, works)
        self.reset()

    def recent(self, now: float) -> float:
        """`works` if as many ended well recently, else at most the initial value: if all have timed out since then,
        fewer may finish in time.
        """
        return self.works if now - self._confirmed_at <= _REMEMBERED_S else min(self.works, self._configured)
