"""Concurrency limits of an engine: fixed, or by missed deadlines (AIMD). `model_servers` has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from inkgate.serving.outcomes import WorkOutcome


class Limit(Protocol):
    """The maximum number of requests at the engine at once. Used from one event loop."""

    @property
    def value(self) -> int: ...

    @property
    def most(self) -> int:
        """Upper bound of `value`."""
        ...

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Adapts to how a work ended, at clock time `at` in seconds."""
        ...


class FixedLimit:
    """A constant limit: value = n."""

    def __init__(self, n: int) -> None:
        self._n = n

    @property
    def value(self) -> int:
        return self._n

    @property
    def most(self) -> int:
        return self._n

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        """Does nothing."""


class AimdLimit:
    """Additive increase, multiplicative decrease (Chiu and Jain, 1989), work by work; from 2 to `most`. For shared
    processors.

        missed its deadline, processors busy:  L <- L - 1/2
        any other end:                         L <- L + 1/20

    On busy processors, n concurrent requests each take n times as long. If the machine is slow or n is too high, all of
    them can miss their deadlines and nothing succeeds; half as many finish in half the time at the same throughput.
    If the processors are idle, a page is late because it is large or its deadline is short; a lower limit would not
    help.
    """

    def __init__(self, most: int, busy: Callable[[], float]) -> None:
        """`busy`: returns the current processor utilization, 0 to 1."""
        self._most = most
        self._busy = busy
        self._limit = float(most)
        self._min = float(min(_MIN_SLOTS, most))

    @property
    def value(self) -> int:
        return int(self._limit)

    @property
    def most(self) -> int:
        return self._most

    def ended(self, outcome: WorkOutcome, at: float) -> None:  # noqa: ARG002 - requests are its clock
        """Learns how a request ended. Failed and cancelled work is ignored."""
        if outcome is WorkOutcome.LATE and self._busy() >= _BUSY:
            self._limit = max(self._min, self._limit - _FEWER)
        elif outcome in {WorkOutcome.OK, WorkOutcome.LATE}:
            self._limit = min(float(self._most), self._limit + _MORE)


_FEWER, _MORE = 1 / 2, 1 / 20
"""Slots removed for each late work, and added for each other: if all of n are late, half of the slots remain."""
_MIN_SLOTS = 2
"""One page does not use all processors: some of its steps run on one processor only."""
_BUSY = 0.8
"""Processor utilization from which on the processors count as busy."""
