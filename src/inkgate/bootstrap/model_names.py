"""Names of the models, for labels of metrics and for /state."""

from __future__ import annotations

from collections.abc import Mapping

from inkgate.engines.vllm.preset import Preset
from inkgate.runtimes.base import Runtime
from inkgate.settings import TransformersSettings, VllmSettings
from inkgate.telemetry.metrics import NO_MODEL, ModelName

_PPOCR = "PP-OCRv6 small"


def own_model(runtime: Runtime) -> ModelName:
    """The embedded engine's model."""
    return ModelName(_PPOCR, runtime.name)


def served_model(preset: Preset, vllm: VllmSettings) -> ModelName:
    """A model on vLLM, by its name on the server."""
    return ModelName(vllm.model or preset.served_names[0], "vllm")


def loaded_model(preset: Preset, transformers: TransformersSettings) -> ModelName:
    """A model in this process."""
    return ModelName(transformers.model or preset.served_names[0], "transformers")


def others(own: ModelName) -> Mapping[str, ModelName]:
    """Models of other engines that may read pages, by engine name. `own`: of the embedded engine."""
    return {"ppocr": own, "text_layer": NO_MODEL}
