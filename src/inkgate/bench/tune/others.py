"""What other programs took of the machine's processors while a trial ran: they are not the settings' fault."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import psutil

from inkgate.bench.tune.results import Trial
from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.processors import used_s


@dataclass(frozen=True, slots=True)
class _Used:
    """Seconds of processor time since the start: the machine's, and by process ours."""

    at: float
    machine_s: float
    ours: dict[tuple[int, float], float] = field(default_factory=dict)


class Others:
    """From the moment it is made on. Ours are this process and all below it, the service of a trial among them."""

    def __init__(
        self, times: Callable[[], Any] = psutil.cpu_times, usable: Callable[[], Sequence[int]] = usable_cpus
    ) -> None:
        """`times`: of the machine's processors, as psutil has them; `usable`: those that this process may use."""
        self._times = times
        self._before = _used(times) if len(usable()) == os.cpu_count() else None

    def cores(self) -> float | None:
        """Processor cores that others took since, on the mean; a hypervisor's other guests too, where it tells.

        None where only a part of the machine is ours: what others do on the rest of it disturbs nobody. What one of
        ours took that has ended meanwhile is not known, and counts as theirs. Blocking, some milliseconds.
        """
        if self._before is None:
            return None
        before, now = self._before, _used(self._times)
        ours = sum(seconds - before.ours.get(process, 0.0) for process, seconds in now.ours.items())
        return max(0.0, now.machine_s - before.machine_s - ours) / max(now.at - before.at, 1e-9)


def usual_others(trials: Iterable[Trial]) -> float:
    """Cores that others always take: the least of all trials."""
    return min((trial.others_cores for trial in trials if trial.others_cores is not None), default=0.0)


def disturbance(trial: Trial, usual: float, cores: int) -> float:
    """The share of the machine's `cores` that others took more than `usual`, 0 to 1: so much the trial may have lost.

    Work of others that is always there slows all settings alike, and disturbs no comparison.
    """
    return 0.0 if trial.others_cores is None else min(1.0, max(0.0, trial.others_cores - usual) / max(cores, 1))


def _used(times: Callable[[], Any]) -> _Used:
    used = _Used(perf_counter(), used_s(times()))
    root = psutil.Process(os.getpid())
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():  # it has ended meanwhile
            spent = process.cpu_times()
            used.ours[process.pid, process.create_time()] = spent.user + spent.system
    return used
