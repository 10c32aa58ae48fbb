"""Which of ONNX Runtime's providers compute a model, and with what options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inkgate.errors import EngineFailed
from inkgate.runtimes.onnx import OnnxRuntime, files_off_provider
from inkgate.runtimes.providers import Accelerator, ProviderRequest, ShapeRange, accelerator
from inkgate.settings import OnnxRuntimeSettings, Provider

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
EVERY = [TENSORRT, CUDA, CPU]
RANGES = {"lines.onnx": ShapeRange("x", (1, 3, 48, 96), (4, 3, 48, 320), (8, 3, 48, 5120))}


def wanted(cache: Path | None = None, **settings: Any) -> ProviderRequest:  # noqa: ANN401 - values of settings
    return ProviderRequest(OnnxRuntimeSettings(**settings), RANGES, cache)


def test_a_gpu_is_taken_where_it_is_and_tensorrt_where_it_is_asked_for() -> None:
    cases = [
        (Provider.AUTO, [CPU], Provider.CPU),
        (Provider.AUTO, [CUDA, CPU], Provider.CUDA),
        (Provider.AUTO, EVERY, Provider.CUDA),
        (Provider.CPU, EVERY, Provider.CPU),
        (Provider.CUDA, EVERY, Provider.CUDA),
        (Provider.TENSORRT, EVERY, Provider.TENSORRT),
    ]
    wrong = [
        (asked, available, found)
        for asked, available, taken in cases
        if (found := accelerator(wanted(provider=asked), available).provider) is not taken
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("asked", "available", "missing"),
    [
        (Provider.CUDA, ["AzureExecutionProvider", CPU], CUDA),
        (Provider.TENSORRT, [CUDA, CPU], TENSORRT),
        (Provider.TENSORRT, [TENSORRT, CPU], CUDA),
    ],
)
def test_what_is_not_there_is_an_error_that_says_what_to_install(
    asked: Provider, available: list[str], missing: str
) -> None:
    with pytest.raises(EngineFailed) as failed:
        accelerator(wanted(provider=asked), available)
    assert failed.value.code == "provider_unavailable"
    assert all(word in failed.value.detail for word in (f"no {missing}", *available, "onnxruntime-gpu"))


def test_a_gpu_that_is_there_by_its_name_alone_is_told_of() -> None:
    with pytest.warns(UserWarning, match=CUDA):
        runtime = OnnxRuntime(1, wanted(), available=[CUDA, CPU])
    assert runtime.name == "onnxruntime f32"
    assert CUDA in runtime.fell_back
    assert OnnxRuntime(1, wanted(), available=[CPU]).fell_back == ""


class Session:
    """One that uses these providers."""

    def __init__(self, *providers: str) -> None:
        self._providers = list(providers)

    def get_providers(self) -> list[str]:
        return self._providers


def test_models_whose_provider_failed_are_named() -> None:
    on = Accelerator(Provider.TENSORRT, wanted())
    sessions = [(Session(*EVERY), "lines.onnx"), (Session(CUDA, CPU), "boxes.onnx")]
    assert files_off_provider(sessions, on) == ""
    assert files_off_provider([*sessions, (Session(CUDA, CPU), "lines.onnx")], on) == "lines.onnx"
    assert (
        files_off_provider([(Session(CPU), "lines.onnx"), (Session(CPU), "boxes.onnx")], on) == "boxes.onnx, lines.onnx"
    )


def test_the_cpu_is_last_and_has_nothing_to_choose() -> None:
    assert Accelerator().providers("lines.onnx") == [(CPU, {})]
    for provider in (Provider.CUDA, Provider.TENSORRT):
        assert Accelerator(provider, wanted()).providers("lines.onnx")[-1] == (CPU, {})


def test_cuda_is_told_the_device_its_memory_and_how_to_search() -> None:
    on = Accelerator(Provider.CUDA, wanted(device_id=1, gpu_memory_mb=2000, cudnn_search="exhaustive"))
    options = {
        "device_id": "1",
        "gpu_mem_limit": "2000000000",
        "arena_extend_strategy": "kSameAsRequested",
        "cudnn_conv_algo_search": "EXHAUSTIVE",
    }
    assert on.providers("lines.onnx") == [(CUDA, options), (CPU, {})]
    assert (on.name, on.device) == ("cuda f32", ("cuda", 1))


def test_cuda_s_memory_has_no_limit_and_algorithms_are_guessed_by_default() -> None:
    ((_, options), _) = Accelerator(Provider.CUDA, wanted()).providers("any.onnx")
    assert "gpu_mem_limit" not in options
    assert options["cudnn_conv_algo_search"] == "HEURISTIC"


def test_tensorrt_is_told_the_shapes_its_memory_and_where_to_keep_engines() -> None:
    on = Accelerator(Provider.TENSORRT, wanted(Path("/kept"), tensorrt_fp16=True, tensorrt_workspace_mb=512))
    first, second, _ = on.providers("lines.onnx")
    assert first == (
        TENSORRT,
        {
            "device_id": "0",
            "trt_max_workspace_size": "512000000",
            "trt_fp16_enable": "True",
            "trt_profile_min_shapes": "x:1x3x48x96",
            "trt_profile_opt_shapes": "x:4x3x48x320",
            "trt_profile_max_shapes": "x:8x3x48x5120",
            "trt_engine_cache_enable": "True",
            "trt_engine_cache_path": "/kept/tensorrt",
            "trt_timing_cache_enable": "True",
            "trt_timing_cache_path": "/kept/tensorrt",
        },
    )
    assert second[0] == CUDA
    assert on.name == "tensorrt f16"


def test_tensorrt_keeps_nothing_where_there_is_no_folder_and_computes_in_32_bits_by_default() -> None:
    on = Accelerator(Provider.TENSORRT, wanted())
    (_, options), *_ = on.providers("lines.onnx")
    assert not [name for name in options if "cache" in name or "fp16" in name]
    assert on.name == "tensorrt f32"


def test_models_of_any_shape_are_left_to_cuda() -> None:
    found = Accelerator(Provider.TENSORRT, wanted()).providers("pages.onnx")
    assert [name for name, _ in found] == [CUDA, CPU]
