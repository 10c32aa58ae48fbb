"""Whether a hypervisor took the processors away from a test, so that its failure says little about the code."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import psutil

_LEAST_S = 0.1
_LEAST_SHARE = 0.01


class StolenTime:
    """Processor time that a hypervisor gave to its other guests, since `begin`."""

    def __init__(self, times: Callable[[], Any] = psutil.cpu_times, clock: Callable[[], float] = perf_counter) -> None:
        """`times`: of the machine's processors, as psutil has them; `clock`: in seconds."""
        self._times = times
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._since = (self._clock(), self._total_s())

    def is_significant(self) -> bool:
        """Whether enough was taken to fail a test that holds to times. False on a machine that reports no such time."""
        began, before = self._since
        taken = self._total_s() - before
        return taken >= _LEAST_S and taken >= _LEAST_SHARE * (self._clock() - began)

    def _total_s(self) -> float:
        return float(getattr(self._times(), "steal", 0.0))
