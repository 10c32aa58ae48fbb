"""The machine that a load test ran on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

import psutil

from inkgate import __version__
from inkgate.engines.workers.shares import usable_cpus
from inkgate.loadtest.results import Machine
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader


def this_machine(versions: Mapping[str, str] | None = None) -> Machine:
    """This one, which is the service's, too, only where that runs here. `versions`: of what else took part, by name.

    Blocking, where there are GPUs for milliseconds.
    """
    return Machine(
        name=platform.node(),
        processor=_processor(),
        cores=len(usable_cpus()),
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        gpus=_gpus(),
        versions={"inkgate": __version__, "python": platform.python_version(), **(versions or {})},
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpus() -> tuple[str, ...]:
    try:
        with NvmlReader() as reader:
            return tuple(reading.name or f"GPU {reading.index}" for reading in reader.read())
    except GpuUnavailable:
        return ()
