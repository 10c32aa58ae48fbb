"""Detects whether a hypervisor took processor time from a test: its failure then says little about the code."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import psutil

_MIN_S = 0.1
_MIN_SHARE = 0.01


class StolenTime:
    """Processor time that a hypervisor gave to other guests since `begin`."""

    def __init__(self, times: Callable[[], Any] = psutil.cpu_times, clock: Callable[[], float] = perf_counter) -> None:
        """`times`: psutil's times of the machine's processors; `clock`: in seconds."""
        self._times = times
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._since = (self._clock(), self._total_s())

    def is_significant(self) -> bool:
        """Whether enough was taken to fail a test that depends on time. False on a machine that does not report it."""
        began, before = self._since
        taken = self._total_s() - before
        return taken >= _MIN_S and taken >= _MIN_SHARE * (self._clock() - began)

    def _total_s(self) -> float:
        return float(getattr(self._times(), "steal", 0.0))
