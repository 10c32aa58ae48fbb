"""Rules on what the service runs on: GPUs, memory, the event loop, accelerators and the cache."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import linear_regression

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, Severity, amount, over
from inkgate.doctor.load import embedded, lasting, loaded, mean, mean_waiting, recent, setting, uptime_s
from inkgate_client.telemetry.history import Point
from inkgate_client.telemetry.state import CacheState, State

_WARM_S = 300.0
"""Time after the start in which memory grows for good reasons: models load and compile for the shapes they meet."""
_TREND_S = 480.0
_IDLE_S = 120.0


def gpu_hot(state: State) -> Diagnosis | None:
    """A GPU reaches {gpu_hot_c:g} °C, is within {gpu_margin_c:g} °C of `serving.gpu.temperature_c`, or heat reduces its
    clocks; critical from `serving.gpu.temperature_c`, where inkgate pauses the engine.
    """
    critical_c = setting(state, "serving.gpu.temperature_c") or float("inf")
    for gpu in sorted(state.gpus, key=lambda each: -(each.temperature_c or 0.0)):
        heat_c, throttled = gpu.temperature_c or 0.0, "thermal" in gpu.throttled
        if heat_c < min(LIMITS.gpu_hot_c, critical_c - LIMITS.gpu_margin_c) and not throttled:
            continue
        temperature = Evidence(f"GPU {gpu.index}", heat_c, "°C")
        evidence = (temperature, Evidence("clock reduced by heat", gpu.clock_mhz if throttled else None, "MHz"))
        title = f"GPU {gpu.index} is {'hot and throttled' if throttled else 'hot'}."
        return Diagnosis(evidence, severity=Severity.CRITICAL if heat_c >= critical_c else None, title=title)
    return None


def gpu_memory_full(state: State) -> Diagnosis | None:
    """Over {gpu_memory_share:.0%} of a GPU's memory is used; critical from `serving.gpu.memory`, where inkgate pauses a
    managed vLLM.
    """
    critical_share, path = setting(state, "serving.gpu.memory") or 1.0, "engine.vllm.managed.gpu_memory_utilization"
    for gpu in state.gpus:
        share = (gpu.memory_used or 0) / gpu.memory_total if gpu.memory_total else 0.0
        if share < (limit := min(LIMITS.gpu_memory_share, critical_share)):
            continue
        memory = over(f"memory of GPU {gpu.index}", share, limit, "share")
        evidence = (memory, Evidence("used", gpu.memory_used, "bytes"))
        advice = Advice("Let vLLM use less, or stop other processes on the GPU.", path, 0.85, setting(state, path))
        severity = Severity.CRITICAL if critical_share <= share and critical_share < 1 else None
        return Diagnosis(evidence, (advice,), severity, title=f"The memory of GPU {gpu.index} is nearly full.")
    return None


def memory_full(state: State) -> Diagnosis | None:
    """The service's processes use over {memory_share:.0%} of the memory (critical over {memory_critical_share:.0%};
    shared memory counts for each), or over {swap_in_mb_per_s:g} MB/s were read back from swap for {sustained_s:g} s.
    """
    used, total = sum(process.rss_bytes for process in state.processes), state.build.memory_bytes
    points = lasting(point for point in recent(state) if point.swap_in > 0)
    swap_in = mean(points, lambda point: point.swap_in) or 0.0
    full, swaps = total and used > LIMITS.memory_share * total, swap_in > 1e6 * LIMITS.swap_in_mb_per_s
    if not full and not swaps:
        return None
    evidence = [
        Evidence("memory of the service", used, "bytes", f"of {amount(total, 'bytes')}"),
        *(
            Evidence(f"its largest process ({each.kind})", each.rss_bytes, "bytes")
            for each in sorted(state.processes, key=lambda process: -process.rss_bytes)[:1]
        ),
    ]
    if swaps and state.machine is not None:
        swap_total = amount(state.machine.swap_total_bytes, "bytes")
        evidence += [
            over("read back from swap", swap_in, 1e6 * LIMITS.swap_in_mb_per_s, "bytes a second"),
            Evidence("swap in use", state.machine.swap_used_bytes, "bytes", f"of {swap_total}"),
            Evidence("memory available", state.machine.memory_available_bytes, "bytes"),
        ]
    advice = [Advice("Give the machine more memory, or move other programs away.")]
    workers = setting(state, "pdf.workers")
    if isinstance(workers, int) and workers > 1:
        advice.append(Advice("Or run fewer PDF workers.", "pdf.workers", workers // 2, workers))
    title = "The machine swaps: work waits for the disk." if swaps else "The machine is nearly out of memory."
    critical = total and used > LIMITS.memory_critical_share * total
    return Diagnosis(evidence, advice, Severity.CRITICAL if critical else None, title=title)


def memory_growing(state: State) -> Diagnosis | None:
    """From 5 min after the start, the trend of at least 8 min of constant load rises by over {growth_share:.0%} and
    {growth_mb:g} MB beyond the cache. A note: idle for 2 min and still near the peak, at over twice and {retained_mb:g}
    MB more than before the load.
    """
    return _leaking(state) or _fragmented(state)


def _leaking(state: State) -> Diagnosis | None:
    """The trend (least squares) rises, as do the minima of each third of the time, while the load stays the same."""
    points = tuple(p for p in state.history if p.at > state.started_at + _WARM_S and p.rss_bytes > 0)
    if len(points) < 6 or points[-1].at - points[0].at < _TREND_S or not _constant_load(points):
        return None
    slope = linear_regression([p.at for p in points], [float(p.rss_bytes) for p in points]).slope
    span_s, third = points[-1].at - points[0].at, len(points) // 3
    cached = (state.cache.bytes or 0) if state.cache is not None else 0
    thirds = (points[:third], points[third : 2 * third], points[2 * third :])
    lows = [min(p.rss_bytes for p in part) for part in thirds]
    allowed = max(LIMITS.growth_share * points[0].rss_bytes, 1e6 * LIMITS.growth_mb) + cached
    if slope * span_s <= allowed or not lows[0] < lows[1] < lows[2]:
        return None
    evidence = (
        Evidence("memory grows by", round(slope * 3600), "bytes an hour"),
        Evidence("from", points[0].rss_bytes, "bytes"),
        Evidence("to", points[-1].rss_bytes, "bytes", f"in {span_s / 60:.0f} min of constant load"),
    )
    return Diagnosis(evidence, title="Memory grows although the load doesn't.")


def _constant_load(points: Sequence[Point]) -> bool:
    half = len(points) // 2
    rates = sorted(mean(part, lambda point: point.pages) or 0.0 for part in (points[:half], points[half:]))
    return rates[1] <= 1.5 * rates[0] + 0.01


def _fragmented(state: State) -> Diagnosis | None:
    """Idle, and nearly at the peak of the last quarter of an hour."""
    idle = [point for point in state.history if point.at > state.at - _IDLE_S]
    first = state.history[0] if state.history else None
    if first is None or first.documents or not idle or any(point.documents for point in idle):
        return None
    now, before, peak = idle[-1].rss_bytes, first.rss_bytes, max(point.rss_bytes for point in state.history)
    if uptime_s(state) < 1200 or now <= 0.9 * peak or now <= max(2 * before, before + 1e6 * LIMITS.retained_mb):
        return None
    evidence = (
        Evidence("memory now, while idle", now, "bytes"),
        Evidence("before the load", before, "bytes"),
        Evidence("at its peak", peak, "bytes"),
    )
    advice = (
        Advice("Start the service with `MALLOC_ARENA_MAX=1` in its environment: it reduces fragmentation."),
        Advice("Large images need much memory: refuse them earlier.", "limits.max_pixels"),
    )
    title = "Memory of a finished load isn't returned: it is fragmented."
    return Diagnosis(evidence, advice, Severity.NOTE, title=title)


def event_loop_late(state: State) -> Diagnosis | None:
    """The lag of the event loop was over {loop_lag_s:g} s on average for {sustained_s:g} s of the last minute."""
    points = lasting(point for point in recent(state) if point.loop_lag_s is not None)
    lag_s = mean(points, lambda point: point.loop_lag_s)
    if lag_s is None or lag_s <= LIMITS.loop_lag_s:
        return None
    evidence = (
        over("event loop lag", lag_s, LIMITS.loop_lag_s, "s"),
        Evidence("requests", mean(points, lambda point: point.requests), "a second"),
    )
    return Diagnosis(evidence)


def accelerators_missing(state: State) -> Diagnosis | None:
    """A GPU provider of ONNX Runtime fell back to the CPU, or the embedded engine doesn't use OpenVINO. A note: uvloop,
    CUDA or TensorRT could be used and isn't.
    """
    if state.build.fell_back:
        return _fell_back(state)
    missing = [name for name, used in state.build.accelerators.items() if not used and _usable(name, state)]
    if not missing:
        return None
    evidence = [
        *(Evidence(_NAMES.get(name, name), "not in use") for name in missing),
        Evidence("inference engine", state.build.inference_engine or None),
    ]
    advice = tuple(_install(name, state) for name in missing)
    title = f"The service could be faster: {', '.join(_NAMES.get(name, name) for name in missing)} is not in use."
    return Diagnosis(evidence, advice, None if "openvino" in missing else Severity.NOTE, title=title)


def _fell_back(state: State) -> Diagnosis:
    path = "engine.ppocr.onnxruntime.provider"
    now = setting(state, path)
    evidence = (
        Evidence("reason", state.build.fell_back),
        Evidence("inference engine", state.build.inference_engine),
        Evidence(path, now),
    )
    advice = (
        Advice("Install what ONNX Runtime reports on standard error and restart (docs/guides/several-gpus.md)."),
        Advice("Or use the CPU on purpose.", path, "cpu", now),
    )
    return Diagnosis(evidence, advice, title="The GPU is not used: ONNX Runtime fell back to the CPU.")


def _usable(name: str, state: State) -> bool:
    """OpenVINO serves the embedded engine, CUDA models on a GPU, TensorRT ONNX models on a GPU."""
    if name == "openvino":
        return embedded(state)
    if name == "tensorrt":
        return bool(state.gpus) and "onnx" in state.build.inference_engine.lower()
    return name != "cuda" or (bool(state.gpus) and not embedded(state))


def _install(name: str, state: State) -> Advice:
    runtime = setting(state, "engine.ppocr.runtime")
    if name == "openvino" and runtime == "onnxruntime":
        return Advice("Run the models with OpenVINO.", "engine.ppocr.runtime", "auto", runtime)
    return Advice(_INSTALL.get(name, f"Install {name} into the service's environment and restart it."))


def cache_small(state: State) -> Diagnosis | None:
    """`cache.enabled` is false (a warning while pages wait), or the cache is {cache_full_share:.0%} full and over
    {cache_again_share:.0%} of at least {cache_pages} pages repeat.
    """
    if setting(state, "cache.enabled") is False:
        points = loaded(state)
        evidence = (Evidence("cache", "off"), Evidence("pages waiting", mean_waiting(points) if points else None))
        advice = Advice("Keep results, so that a page is read once.", "cache.enabled", value=True, now=False)
        title = "The cache is off: repeated pages are read again."
        return Diagnosis(evidence, (advice,), Severity.WARNING if points else None, title=title)
    cache = state.cache
    repeated = 0.0 if cache is None else _repeated_share(cache)
    if cache is None or cache.bytes is None or not cache.max_bytes or repeated <= LIMITS.cache_again_share:
        return None
    if cache.bytes < LIMITS.cache_full_share * cache.max_bytes:
        return None
    now = setting(state, "cache.max_mb") or cache.max_bytes / 1_000_000
    size = Evidence("cache size", cache.bytes, "bytes", f"of {cache.max_bytes / 1e6:g} MB")
    again = over("repeated pages", repeated, LIMITS.cache_again_share, "share")
    advice = Advice("Keep more results, if there is memory.", "cache.max_mb", 4 * now, now)
    return Diagnosis((size, again), (advice,), title="The cache is full although pages repeat.")


def _repeated_share(cache: CacheState) -> float:
    """The share of pages that came from the cache or a shared read; 0 for few pages."""
    pages = sum(cache.found.values())
    return (pages - cache.found.get("run", 0)) / pages if pages >= LIMITS.cache_pages else 0.0


_NAMES = {"uvloop": "uvloop", "openvino": "OpenVINO", "cuda": "CUDA", "tensorrt": "TensorRT"}
_INSTALL = {
    "uvloop": "Install it into the service's environment: `pip install uvloop`.",
    "openvino": "Install it into the service's environment: `pip install openvino`.",
    "cuda": "The machine has a GPU: install the CUDA builds of the engine's packages.",
    "tensorrt": "The machine has a GPU: install the TensorRT build of ONNX Runtime.",
}
