"""How many workers a machine gets, and which cores each of them gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from inkgate import operating_system
from inkgate.telemetry.processes import CGROUP, quota

CORES_A_WORKER = 8
"""One process is enough for this many cores; each further 8 add a worker (docs/guides/cpu-at-scale.md)."""
_TOPOLOGY = Path("/sys/devices/system/cpu")


def usable_cpus(cgroup: Path = CGROUP) -> list[int]:
    """The CPUs that this process may run on: limited to a container's quota if there is one."""
    cpus, cpu_quota = sorted(operating_system.usable_cpus()), quota(cgroup)
    return cpus if cpu_quota is None else cpus[: max(math.ceil(cpu_quota), 1)]


def worker_count(requested: int, cores: int) -> int:
    """Number of worker processes for this many cores; 0: the models run in this process. `requested`:
    `engine.ppocr.workers`.
    """
    if requested:
        return max(requested, 0)
    return 0 if cores <= CORES_A_WORKER else math.ceil(cores / CORES_A_WORKER)


def place_of(cpu: int, topology: Path = _TOPOLOGY) -> tuple[int, int]:
    """A CPU's package and its core there, as Linux numbers them; (0, 0) if unknown."""
    folder = topology / f"cpu{cpu}" / "topology"
    try:
        package, core = (int((folder / name).read_text()) for name in ("physical_package_id", "core_id"))
    except (OSError, ValueError):
        return 0, 0
    return package, core


def shares(cpus: Iterable[int], workers: int, place: Callable[[int], tuple[int, int]] = place_of) -> list[list[int]]:
    """The CPUs for each worker: neighbours, so that two workers share no core, and few workers span two packages.

    With fewer CPUs than workers, each worker gets all.
    """
    ordered: Sequence[int] = sorted(cpus, key=lambda cpu: (*place(cpu), cpu))
    if len(ordered) < workers:
        return [list(ordered)] * workers
    ends = [round(len(ordered) * part / workers) for part in range(workers + 1)]
    return [list(ordered[start:end]) for start, end in pairwise(ends)]
