"""ONNX Runtime's execution providers: which one runs a model, and its options.

Names of options are those of ONNX Runtime's documentation of its CUDA and TensorRT execution providers; all of them
occur in the libraries of onnxruntime-gpu 1.31. None of this has been run on a GPU yet (docs/guides/several-gpus.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from inkgate.errors import EngineFailed
from inkgate.settings import OnnxRuntimeSettings, Provider

NAMES: Final = {
    Provider.CPU: "CPUExecutionProvider",
    Provider.CUDA: "CUDAExecutionProvider",
    Provider.TENSORRT: "TensorrtExecutionProvider",
}
Options = dict[str, str]
_MB = 1_000_000
_YES: Final = "True"
"""Providers accept only strings as values, and TensorRT only these for booleans."""


@dataclass(frozen=True, slots=True)
class ShapeRange:
    """The shapes of a model's input `name`: minimum and maximum along each axis, and a typical one.

    TensorRT builds an engine for such a range, which is fastest at the typical shape and refuses a shape outside the
    range.
    """

    name: str
    min_shape: tuple[int, ...]
    typical_shape: tuple[int, ...]
    max_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """The provider configured for ONNX Runtime.

    Attributes:
        ranges: of the models that TensorRT may run, by file name.
        cache: folder for the engines that TensorRT built.
    """

    settings: OnnxRuntimeSettings = field(default_factory=OnnxRuntimeSettings)
    ranges: Mapping[str, ShapeRange] = field(default_factory=dict)
    cache: Path | None = None

    @property
    def gpu(self) -> bool:
        """Whether it names a GPU provider."""
        return self.settings.provider in (Provider.CUDA, Provider.TENSORRT)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The device for models: `provider` is never `auto`."""

    provider: Provider = Provider.CPU
    request: ProviderRequest = field(default_factory=ProviderRequest)

    @property
    def name(self) -> str:
        """The device and its precision."""
        if self.provider is Provider.TENSORRT:
            return f"tensorrt {'f16' if self.request.settings.tensorrt_fp16 else 'f32'}"
        return "cuda f32" if self.provider is Provider.CUDA else "f32"

    @property
    def device(self) -> tuple[str, int]:
        """Device of its tensors, in ONNX Runtime's terms."""
        return ("cpu", 0) if self.provider is Provider.CPU else ("cuda", self.request.settings.device_id)

    def providers(self, file: str) -> list[tuple[str, Options]]:
        """The providers for the model in a file of this name; the first that supports a part of it runs that part. The
        CPU is always the last. A model whose shapes are unbounded runs on CUDA, because TensorRT would rebuild it
        repeatedly.
        """
        found: list[tuple[str, Options]] = []
        settings, shapes = self.request.settings, self.request.ranges.get(file)
        if self.provider is Provider.TENSORRT and shapes is not None:
            found.append((NAMES[Provider.TENSORRT], tensorrt_options(settings, self.request.cache, shapes)))
        if self.provider is not Provider.CPU:
            found.append((NAMES[Provider.CUDA], cuda_options(settings)))
        return [*found, (NAMES[Provider.CPU], {})]


def accelerator(request: ProviderRequest, available: Sequence[str]) -> Accelerator:
    """The device to use. `available`: the names of the providers of the installed ONNX Runtime.

    `auto` is CUDA if available, and never TensorRT, which takes minutes to build a model for the first time.

    Raises:
        EngineFailed: "provider_unavailable": the configured one is not available.
    """
    provider = request.settings.provider
    if provider is Provider.AUTO:
        return Accelerator(Provider.CUDA if NAMES[Provider.CUDA] in available else Provider.CPU, request)
    # Parts that TensorRT does not support run on CUDA.
    needed = {NAMES[provider], *([NAMES[Provider.CUDA]] if provider is Provider.TENSORRT else [])}
    if not needed <= set(available):
        raise EngineFailed(
            "provider_unavailable",
            f"This ONNX Runtime has no {' and no '.join(sorted(needed - set(available)))}, but {', '.join(available)}: "
            "install onnxruntime-gpu instead of onnxruntime.",
        )
    return Accelerator(provider, request)


def cuda_options(settings: OnnxRuntimeSettings) -> Options:
    """Options of the CUDA provider.

    Memory grows only by what is requested: pages come in many sizes, and doubling would take most of a GPU that a
    language model needs. Convolution algorithms are chosen by heuristics unless the settings say otherwise: ONNX
    Runtime's default tries them all for each new shape, and most pages have one.
    """
    options = {
        "device_id": str(settings.device_id),
        "arena_extend_strategy": "kSameAsRequested",
        "cudnn_conv_algo_search": settings.cudnn_search.value.upper(),
    }
    if settings.gpu_memory_mb:
        options["gpu_mem_limit"] = str(round(settings.gpu_memory_mb * _MB))
    return options


def tensorrt_options(settings: OnnxRuntimeSettings, cache: Path | None, shapes: ShapeRange) -> Options:
    """Options of the TensorRT provider for a model whose input has such shapes."""
    options = {
        "device_id": str(settings.device_id),
        "trt_max_workspace_size": str(round(settings.tensorrt_workspace_mb * _MB)),
        "trt_profile_min_shapes": _profile(shapes.name, shapes.min_shape),
        "trt_profile_opt_shapes": _profile(shapes.name, shapes.typical_shape),
        "trt_profile_max_shapes": _profile(shapes.name, shapes.max_shape),
    }
    if settings.tensorrt_fp16:
        options["trt_fp16_enable"] = _YES
    if cache is not None:
        folder = str(cache / "tensorrt")
        options |= {"trt_engine_cache_enable": _YES, "trt_engine_cache_path": folder}
        options |= {"trt_timing_cache_enable": _YES, "trt_timing_cache_path": folder}
    return options


def _profile(name: str, shape: tuple[int, ...]) -> str:
    return f"{name}:{'x'.join(map(str, shape))}"
