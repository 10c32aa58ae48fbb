"""The machine that a load test ran on."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import psutil

from inkgate import __version__
from inkgate.bench.load.results import Machine
from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader
from inkgate.telemetry.processor import processor_name


def this_machine(versions: Mapping[str, str] | None = None) -> Machine:
    """This one, which is the service's, too, only where that runs here. `versions`: of what else took part, by name.

    Blocking, where there are GPUs for milliseconds.
    """
    return Machine(
        name=platform.node(),
        processor=processor_name(),
        cores=len(usable_cpus()),
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        gpus=_gpus(),
        versions={"inkgate": __version__, "python": platform.python_version(), **(versions or {})},
    )


def _gpus() -> tuple[str, ...]:
    try:
        with NvmlReader() as reader:
            return tuple(reading.name or f"GPU {reading.index}" for reading in reader.read())
    except GpuUnavailable:
        return ()
