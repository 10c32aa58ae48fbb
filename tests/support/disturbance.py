"""Whether the machine was taken from a test while it ran: that it failed then says little about the code."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import psutil

_LEAST_S = 0.1
_LEAST_SHARE = 0.01


class Stolen:
    """Processor time that a hypervisor gave to its other guests, from `begin` on."""

    def __init__(self, times: Callable[[], Any] = psutil.cpu_times, clock: Callable[[], float] = perf_counter) -> None:
        """`times`: of the machine's processors, as psutil has them; `clock`: in seconds."""
        self._times = times
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._since = (self._clock(), self._total_s())

    def disturbs(self) -> bool:
        """Whether a check that holds to times may have failed for it: much was taken, or this machine never tells."""
        began, before = self._since
        total = self._total_s()
        taken = total - before
        return total == 0 or (taken >= _LEAST_S and taken >= _LEAST_SHARE * (self._clock() - began))

    def _total_s(self) -> float:
        return float(getattr(self._times(), "steal", 0.0))
