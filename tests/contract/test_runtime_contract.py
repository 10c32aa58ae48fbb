"""What every runtime does, asked of each with the real models: the same numbers, as far as its precision goes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from inkgate.runtimes import models as files
from inkgate.runtimes.base import FloatArray, Runtime
from inkgate.runtimes.choose import open_runtime
from inkgate.runtimes.memory import release_kept_memory
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.settings import Precision, RuntimeName
from support.ppocr import drawn_line

TOLERANCE = {"onnxruntime f32": 1e-6, "openvino f32": 1e-4, "openvino bf16": 0.05, "openvino int8": 0.15}


@pytest.fixture(scope="module", params=list(TOLERANCE))
def runtime(request: pytest.FixtureRequest) -> Runtime:
    name, precision = request.param.split()
    return open_runtime(RuntimeName(name), Precision(precision), threads=1)


@pytest.fixture(scope="module")
def tolerance(runtime: Runtime) -> float:
    """Of probabilities, against float32. What of a network is not in int8 is in what the CPU has."""
    return TOLERANCE[runtime.name.partition("+")[0]]


def line(text: str) -> FloatArray:
    """(1, 3, 48, 320), black on white."""
    tensor = np.ones((1, 3, 48, 320), np.float32)
    pixels = drawn_line(text)[:48, :320].astype(np.float32) / 127.5 - 1
    tensor[0, :, : pixels.shape[0], : pixels.shape[1]] = pixels.transpose(2, 0, 1)
    return tensor


def test_its_name_says_its_precision(runtime: Runtime) -> None:
    assert runtime.name in {*TOLERANCE, "openvino int8+f32", "openvino int8+bf16"}


def test_columns_are_those_of_the_whole_softmax(runtime: Runtime, tolerance: float) -> None:
    tensor = line("Invoice")
    (softmax,) = OnnxRuntime(1).open(files.text_recognition()).run(tensor)
    columns = runtime.open_columns(files.text_recognition()).run(tensor)
    assert columns.best.dtype == np.int32
    assert (columns.best == softmax.argmax(axis=2)).mean() >= 0.95
    assert np.allclose(columns.probability, softmax.max(axis=2), atol=tolerance)
    assert np.allclose(columns.last, softmax[:, :, -1], atol=tolerance)


def test_columns_are_those_of_its_own_softmax(runtime: Runtime) -> None:
    """To the last bit; in int8, where most columns are asked for some of the classes alone, nearly."""
    off = 0.05 if "int8" in runtime.name else 0.0
    tensor = line("Invoice 2041")
    (softmax,) = runtime.open(files.text_recognition()).run(tensor)
    columns = runtime.open_columns(files.text_recognition()).run(tensor)
    assert np.array_equal(columns.best, softmax.argmax(axis=2))
    assert np.allclose(columns.probability, softmax.max(axis=2), rtol=0, atol=off)
    assert np.allclose(columns.last, softmax[:, :, -1], rtol=0, atol=off)


def test_outputs_and_metadata_are_those_of_the_file(runtime: Runtime) -> None:
    reference, model = (each.open(files.page_layout()) for each in (OnnxRuntime(1), runtime))
    tensor = np.random.default_rng(1).random((1, 3, 800, 608), np.float32)
    assert dict(model.metadata) == dict(reference.metadata)
    for found, expected in zip(model.run(tensor), reference.run(tensor), strict=True):
        assert found.dtype == np.float32
        assert found.shape == expected.shape
    assert list(runtime.open_columns(files.text_recognition()).metadata) == ["character"]


def test_a_model_computes_the_same_after_it_released_its_memory(runtime: Runtime) -> None:
    model = runtime.open_columns(files.text_recognition())
    tensor = line("Invoice")
    before = model.run(tensor)
    release_kept_memory()
    after = model.run(tensor)
    assert np.array_equal(before.best, after.best)
    assert np.array_equal(before.probability, after.probability)


def test_calls_from_many_threads_do_not_mix(runtime: Runtime) -> None:
    model = runtime.open_columns(files.text_recognition())
    tensors = [line(text) for text in ("one", "two", "three", "four")]
    alone = [model.run(tensor).best for tensor in tensors]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: model.run(tensors[number % 4]).best, range(24)))
    assert all(np.array_equal(found, alone[number % 4]) for number, found in enumerate(together))


def test_results_are_not_overwritten_by_the_next_call(runtime: Runtime) -> None:
    model = runtime.open(files.line_orientation())
    rng = np.random.default_rng(2)
    tensors = [rng.random((1, 3, 48, 192), np.float32) for _ in range(2)]
    (first,) = model.run(tensors[0])
    kept = first.copy()
    model.run(tensors[1])
    assert np.array_equal(first, kept)


def test_what_is_no_model_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(Exception, match=r"broken\.onnx|Unable to read|INVALID_PROTOBUF|Protobuf"):
        runtime.open(path)


def test_nobody_is_told_that_openvino_is_used() -> None:
    open_runtime(RuntimeName.OPENVINO, Precision.F32, threads=1)
    assert sys.modules["openvino_telemetry"] is None


DROPPED_BY_ANOTHER_THREAD = """
import signal, threading
from inkgate.runtimes.openvino import OpenVinoRuntime
runtimes = [OpenVinoRuntime(1)]
thread = threading.Thread(target=runtimes.clear)
thread.start()
thread.join()
signal.signal(signal.SIGTERM, lambda *_: print("stopping"))
signal.raise_signal(signal.SIGTERM)
"""


def test_a_signal_is_handled_after_a_runtime_was_dropped_by_another_thread() -> None:
    """OpenVINO 2026.4 unmaps the stack of the first thread's signal handlers with its last Core."""
    done = subprocess.run(
        [sys.executable, "-c", DROPPED_BY_ANOTHER_THREAD], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "stopping\n"), done.stderr
