"""Rules on GPUs: idle, hot, held down or full."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.load import mean, on_cores, pressed, pressure, queue, value_of
from inkgate.telemetry.state import State

_HOT_C = 90.0
_FULL = 0.98
"""Defaults of `serving.gpu`, for a service that doesn't say what it has."""


def gpu_idle(state: State) -> Finding | None:
    """The GPU is idle though work waits. When: for 15 s of the last minute work waited, and the busiest GPU had work
    for under half of the time.
    """
    points = pressed(state)
    used = mean(points, lambda point: point.gpu)
    if used is None or used >= 0.5:
        return None
    depth = mean(points, lambda point: float(point.waiting)) or 0.0
    evidence = [Evidence("GPU in use", used, "share", "under 50 %"), Evidence("waiting", round(depth))]
    if on_cores(state):
        advice = Advice(
            "The embedded engine reads on the CPU: let a model on vLLM read.", "engine.name", "paddleocr-vl"
        )
        title = "Work waits, and the GPU is not used at all."
        return Finding("gpu-idle", Severity.NOTE, title, tuple(evidence), (advice,))
    pages, pressed_by = queue(state, "pages"), pressure(state)
    if pressed_by is not None:
        evidence.append(Evidence("pressure of the model server", round(pressed_by, 2)))
    if pages is not None and pages.in_flight >= pages.limit and (pressed_by or 0.0) < 1:
        path = "engine.vllm.concurrent_pages" if state.replicas else "engine.ppocr.concurrent_pages"
        advice = Advice("Let more pages be at the engine at once.", path, 2 * pages.limit, pages.limit)
    else:
        advice = Advice("Look for what is before it: rendering in vLLM (`--api-server-count`), encoding, the network.")
    title = "Work waits, and the GPU is idle for most of the time."
    return Finding("gpu-idle", Severity.WARNING, title, tuple(evidence), (advice,))


def gpu_hot(state: State) -> Finding | None:
    """A GPU is too hot. When: it has `serving.gpu.temperature_c` (90 °C; critical: calls to it are stopped), is within
    5 °C of it, or its clocks are held down because of heat.
    """
    most = value_of(state.settings, "serving.gpu.temperature_c") or _HOT_C
    for gpu in sorted(state.gpus, key=lambda each: -(each.temperature_c or 0.0)):
        heat, held_down = gpu.temperature_c or 0.0, "thermal" in gpu.throttled
        if heat < most - 5 and not held_down:
            continue
        evidence = [Evidence(f"GPU {gpu.index}", round(heat), "°C", f"the engine is left alone from {most:g} °C")]
        if held_down:
            evidence.append(
                Evidence("its clocks are held down by heat", f"{gpu.clock_mhz:g} MHz" if gpu.clock_mhz else "yes")
            )
        advice = Advice("Cool it: airflow, fans, a lower power limit (`nvidia-smi -pl`).")
        title = f"GPU {gpu.index} is hot{' and held down' if held_down else ''}: everything on it is slower."
        severity = Severity.CRITICAL if heat >= most else Severity.WARNING
        return Finding("gpu-hot", severity, title, tuple(evidence), (advice,))
    return None


def gpu_memory_full(state: State) -> Finding | None:
    """A GPU's memory is full. When: `serving.gpu.memory` (98 %) of it is used, from where a managed vLLM pauses."""
    most = value_of(state.settings, "serving.gpu.memory") or _FULL
    for gpu in state.gpus:
        if gpu.memory_used is None or not gpu.memory_total or gpu.memory_used < most * gpu.memory_total or most >= 1:
            continue
        evidence = (
            Evidence(
                f"memory of GPU {gpu.index}", gpu.memory_used / gpu.memory_total, "share", f"over {most * 100:g} %"
            ),
            Evidence("used", gpu.memory_used, "bytes"),
        )
        path = "engine.vllm.managed.gpu_memory_utilization"
        advice = Advice(
            "Let vLLM take less, or end what else is on the GPU.", path, 0.85, value_of(state.settings, path)
        )
        title = f"The memory of GPU {gpu.index} is full."
        return Finding("gpu-memory-full", Severity.CRITICAL, title, evidence, (advice,))
    return None
