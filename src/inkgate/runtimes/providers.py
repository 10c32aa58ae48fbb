"""ONNX Runtime's execution providers: which one computes a model, and with what options.

Names of options are those of ONNX Runtime's documents on its CUDA and TensorRT execution providers; all of them stand
in the libraries of onnxruntime-gpu 1.31. None of this has been run on a GPU yet (docs/guides/several-gpus.md).
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
"""Providers take text alone, and TensorRT's of truth values these words alone."""


@dataclass(frozen=True, slots=True)
class ShapeRange:
    """The shapes that a model's input `name` takes: the least and the most along each axis, and a usual one.

    TensorRT builds a model for such a range, is fastest at the usual shape, and refuses a shape outside.
    """

    name: str
    least: tuple[int, ...]
    usual: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What is asked of ONNX Runtime.

    Attributes:
        ranges: of the models that TensorRT may compute, by the names of their files.
        cache: folder in which TensorRT keeps what it built.
    """

    settings: OnnxRuntimeSettings = field(default_factory=OnnxRuntimeSettings)
    ranges: Mapping[str, ShapeRange] = field(default_factory=dict)
    cache: Path | None = None

    @property
    def gpu(self) -> bool:
        """Whether it is a GPU, by name."""
        return self.settings.provider in (Provider.CUDA, Provider.TENSORRT)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What models are computed on: `provider`, which is never `auto`."""

    provider: Provider = Provider.CPU
    wanted: ProviderRequest = field(default_factory=ProviderRequest)

    @property
    def name(self) -> str:
        """What computes, and in which precision."""
        if self.provider is Provider.TENSORRT:
            return f"tensorrt {'f16' if self.wanted.settings.tensorrt_fp16 else 'f32'}"
        return "cuda f32" if self.provider is Provider.CUDA else "f32"

    @property
    def device(self) -> tuple[str, int]:
        """Where its tensors are, as ONNX Runtime says it."""
        return ("cpu", 0) if self.provider is Provider.CPU else ("cuda", self.wanted.settings.device_id)

    def providers(self, file: str) -> list[tuple[str, Options]]:
        """The providers for the model in a file of this name, the first that can compute a part of it does. The CPU is
        the last always. A model whose shapes have no bounds is not for TensorRT, which would build it anew again and
        again: it is CUDA's.
        """
        found: list[tuple[str, Options]] = []
        settings, shapes = self.wanted.settings, self.wanted.ranges.get(file)
        if self.provider is Provider.TENSORRT and shapes is not None:
            found.append((NAMES[Provider.TENSORRT], tensorrt_options(settings, self.wanted.cache, shapes)))
        if self.provider is not Provider.CPU:
            found.append((NAMES[Provider.CUDA], cuda_options(settings)))
        return [*found, (NAMES[Provider.CPU], {})]


def accelerator(wanted: ProviderRequest, available: Sequence[str]) -> Accelerator:
    """What to compute on. `available`: the names of the providers that this build of ONNX Runtime has.

    `auto` is CUDA where it is there, and never TensorRT, which takes minutes to build a model for the first time.

    Raises:
        EngineFailed: "provider_unavailable": the one asked for isn't there.
    """
    asked = wanted.settings.provider
    if asked is Provider.AUTO:
        return Accelerator(Provider.CUDA if NAMES[Provider.CUDA] in available else Provider.CPU, wanted)
    # What TensorRT can't compute is CUDA's.
    needed = {NAMES[asked], *([NAMES[Provider.CUDA]] if asked is Provider.TENSORRT else [])}
    if not needed <= set(available):
        raise EngineFailed(
            "provider_unavailable",
            f"This ONNX Runtime has no {' and no '.join(sorted(needed - set(available)))}, but {', '.join(available)}: "
            "install onnxruntime-gpu in the place of onnxruntime.",
        )
    return Accelerator(asked, wanted)


def cuda_options(settings: OnnxRuntimeSettings) -> Options:
    """Options of the CUDA provider.

    Memory grows by what is asked for: pages come in many sizes, and doubling what is there would take most of a GPU
    that a language model needs. Algorithms of convolutions are guessed unless the settings say otherwise: trying them
    all, as ONNX Runtime does by itself, would be done again for each new shape, and most pages have one.
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
    """Options of the TensorRT provider for a model whose input takes such shapes."""
    options = {
        "device_id": str(settings.device_id),
        "trt_max_workspace_size": str(round(settings.tensorrt_workspace_mb * _MB)),
        "trt_profile_min_shapes": _profile(shapes.name, shapes.least),
        "trt_profile_opt_shapes": _profile(shapes.name, shapes.usual),
        "trt_profile_max_shapes": _profile(shapes.name, shapes.most),
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
