"""Processor time that other programs take while a trial runs: the settings are not to blame for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import psutil

from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.processors import used_s


@dataclass(frozen=True, slots=True)
class _ProcessorTime:
    """Seconds of processor time since the start: of the machine, and of each of our processes."""

    at: float
    machine_s: float
    ours: dict[tuple[int, float], float] = field(default_factory=dict)


class OtherLoad:
    """Counts from its creation on. This process and all below it, such as the service of a trial, are not others."""

    def __init__(
        self, times: Callable[[], Any] = psutil.cpu_times, usable: Callable[[], Sequence[int]] = usable_cpus
    ) -> None:
        """`times`: of the machine's processors, as psutil has them; `usable`: those that this process may use."""
        self._times = times
        self._before = _processor_time(times) if len(usable()) == os.cpu_count() else None

    def cores(self) -> float | None:
        """Processor cores that others took since then, on average; other guests of a hypervisor too, if it tells.

        None if we may use only a part of the machine: load on the rest of it disturbs nobody. The time of our processes
        that have ended since is unknown and counts as other load. Blocking, some milliseconds.
        """
        if self._before is None:
            return None
        before, now = self._before, _processor_time(self._times)
        ours = sum(seconds - before.ours.get(process, 0.0) for process, seconds in now.ours.items())
        return max(0.0, now.machine_s - before.machine_s - ours) / max(now.at - before.at, 1e-9)


def _processor_time(times: Callable[[], Any]) -> _ProcessorTime:
    used = _ProcessorTime(perf_counter(), used_s(times()))
    root = psutil.Process(os.getpid())
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():  # it has ended
            spent = process.cpu_times()
            used.ours[process.pid, process.create_time()] = spent.user + spent.system
    return used
