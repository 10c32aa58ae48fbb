"""A service that isn't started, as a State without work: its settings and this machine.

Apart from `judge`, which `inkgate doctor URL` loads in a third of the time.
"""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

import psutil

from inkgate import __version__
from inkgate.doctor.findings import Advice, Diagnosis, Evidence
from inkgate.engines.vlm.presets import find_preset
from inkgate.engines.workers.shares import usable_cpus
from inkgate.errors import InputRejected
from inkgate.installation import install_extra
from inkgate.jobs.machine import jobs_disks, missing_packages, sqlite_file
from inkgate.model_servers.managed.command import server_command
from inkgate.settings import RuntimeName, Settings
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader
from inkgate_client.telemetry.history import WorkTotals
from inkgate_client.telemetry.jobs_state import JobsState
from inkgate_client.telemetry.state import AdmissionState, Build, Gpu, State


def unstarted(settings: Settings) -> State:
    """The settings and the machine, at time 0; rules on load and failures find nothing in it.

    Blocking; reading GPUs takes milliseconds.
    """
    largest = settings.limits.max_in_flight
    admission = AdmissionState(0, largest, 0, round(settings.serving.admission.max_bytes_mb * 1_000_000), 0)
    return State(
        at=0.0,
        started_at=0.0,
        build=_build(settings),
        ready=True,
        reasons=(),
        admission=admission,
        queues=(),
        work=WorkTotals(),
        processes=(),
        gpus=_gpus(),
        jobs=_jobs(settings) if settings.jobs.enabled else None,
        settings=settings.model_dump(mode="json"),
    )


def cant_start(settings: Settings) -> Diagnosis | None:
    """The engine has no preset, vLLM isn't installed, or packages for `transformers` are missing. Checked only without
    a URL.
    """
    engine = settings.engine
    if engine.name == "ppocr":
        return None
    named = {"vllm": engine.vllm.preset, "transformers": engine.transformers.preset}.get(engine.name, engine.name)
    try:
        preset = find_preset(named, Path(engine.vllm.preset_folder) if engine.vllm.preset_folder else None)
        if engine.name == "transformers":
            missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
            return _cant_start(f"missing packages: {', '.join(missing)}", _INSTALL) if missing else None
        if not engine.vllm.urls:
            server_command(preset, engine.vllm)
    except (InputRejected, ValueError) as error:
        return _cant_start(error.detail if isinstance(error, InputRejected) else str(error))
    return None


def _cant_start(reason: str, *advice: Advice) -> Diagnosis:
    return Diagnosis((Evidence("reason", reason),), advice)


def _build(settings: Settings) -> Build:
    name, runtime = settings.engine.name, settings.engine.ppocr.runtime
    openvino = runtime is not RuntimeName.ONNXRUNTIME and find_spec("openvino") is not None
    return Build(
        version=__version__,
        engine=name,
        model="",
        inference_engine=("openvino" if openvino else "onnxruntime") if name == "ppocr" else "",
        python=platform.python_version(),
        platform=platform.platform(),
        cores=len(usable_cpus()),
        memory_bytes=psutil.virtual_memory().total,
        accelerators={"uvloop": find_spec("uvloop") is not None, "openvino": openvino},
    )


def _jobs(settings: Settings) -> JobsState:
    database = "sqlite" if sqlite_file(settings) is not None else "postgresql"
    return JobsState(database, disks=jobs_disks(settings), missing=missing_packages(settings))


def _gpus() -> tuple[Gpu, ...]:
    try:
        with NvmlReader() as reader:
            return reader.read()
    except GpuUnavailable:
        return ()


_INSTALL = Advice(f"Install them: {install_extra('transformers')}.")
