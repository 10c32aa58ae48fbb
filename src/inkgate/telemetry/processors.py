"""Utilization of the cores that this process may use, by all programs and other guests."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

CGROUP = Path("/sys/fs/cgroup")
PRESSURE = Path("/proc/pressure/cpu")
_NOT_USED = frozenset({"idle", "iowait", "guest", "guest_nice"})
"""CPU times that don't count as used: idle ones, and guests', which `user` and `nice` include."""
_TIMES = partial(psutil.cpu_times, percpu=True)
_USABLE = partial(os.sched_getaffinity, 0)


def used_s(times: Any) -> float:  # noqa: ANN401 - psutil names a class for each system
    """Seconds in which a core wasn't idle, from psutil's times; stolen time counts."""
    seconds = times._asdict()
    return float(sum(seconds[name] for name in seconds.keys() - _NOT_USED))


def quota(cgroup: Path = CGROUP) -> float | None:
    """The container's CPU quota in cores; None without one (cgroup v2, `cpu.max`)."""
    try:
        most, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        return int(most) / int(period)
    except (OSError, ValueError):  # there is no quota ("max"), or no such file
        return None


def spent_s(
    times: Callable[[], Sequence[Any]] = _TIMES, usable: Callable[[], Collection[int]] = _USABLE
) -> tuple[float, float]:
    """Used and unused seconds of our cores since the machine started, by all programs. Blocking, as `Processors.look`.
    Raises OSError.
    """
    each = times()
    numbers = [number for number in usable() if number < len(each)]
    ours = [each[number] for number in numbers] or list(each)
    return sum(map(used_s, ours)), sum(seconds.idle + getattr(seconds, "iowait", 0.0) for seconds in ours)


def stalled_s(path: Path = PRESSURE) -> float | None:
    """Seconds since the machine started in which something waited for a core; None if the kernel doesn't report it
    (pressure stall information).
    """
    try:
        some = path.read_text(encoding="ascii").splitlines()[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError, IndexError):
        return None


class Processors:
    """The cores that this process may use.

    Attributes:
        busy: the share of their time that all programs used between the last two looks, 0 to 1; in a container with a
            quota, the used share of the quota if that is higher. 0 until known.
    """

    def __init__(
        self,
        times: Callable[[], Sequence[Any]] = _TIMES,
        usable: Callable[[], Collection[int]] = _USABLE,
        cgroup: Path = CGROUP,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """`times`: of each core; `usable`: the numbers of our cores; `clock`: in seconds."""
        self.busy = 0.0
        self._times = times
        self._usable = usable
        self._cgroup = cgroup
        self._clock = clock
        self._before = self._cpu_times()

    def look(self) -> None:
        """Updates `busy` since the last look. Blocking: reads up to three small files, which takes a millisecond, or a
        few with hundreds of cores. `busy` stays if they can't be read.
        """
        try:
            before, self._before = self._before, self._cpu_times()
        except OSError:  # no more files may be opened
            return
        at, used, unused, ours = (now - then for now, then in zip(self._before, before, strict=True))
        machine = used / (used + unused) if used + unused > 0 else 0.0
        paid = quota(self._cgroup)
        container = ours / (paid * at) if paid and at > 0 else 0.0
        self.busy = min(1.0, max(machine, container))

    def _cpu_times(self) -> tuple[float, float, float, float]:
        """The time, and CPU seconds so far: used and unused of our cores, and used by the container."""
        used, unused = spent_s(self._times, self._usable)
        return self._clock(), used, unused, self._container_s()

    def _container_s(self) -> float:
        try:
            lines = (self._cgroup / "cpu.stat").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0.0
        spent = next((line.split()[1] for line in lines if line.startswith("usage_usec ")), "0")
        return int(spent) / 1e6
