"""Counts the operations of a model for an input, and measures the machine's peak: the bound of the engine.

Counts multiplications and additions of convolutions and matrix products (2 for each pair), by the shapes that OpenVINO
infers for the input. Other operations (activations, softmax, resizing) are left out, as if they took no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from time import perf_counter

import numpy as np

from inkgate.runtimes.base import ColumnModel, Columns, FloatArray, Model, Runtime

# Imported from there, where OpenVINO's telemetry is turned off.
from inkgate.runtimes.openvino_graphs import openvino, ops

Shape = tuple[int, ...]
COUNTED = frozenset(
    ("Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData", "MatMul")
)
PEAK_SIDE = 2048
"""Size of the matrices whose product measures the peak: 17 GFLOP, 12 to 48 MB."""


@dataclass
class Calls:
    """Calls of a model. `seconds`, `flops`: sums over all calls."""

    calls: int = 0
    seconds: float = 0.0
    flops: float = 0.0


class CountingRuntime:
    """A Runtime around another that records time and operations of its models."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = runtime.name
        self.fell_back = runtime.fell_back
        self.gpu = runtime.gpu
        self.models: dict[str, Calls] = {}
        self._runtime = runtime

    def open(self, path: Path) -> Model:
        return _CountingModel(self._runtime.open(path), path, self._calls(path))

    def open_columns(self, path: Path) -> ColumnModel:
        return _CountingColumns(self._runtime.open_columns(path), path, self._calls(path))

    def _calls(self, path: Path) -> Calls:
        return self.models.setdefault(path.stem, Calls())

    def forget(self) -> None:
        """Resets the counts, for example after a warm-up."""
        for calls in self.models.values():
            calls.calls, calls.seconds, calls.flops = 0, 0.0, 0.0


class _CountingModel:
    def __init__(self, model: Model, path: Path, calls: Calls) -> None:
        self.metadata = model.metadata
        self._model, self._path, self._calls = model, path, calls

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        started = perf_counter()
        try:
            return self._model.run(tensor)
        finally:
            _count(self._calls, self._path, tensor.shape, perf_counter() - started)


class _CountingColumns:
    def __init__(self, model: ColumnModel, path: Path, calls: Calls) -> None:
        self.metadata = model.metadata
        self._model, self._path, self._calls = model, path, calls

    def run(self, tensor: FloatArray) -> Columns:
        started = perf_counter()
        try:
            return self._model.run(tensor)
        finally:
            _count(self._calls, self._path, tensor.shape, perf_counter() - started)


def _count(calls: Calls, path: Path, shape: Shape, seconds: float) -> None:
    calls.calls += 1
    calls.seconds += seconds
    calls.flops += shape[0] * flops_of(path, (1, *shape[1:]))


@cache
def _core() -> openvino.Core:
    """Never freed: see inkgate.runtimes.openvino."""
    return openvino.Core()


@cache
def flops_of(path: Path, shape: Shape) -> float:
    """Operations of one call of the model in this file with an input of this shape."""
    model = _core().read_model(path)
    model.reshape(openvino.PartialShape(list(shape)))
    return 2.0 * sum(map(pairs_of, model.get_ordered_ops()))


def pairs_of(node: openvino.Node) -> int:
    """Number of multiplications of a graph's operation, each with an addition.

    Unknown dimensions count as 1: in these models, only the batch, which has one item.
    """
    kind = node.get_type_name()
    if kind not in COUNTED:
        return 0
    first, second = (_shape(node.get_input_partial_shape(place)) for place in (0, 1))
    result = _shape(node.get_output_partial_shape(0))
    if kind == "MatMul":
        transposed = node.get_attributes()["transpose_a"]
        return prod(result) * first[-2 if transposed else -1]
    filters = second[2:] if kind.startswith("Group") else second[1:]
    # A filter is applied once for each value of the output; in a transposed convolution, of the input.
    return prod(first if "Backprop" in kind else result) * prod(filters)


def _shape(partial: openvino.PartialShape) -> Shape:
    return tuple(1 if length.is_dynamic else length.get_length() for length in partial)


def peak_flops(precision: str, threads: int, repeats: int = 12) -> float:
    """Operations a second of a large matrix product, the best of several."""
    product = _matrix_product(precision, threads)
    request = product.create_infer_request()
    tensor = np.random.default_rng(0).standard_normal((PEAK_SIDE, PEAK_SIDE), np.float32)
    request.infer([tensor])
    best = min(_seconds(request, tensor) for _ in range(repeats))
    return 2.0 * PEAK_SIDE**3 / best


def _seconds(request: openvino.InferRequest, tensor: FloatArray) -> float:
    started = perf_counter()
    request.infer([tensor], share_inputs=True, share_outputs=True)
    return perf_counter() - started


@cache
def _matrix_product(precision: str, threads: int) -> openvino.CompiledModel:
    side = PEAK_SIDE
    weights = np.random.default_rng(1).standard_normal((side, side), np.float32)
    given = ops.parameter([side, side], np.float32)
    model = openvino.Model(
        [ops.result(ops.matmul(given, ops.constant(weights), transpose_a=False, transpose_b=False))], [given]
    )
    config = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": threads,
    }
    return _core().compile_model(model, "CPU", config)
