"""Rules on what is set and what is installed: they judge a service that isn't started yet, too."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.flags import parsed
from inkgate.doctor.load import embedded, value_of
from inkgate.engines.vllm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.telemetry.state import State

_SHORT_S = 60.0


def timeouts_short(state: State) -> Finding | None:
    """Time runs out for documents that are only long. When: `limits.time_s`, or one of the timeouts of the engine in
    use (`first_token_s`, `stalled_s`, `managed.start_s` of vLLM, `worker_timeout_s` of the embedded one) is under 60 s.
    """
    names = ["limits.time_s"]
    if embedded(state):
        names += ["engine.ppocr.worker_timeout_s"] if value_of(state.settings, "engine.ppocr.workers") else []
    elif state.build.engine != "transformers":
        names += ["engine.vllm.first_token_s", "engine.vllm.stalled_s"]
        names += [] if value_of(state.settings, "engine.vllm.urls") else ["engine.vllm.managed.start_s"]
    set_to = {name: value_of(state.settings, name) for name in names}
    short = {name: s for name, s in set_to.items() if isinstance(s, int | float) and s < _SHORT_S}
    if not short:
        return None
    evidence = tuple(Evidence(name, s, "s", "under 60 s") for name, s in short.items())
    advice = tuple(Advice("Give it more time.", name, _usual_s(name), s) for name, s in short.items())
    title = "Timeouts are short: pages that only take long will fail."
    return Finding("timeouts-short", Severity.WARNING, title, evidence, advice)


def accelerators_missing(state: State) -> Finding | None:
    """What would make it faster is not in use. When: OpenVINO with the embedded engine (a warning: ONNX Runtime takes
    about twice as long, docs/contributing/benchmarks.md), uvloop, CUDA or TensorRT is not in use and could be.
    """
    missing = [name for name, used in state.build.accelerators.items() if not used and _useful(name, state)]
    if not missing:
        return None
    evidence = tuple(Evidence(_NAMES.get(name, name), "not in use") for name in missing)
    evidence += (Evidence("computed by", state.build.inference_engine),) if state.build.inference_engine else ()
    advice = tuple(_install(name, state) for name in missing)
    severity = Severity.WARNING if "openvino" in missing else Severity.NOTE
    title = f"It could be faster: {', '.join(_NAMES.get(name, name) for name in missing)} is not in use."
    return Finding("accelerators-missing", severity, title, evidence, advice)


def gpu_fell_back(state: State) -> Finding | None:
    """Models that were to be computed on a GPU are computed on the CPU. When: this ONNX Runtime has a provider for a
    GPU (CUDA or TensorRT) that could not be used at the start, or that failed later: ONNX Runtime then goes on with the
    next by itself. Of worker processes only what was so at the start is known. Where a provider is asked for by name,
    the service doesn't start without it.
    """
    if not state.build.fell_back:
        return None
    path = "engine.ppocr.onnxruntime.provider"
    now = value_of(state.settings, path)
    evidence = (
        Evidence("reason", state.build.fell_back),
        Evidence("computed by", state.build.inference_engine),
        *([Evidence(path, now)] if isinstance(now, str) else []),
    )
    advice = (
        Advice(
            "Install what ONNX Runtime says on standard error, and restart the service (docs/guides/several-gpus.md)."
        ),
        Advice("Or let the CPU compute on purpose.", path, "cpu", now if isinstance(now, str) else None),
    )
    title = "The GPU is not used: its execution provider fell back to the CPU."
    return Finding("gpu-fell-back", Severity.WARNING, title, evidence, advice)


def batches_capped(state: State) -> Finding | None:
    """Calls of the recogniser can't have many lines. When: `engine.ppocr.batching.max_batch` is under 4."""
    path = "engine.ppocr.batching.max_batch"
    most = value_of(state.settings, path)
    if not embedded(state) or not isinstance(most, int) or most >= 4:
        return None
    evidence = (Evidence(path, most, against="under 4"),)
    advice = Advice("Allow for larger batches.", path, 16, most)
    title = "Lines of text are read nearly one by one."
    return Finding("batches-capped", Severity.NOTE, title, evidence, (advice,))


