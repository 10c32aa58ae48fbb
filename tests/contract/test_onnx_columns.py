"""Columns found by ONNX Runtime where the softmax is, as on a GPU: here in the CPU's memory, by the same calls."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.errors import EngineFailed
from inkgate.runtimes import models as files
from inkgate.runtimes.base import FloatArray
from inkgate.runtimes.choose import open_runtime
from inkgate.runtimes.onnx import ON_CPU, OnnxDeviceColumns, OnnxModel, OnnxRuntime
from inkgate.runtimes.providers import Accelerator, ProviderRequest
from inkgate.settings import OnnxRuntimeSettings, Precision, Provider, RuntimeName

ON_CUDA = Accelerator(Provider.CUDA, ProviderRequest(OnnxRuntimeSettings(provider=Provider.CUDA)))


def tensor(lines: int, width: int) -> FloatArray:
    return np.random.default_rng(width).random((lines, 3, 48, width), np.float32) * 2 - 1


def test_they_are_bit_for_bit_those_that_numpy_finds() -> None:
    here = OnnxRuntime(1).open_columns(files.text_recognition())
    there = OnnxDeviceColumns(files.text_recognition(), 1, ON_CPU)
    assert dict(there.metadata) == dict(here.metadata)
    for each in (tensor(1, 96), tensor(3, 160)):
        expected, found = here.run(each), there.run(each)
        for name in ("best", "probability", "last"):
            one, other = getattr(found, name), getattr(expected, name)
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_results_are_kept_through_the_next_call() -> None:
    model = OnnxDeviceColumns(files.text_recognition(), 1, ON_CPU)
    first = model.run(tensor(1, 96))
    kept = first.probability.copy()
    model.run(tensor(1, 96)[:, :, ::-1].copy())
    assert np.array_equal(first.probability, kept)


def test_a_gpu_that_was_asked_for_and_can_t_be_used_is_an_error() -> None:
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(EngineFailed) as failed:
        OnnxModel(files.line_orientation(), 1, ON_CUDA)
    assert failed.value.code == "provider_unavailable"
    with pytest.raises(EngineFailed, match="onnxruntime-gpu"):
        open_runtime(RuntimeName.AUTO, Precision.AUTO, 1, None, ON_CUDA.request)


def test_onnx_runtime_computes_on_the_cpu_where_nothing_else_is_there() -> None:
    assert open_runtime(RuntimeName.ONNXRUNTIME, Precision.AUTO, 1, None, ProviderRequest()).name == "onnxruntime f32"
