"""How busy the processors are that we may use: with our own work, with others', or with another guest's."""

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
"""Of a processor's times: unused ones, and a guest's, which are in `user` and `nice` already."""
_TIMES = partial(psutil.cpu_times, percpu=True)
_USABLE = partial(os.sched_getaffinity, 0)


def used_s(times: Any) -> float:  # noqa: ANN401 - psutil names a class for each system
    """Of a processor's times, as psutil has them, the seconds in which it was not idle; what a hypervisor took, too."""
    seconds = times._asdict()
    return float(sum(seconds[name] for name in seconds.keys() - _NOT_USED))


def quota(cgroup: Path = CGROUP) -> float | None:
    """Processors that the container's time pays for; None where it is not bounded (cgroup v2, `cpu.max`)."""
    try:
        most, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        return int(most) / int(period)
    except (OSError, ValueError):  # there is no quota ("max"), or no such file
        return None


def spent_s(
    times: Callable[[], Sequence[Any]] = _TIMES, usable: Callable[[], Collection[int]] = _USABLE
) -> tuple[float, float]:
    """Seconds of our processors' time since the machine was started: used, whoever used them, and unused. Blocking, as
    `Processors.look`. Raises OSError.
    """
    each = times()
    numbers = [number for number in usable() if number < len(each)]
    ours = [each[number] for number in numbers] or list(each)
    return sum(map(used_s, ours)), sum(seconds.idle + getattr(seconds, "iowait", 0.0) for seconds in ours)


def stalled_s(path: Path = PRESSURE) -> float | None:
    """Seconds since the machine was started in which something waited for a processor; None where the kernel does not
    say (pressure stall information).
    """
    try:
        some = path.read_text(encoding="ascii").splitlines()[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError, IndexError):
        return None


class Processors:
    """The processors that this process may use.

    Attributes:
        busy: the part of their time that was used between the last two looks, 0 to 1, whoever used it; in a container
            with a quota, the part of that which was used, where that is more. 0 until something is known.
    """

    def __init__(
        self,
        times: Callable[[], Sequence[Any]] = _TIMES,
        usable: Callable[[], Collection[int]] = _USABLE,
        cgroup: Path = CGROUP,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """`times`: of each processor; `usable`: the numbers of ours; `clock`: in seconds."""
        self.busy = 0.0
        self._times = times
        self._usable = usable
        self._cgroup = cgroup
        self._clock = clock
        self._before = self._seen()

    def look(self) -> None:
        """Sets `busy` by what was used since the last look. Blocking: it reads one to three small files, which
        takes a millisecond, or some on a machine with hundreds of processors. `busy` stays while they can't be read.
        """
        try:
            before, self._before = self._before, self._seen()
        except OSError:  # no more files may be opened
            return
        at, used, unused, ours = (now - then for now, then in zip(self._before, before, strict=True))
        machine = used / (used + unused) if used + unused > 0 else 0.0
        paid = quota(self._cgroup)
        container = ours / (paid * at) if paid and at > 0 else 0.0
        self.busy = min(1.0, max(machine, container))

    def _seen(self) -> tuple[float, float, float, float]:
        """The moment, and seconds of processor time so far: used and unused of ours, and the container's."""
        used, unused = spent_s(self._times, self._usable)
        return self._clock(), used, unused, self._container_s()

    def _container_s(self) -> float:
        try:
            lines = (self._cgroup / "cpu.stat").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0.0
        spent = next((line.split()[1] for line in lines if line.startswith("usage_usec ")), "0")
        return int(spent) / 1e6