def house_small(state: State) -> Finding | None:
    """The engine can't be filled. When: `limits.max_in_flight` lets fewer documents in than pages may be at the engine
    (`concurrent_pages`): documents of one page leave places empty.
    """
    path = "engine.ppocr.concurrent_pages" if embedded(state) else "engine.vllm.concurrent_pages"
    documents, pages = value_of(state.settings, "limits.max_in_flight"), value_of(state.settings, path)
    if not isinstance(documents, int) or not isinstance(pages, int) or documents >= pages:
        return None
    evidence = (Evidence("limits.max_in_flight", documents, against=f"under {path}, {pages}"),)
    advice = Advice("Let more documents in.", "limits.max_in_flight", 4 * pages, documents)
    title = "Fewer documents are let in than the engine can read at once."
    return Finding("house-small", Severity.WARNING, title, evidence, (advice,))


def vllm_flags_overridden(state: State) -> Finding | None:
    """Flags of one's own change what the model's preset has. When: `engine.vllm.managed.extra_flags` gives a flag of
    the preset another value.
    """
    extra = value_of(state.settings, "engine.vllm.managed.extra_flags")
    if embedded(state) or value_of(state.settings, "engine.vllm.urls") or not isinstance(extra, list | tuple):
        return None
    try:
        preset = find_preset(str(value_of(state.settings, "engine.vllm.preset") or state.build.engine))
    except InputRejected:
        return None
    wanted = parsed(preset.launch.arguments())
    changed = {name: value for name, value in parsed([str(flag) for flag in extra]).items() if name in wanted}
    evidence = tuple(
        Evidence(name, value, against=f"the preset has {wanted[name]}")
        for name, value in changed.items()
        if value != wanted[name]
    )
    if not evidence:
        return None
    advice = Advice(
        "Leave them out: the model was tried with those of the preset.", "engine.vllm.managed.extra_flags", "[]"
    )
    title = f"Flags of vLLM differ from those of the preset `{preset.name}`."
    return Finding("vllm-flags-overridden", Severity.NOTE, title, evidence, (advice,))


def metrics_off(state: State) -> Finding | None:
    """Nobody can see what happens. When: `metrics.enabled` is false."""
    if value_of(state.settings, "metrics.enabled") is not False:
        return None
    advice = Advice("Serve them: they cost next to nothing.", "metrics.enabled", value=True, now=False)
    evidence = (Evidence("metrics.enabled", "false"),)
    return Finding("metrics-off", Severity.NOTE, "Metrics are not served.", evidence, (advice,))


def _usual_s(name: str) -> int:
    return {"limits.time_s": 600, "engine.vllm.first_token_s": 120, "engine.vllm.managed.start_s": 900}.get(name, 60)


def _useful(name: str, state: State) -> bool:
    """Whether it could be in use: OpenVINO by the embedded engine, CUDA by models on a GPU, TensorRT by ONNX models."""
    if name == "openvino":
        return embedded(state)
    if name == "tensorrt":
        return bool(state.gpus) and "onnx" in state.build.inference_engine.lower()
    return name != "cuda" or (bool(state.gpus) and not embedded(state))


def _install(name: str, state: State) -> Advice:
    runtime = value_of(state.settings, "engine.ppocr.runtime")
    if name == "openvino" and runtime == "onnxruntime":
        return Advice("Let OpenVINO compute the models.", "engine.ppocr.runtime", "auto", runtime)
    return Advice(_INSTALL.get(name, f"Install {name} into the service's environment, and start it again."))


_NAMES = {"uvloop": "uvloop", "openvino": "OpenVINO", "cuda": "CUDA", "tensorrt": "TensorRT"}
_INSTALL = {
    "uvloop": "Install it into the service's environment: `pip install uvloop`.",
    "openvino": "Install it into the service's environment: `pip install openvino`.",
    "cuda": "A GPU is there: install builds of the engine's packages for CUDA.",
    "tensorrt": "A GPU is there: install the build of ONNX Runtime that has TensorRT.",
}
