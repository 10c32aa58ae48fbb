"""Versions and platform of the running service, determined once at the start."""

from __future__ import annotations

import platform
from importlib.util import find_spec

import psutil

from inkgate import __version__
from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.metrics import ModelName
from inkgate.telemetry.state import Build


def build_of(engine: str, model: ModelName, runtime: str) -> Build:
    """The Build. `engine`: its name in the settings; `model`: its model; `runtime`: of the embedded engine's models."""
    return Build(
        version=__version__,
        engine=engine,
        model=model.version,
        inference_engine=model.inference_engine,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        cores=len(usable_cpus()),
        memory_bytes=psutil.virtual_memory().total,
        accelerators={"uvloop": find_spec("uvloop") is not None, "openvino": runtime.startswith("openvino")},
    )
