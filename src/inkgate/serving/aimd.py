"""How many works share processors: as many as set, and fewer while they are slow together."""

from __future__ import annotations

from collections.abc import Callable

from inkgate.serving.limiter import WorkOutcome

_FEWER = 1 / 2
"""Places lost for each work that comes too late: a full house of them leaves half of the places."""
_MORE = 1 / 20
"""Places regained for each other one."""
_LEAST = 2
"""One page alone doesn't fill processors: it is cut up and put together on one while nothing is read on the others."""
_FULL = 0.8
"""Part of the processors' time from which on they are busy with what is there."""


class AimdLimit:
    """Additive increase, multiplicative decrease (Chiu and Jain, 1989), work by work; from 2 to `most`.

        ended by its deadline, at full processors:  L <- L - 1/2
        ended otherwise, well or late:              L <- L + 1/20

    Works that share full processors take as many times longer as there are. Where the machine is slow (others use it,
    or a hypervisor does), or there are too many, all may be just too late, again and again, and nothing be read at
    all; half as many are done in half the time, and as many in all. At processors that aren't full it is not their
    number that makes them late, but their length, or a short deadline.
    """

    def __init__(self, most: int, busy: Callable[[], float]) -> None:
        """`busy`: part of the processors' time that is used by now, 0 to 1."""
        self._most = most
        self._busy = busy
        self._limit = float(most)
        self._least = float(min(_LEAST, most))

    @property
    def value(self) -> int:
        return int(self._limit)

    @property
    def most(self) -> int:
        return self._most

    def ended(self, outcome: WorkOutcome, at: float) -> None:  # noqa: ARG002 - works are its clock
        """See Limit. Failures, and works whose callers left, say nothing."""
        if outcome is WorkOutcome.LATE and self._busy() >= _FULL:
            self._limit = max(self._least, self._limit - _FEWER)
        elif outcome in {WorkOutcome.OK, WorkOutcome.LATE}:
            self._limit = min(float(self._most), self._limit + _MORE)
