"""Memory and CPU time: of the service's processes, of the machine, and of the cores that this process may use."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import psutil

from inkgate.operating_system import usable_cpus
from inkgate_client.telemetry.state import Machine, Process

CGROUP = Path("/sys/fs/cgroup")
PRESSURE = Path("/proc/pressure/cpu")
_NOT_USED = frozenset({"idle", "iowait", "guest", "guest_nice"})
"""CPU times that don't count as used: idle ones, and guests', which `user` and `nice` include."""
_TIMES = partial(psutil.cpu_times, percpu=True)
_CPUINFO = Path("/proc/cpuinfo")
_FRESH_S = 0.5
"""How long a reading is reused: several callers may ask at once, and reading a process takes some 0.1 ms."""
_FAMILY_S = 10.0
"""How long child processes are reused: finding them reads every process of the machine."""


@dataclass(frozen=True, slots=True)
class ProcessSlot:
    """A slot for a process of the service, which may be restarted.

    Attributes:
        kind: see Process.
        pid: 0 while no process runs in it.
        started: how often a process was started in it.
        with_children: whether its child processes count, such as vLLM's engine.
    """

    kind: str
    pid: int
    started: int = 1
    with_children: bool = False


@dataclass(frozen=True, slots=True)
class _ProcessUsage:
    rss_bytes: int
    cpu_s: float


def machine() -> Machine | None:
    """The machine's memory and CPU time; None if unreadable. In a container too, it describes the whole machine.
    Takes a millisecond, or a few with hundreds of cores.
    """
    try:
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        used_s, unused_s = spent_s()
    except (OSError, RuntimeError):
        return None
    return Machine(memory.available, swap.total, swap.used, swap.sin, used_s, unused_s, stalled_s())


def processor_name() -> str:
    """The kernel's name for it, such as `AMD EPYC 9354 32-Core Processor`; else its architecture."""
    if _CPUINFO.is_file():
        for line in _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def tree_bytes(pid: int) -> int:
    """Resident bytes of a process and its descendants; 0 if it is gone. Shared memory counts for each.

    Blocking: some milliseconds for each hundred processes of the machine.
    """
    total_bytes = 0
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):  # it has ended meanwhile
                total_bytes += process.memory_info().rss
    return total_bytes


class Processes:
    """Reads the service's processes. The last known CPU time of an ended process is added to the first of its kind, so
    that sums never fall. If a process can't be read, for example without free file descriptors, its last reading
    stays. Not thread-safe.
    """

    def __init__(self, slots: Callable[[], Iterable[ProcessSlot]], clock: Callable[[], float] = monotonic) -> None:
        """`slots` returns the current slots, without this process; `clock` returns seconds."""
        self._slots = slots
        self._clock = clock
        self._known: dict[int, psutil.Process] = {}
        self._families: dict[int, tuple[float, tuple[int, ...]]] = {}
        self._last: dict[int, tuple[str, _ProcessUsage]] = {}
        self._ended_cpu_s: dict[str, float] = {}
        self._readings: tuple[Process, ...] = ()
        self._read_at = float("-inf")

    def read(self) -> tuple[Process, ...]:
        """All processes, this one first. At most half a second old."""
        now = self._clock()
        if now - self._read_at >= _FRESH_S:
            slots = [ProcessSlot("gateway", os.getpid()), *self._slots()]
            slots += [ProcessSlot(slot.kind, pid) for slot in tuple(slots) for pid in self._children(slot, now)]
            self._forget({slot.pid for slot in slots})
            read = [(slot, self._usage(slot.pid)) for slot in slots]
            self._count_ended(read)
            self._readings = tuple(self._processes(read))
            self._read_at = now
        return self._readings

    def _children(self, slot: ProcessSlot, now: float) -> tuple[int, ...]:
        if not slot.with_children or not slot.pid:
            return ()
        known = self._families.get(slot.pid)
        if known is None or now - known[0] >= _FAMILY_S:
            try:
                pids = tuple(child.pid for child in psutil.Process(slot.pid).children(recursive=True))
            except psutil.Error:
                pids = ()
            except OSError:  # no file can be opened now
                return () if known is None else known[1]
            known = self._families[slot.pid] = (now, pids)
        return known[1]

    def _count_ended(self, read: Sequence[tuple[ProcessSlot, _ProcessUsage | None]]) -> None:
        running = {slot.pid: (slot.kind, usage) for slot, usage in read if usage is not None}
        for kind, usage in (self._last[pid] for pid in self._last.keys() - running.keys()):
            self._ended_cpu_s[kind] = self._ended_cpu_s.get(kind, 0.0) + usage.cpu_s
        self._last = running

    def _processes(self, read: Sequence[tuple[ProcessSlot, _ProcessUsage | None]]) -> Iterator[Process]:
        ended_cpu_s = dict(self._ended_cpu_s)
        for slot, usage in read:
            rss_bytes, cpu_s = (0, 0.0) if usage is None else (usage.rss_bytes, usage.cpu_s)
            yield Process(slot.kind, slot.pid, rss_bytes, cpu_s + ended_cpu_s.pop(slot.kind, 0.0), slot.started)
        for kind, cpu_s in ended_cpu_s.items():
            yield Process(kind, 0, 0, cpu_s)

    def _usage(self, pid: int) -> _ProcessUsage | None:
        """The usage of a process; None if there is no such process."""
        if not pid:
            return None
        try:
            process = self._known.get(pid) or psutil.Process(pid)
            self._known[pid] = process
            with process.oneshot():
                times = process.cpu_times()
                return _ProcessUsage(process.memory_info().rss, times.user + times.system)
        except psutil.Error:
            self._known.pop(pid, None)
            return None
        except OSError:  # no file can be opened now
            known = self._last.get(pid)
            return None if known is None else known[1]

    def _forget(self, running: set[int]) -> None:
        """Forgets all other processes: they ended."""
        self._known = {pid: process for pid, process in self._known.items() if pid in running}
        self._families = {pid: family for pid, family in self._families.items() if pid in running}


def used_s(times: Any) -> float:  # noqa: ANN401 - psutil names a class for each system
    """Seconds in which a core wasn't idle, from psutil's times; stolen time counts."""
    seconds = times._asdict()
    return float(sum(seconds[name] for name in seconds.keys() - _NOT_USED))


def quota(cgroup: Path = CGROUP) -> float | None:
    """The container's CPU quota in cores; None without one (cgroup v2, `cpu.max`)."""
    try:
        limit, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        return int(limit) / int(period)
    except (OSError, ValueError):  # there is no quota ("max"), or no such file
        return None


def spent_s(
    times: Callable[[], Sequence[Any]] = _TIMES, usable: Callable[[], Collection[int]] = usable_cpus
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
        usable: Callable[[], Collection[int]] = usable_cpus,
        cgroup: Path = CGROUP,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """`times` returns the times of each core, `usable` the numbers of our cores, `clock` seconds."""
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
