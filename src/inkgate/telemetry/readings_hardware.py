"""Metrics of processes and GPUs: rows of label values and a number."""

from __future__ import annotations

from collections.abc import Callable

from inkgate.telemetry.readings_serving import Reading, Rows, one
from inkgate.telemetry.state import Gpu, Process, State

_MIB = 2**20
_THROTTLED_BY = ("thermal", "power")


def _by_kind(value: Callable[[Process], float]) -> Reading:
    """The sum over the processes of a kind."""

    def rows(state: State) -> Rows:
        sums: dict[str, float] = {}
        for process in state.processes:
            sums[process.kind] = sums.get(process.kind, 0.0) + value(process)
        for kind, total in sums.items():
            yield (kind,), total

    return rows


def _of_gpus(value: Callable[[Gpu], float | None], times: float = 1) -> Reading:
    def rows(state: State) -> Rows:
        for gpu in state.gpus:
            number = value(gpu)
            if number is not None:
                yield (str(gpu.index),), number * times

    return rows


def _throttled(state: State) -> Rows:
    for gpu in state.gpus:
        for reason in _THROTTLED_BY:
            yield (str(gpu.index), reason), float(reason in gpu.throttled)


def _gpu_names(state: State) -> Rows:
    for gpu in state.gpus:
        yield (str(gpu.index), gpu.name), 1.0


PROCESS_READINGS: dict[str, Reading] = {
    "inkgate_process_resident_bytes": _by_kind(lambda process: process.rss_bytes),
    "inkgate_process_cpu_seconds_total": _by_kind(lambda process: process.cpu_s),
    "inkgate_processes": _by_kind(lambda process: process.pid != 0),
    "inkgate_process_restarts_total": _by_kind(lambda process: process.started - 1),
    "inkgate_event_loop_lag_seconds": one(lambda state: state.history[-1].loop_lag_s if state.history else None),
}

GPU_READINGS: dict[str, Reading] = {
    "gpu_utilization_percent": _of_gpus(lambda gpu: gpu.utilisation, times=100),
    "gpu_memory_used_mb": _of_gpus(lambda gpu: gpu.memory_used, times=1 / _MIB),
    "inkgate_gpu_memory_used_bytes": _of_gpus(lambda gpu: gpu.memory_used),
    "inkgate_gpu_memory_total_bytes": _of_gpus(lambda gpu: gpu.memory_total),
    "inkgate_gpu_temperature_celsius": _of_gpus(lambda gpu: gpu.temperature_c),
    "inkgate_gpu_power_watts": _of_gpus(lambda gpu: gpu.power_w),
    "inkgate_gpu_clock_hertz": _of_gpus(lambda gpu: gpu.clock_mhz, times=1e6),
    "inkgate_gpu_throttled": _throttled,
    "inkgate_gpu_info": _gpu_names,
}
