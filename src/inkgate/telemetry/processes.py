"""Memory and CPU time of the service's processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

import psutil

from inkgate.telemetry.processors import spent_s, stalled_s
from inkgate.telemetry.state import Machine, Process

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


_NOTHING = _ProcessUsage(0, 0.0)


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


def tree_bytes(pid: int) -> int:
    """Resident bytes of a process and its descendants; 0 if it is gone. Shared memory counts for each.

    Blocking: some milliseconds for each hundred processes of the machine.
    """
    held = 0
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):  # it has ended meanwhile
                held += process.memory_info().rss
    return held


class Processes:
    """Reads the service's processes. The last known CPU time of an ended process is added to the first of its kind, so
    that sums never fall. If a process can't be read, for example without free file descriptors, its last reading
    stays. Not thread-safe.
    """

    def __init__(self, places: Callable[[], Iterable[ProcessSlot]], clock: Callable[[], float] = monotonic) -> None:
        """`places`: the current slots, without this process. `clock` in seconds."""
        self._places = places
        self._clock = clock
        self._known: dict[int, psutil.Process] = {}
        self._families: dict[int, tuple[float, tuple[int, ...]]] = {}
        self._last: dict[int, tuple[str, _ProcessUsage]] = {}
        self._gone: dict[str, float] = {}
        self._readings: tuple[Process, ...] = ()
        self._read_at = float("-inf")

    def read(self) -> tuple[Process, ...]:
        """All processes, this one first. At most half a second old."""
        now = self._clock()
        if now - self._read_at >= _FRESH_S:
            places = [ProcessSlot("gateway", os.getpid()), *self._places()]
            places += [ProcessSlot(place.kind, pid) for place in tuple(places) for pid in self._children(place, now)]
            self._forget({place.pid for place in places})
            read = [(place, self._usage(place.pid)) for place in places]
            self._count_gone(read)
            self._readings = tuple(self._shown(read))
            self._read_at = now
        return self._readings

    def _children(self, place: ProcessSlot, now: float) -> tuple[int, ...]:
        if not place.with_children or not place.pid:
            return ()
        known = self._families.get(place.pid)
        if known is None or now - known[0] >= _FAMILY_S:
            try:
                pids = tuple(child.pid for child in psutil.Process(place.pid).children(recursive=True))
            except psutil.Error:
                pids = ()
            except OSError:  # no file can be opened now
                return () if known is None else known[1]
            known = self._families[place.pid] = (now, pids)
        return known[1]

    def _count_gone(self, read: Sequence[tuple[ProcessSlot, _ProcessUsage | None]]) -> None:
        there = {place.pid: (place.kind, taken) for place, taken in read if taken is not None}
        for kind, taken in (self._last[pid] for pid in self._last.keys() - there.keys()):
            self._gone[kind] = self._gone.get(kind, 0.0) + taken.cpu_s
        self._last = there

    def _shown(self, read: Sequence[tuple[ProcessSlot, _ProcessUsage | None]]) -> Iterator[Process]:
        gone = dict(self._gone)
        for place, found in read:
            taken = found or _NOTHING
            yield Process(
                place.kind, place.pid, taken.rss_bytes, taken.cpu_s + gone.pop(place.kind, 0.0), place.started
            )
        for kind, cpu_s in gone.items():
            yield Process(kind, 0, 0, cpu_s)

    def _usage(self, pid: int) -> _ProcessUsage | None:
        """None if there is no such process."""
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

    def _forget(self, there: set[int]) -> None:
        """Forgets processes that ended."""
        self._known = {pid: process for pid, process in self._known.items() if pid in there}
        self._families = {pid: family for pid, family in self._families.items() if pid in there}
