"""A Limiter that bounds concurrent works, whoever asks."""

from __future__ import annotations

from collections import Counter

from inkgate.errors import Overloaded
from inkgate.serving.limiter import ANYBODY, Arrival, Permit, WorkOutcome


class FixedLimiter:
    """Admits up to a fixed number of concurrent works."""

    def __init__(self, max_in_flight: int, retry_after_s: float = 2.0) -> None:
        self.in_flight = 0
        self.ended: Counter[WorkOutcome] = Counter()
        self._max_in_flight = max_in_flight
        self._retry_after_s = retry_after_s

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        if self.in_flight >= self._max_in_flight:
            raise Overloaded(
                "service_full", f"The service is full: {self.in_flight} documents are in flight.", self._retry_after_s
            )
        self.in_flight += 1
        return Permit(self._leave)

    def _leave(self, outcome: WorkOutcome) -> None:
        self.in_flight -= 1
        self.ended[outcome] += 1
