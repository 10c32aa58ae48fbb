"""Admission that bounds concurrent documents, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.order import Work
from inkgate.settings import AdmissionSettings


class EmptyBacklog:
    """A queue in front of the engine in which nothing waits."""

    waiting = 0
    backlog_tokens = 0

    def __init__(self, retry_after_s: float = 2.0) -> None:
        self._retry_after_s = retry_after_s

    def check(self, work: Work) -> None:
        """Returns."""

    def retry_after_s(self) -> float:
        return self._retry_after_s

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        """Does nothing: it does not change."""


class FixedLimiter(AdmissionLimiter):
    """Admits up to a fixed number of concurrent documents. `waiting_mb`: memory for requests that wait."""

    def __init__(self, max_in_flight: int, retry_after_s: float = 2.0, waiting_mb: float = 320.0) -> None:
        settings = AdmissionSettings(max_bytes_mb=1e8, reserve=0.0, waiting_mb=waiting_mb)
        super().__init__(max_in_flight, settings, EmptyBacklog(retry_after_s))

    @property
    def in_flight(self) -> int:
        return self.documents
