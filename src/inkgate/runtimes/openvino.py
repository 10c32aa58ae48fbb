"""OpenVINO on the CPU: models compiled for it, in the precision it computes fastest in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import numpy as np

# OpenVINO's tools, which its package imports, tell their maker of their use by this one where it can be imported, and
# go without it where it can't. A service that reads people's documents sends nothing to anybody.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: import it, and it is not there

import openvino  # noqa: E402 - see above
from openvino import opset13 as ops  # noqa: E402 - see above

from inkgate.runtimes.base import Columns, FloatArray  # noqa: E402 - see above
from inkgate.runtimes.int8 import calibration_of  # noqa: E402 - see above

_DEVICE = "CPU"
_CACHED_KERNELS = 2000
"""Of each kind of layer and model, those last used: OpenVINO makes kernels for each shape of input and keeps 5,000 of
a kind. This many serve fifty sizes of page, or a hundred numbers and widths of lines, without making any again, and
bound the memory that they take to about 300 MB a model, whatever comes."""


@cache
def _core() -> openvino.Core:
    """One for the process, and never given up.

    The CPU plugin of a Core gives the thread that first uses it a stack for signal handlers. Where another thread
    then drops the Core, the plugin unmaps that stack and leaves it set, and the process dies at its next signal.
    """
    return openvino.Core()


class OpenVinoRuntime:
    """A Runtime. One model uses all its threads for one call (OpenVINO's LATENCY mode)."""

    def __init__(self, threads: int, precision: str = "auto", cache: Path | None = None) -> None:
        """`threads`: for one call of a model; 0: one for each core. `precision`: `f32`, `bf16`, `auto`: bf16 where the
        CPU has instructions for it; `int8`: what models are calibrated for is in int8, all else as in `auto`. `cache`:
        folder in which compiled models are kept.
        """
        self._core = _core()
        self._int8 = precision == "int8"
        floats = precision
        if precision in ("auto", "int8"):
            floats = "bf16" if "BF16" in self._core.get_property(_DEVICE, "OPTIMIZATION_CAPABILITIES") else "f32"
        self.name = f"openvino int8+{floats}" if self._int8 else f"openvino {floats}"
        self._config: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": floats,
            "INFERENCE_NUM_THREADS": threads,
            "CPU_RUNTIME_CACHE_CAPACITY": _CACHED_KERNELS,
        }
        if cache is not None:
            self._config["CACHE_DIR"] = str(cache)

    @property
    def fell_back(self) -> str:
        """See Runtime. It computes on the CPU alone."""
        return ""

    def open(self, path: Path) -> OpenVinoModel:
        """Raises RuntimeError where the file is no model, or is to be in int8 and not the version calibrated for it."""
        model = self._model(path)
        return OpenVinoModel(self._compiled(model), _metadata(model))

    def open_columns(self, path: Path) -> OpenVinoColumns:
        """Raises RuntimeError as `open`, and where the model doesn't end in a softmax."""
        model = self._model(path)
        return OpenVinoColumns(OpenVinoModel(self._compiled(with_columns(model)), _metadata(model)))

    def _model(self, path: Path) -> openvino.Model:
        model = self._core.read_model(path)
        calibration = calibration_of(path) if self._int8 else None
        if calibration is None:
            return model
        if not calibration.fits(path):
            raise RuntimeError(
                f"{path.name} is not the version that was calibrated for int8 (its sha256 is not "
                f"{calibration.sha256}): set engine.ppocr.precision to auto, bf16 or f32."
            )
        return with_int8(model, calibration.ranges)

    def _compiled(self, model: openvino.Model) -> openvino.CompiledModel:
        # By position alone: the names that OpenVINO makes up for tensors count what the process made before, and with
        # them the cache wouldn't find a model again.
        for operation in model.get_ops():
            for output in operation.outputs():
                output.get_tensor().set_names(set())
        return self._core.compile_model(model, _DEVICE, self._config)


class OpenVinoModel:
    """A Model."""

    def __init__(self, compiled: openvino.CompiledModel, metadata: dict[str, str]) -> None:
        self.metadata = metadata
        self._compiled = compiled
        # A request holds the tensors of one call: as many are made as calls were ever under way at once.
        self._requests: LifoQueue[openvino.InferRequest] = LifoQueue()

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """See Model. Outputs are in the type that the model has them in."""
        try:
            request = self._requests.get_nowait()
        except Empty:
            request = self._compiled.create_infer_request()
        try:
            found = request.infer([tensor], share_inputs=True)
            return [np.asarray(found[output]) for output in self._compiled.outputs]
        finally:
            self._requests.put(request)


class OpenVinoColumns:
    """A ColumnModel."""

    def __init__(self, model: OpenVinoModel) -> None:
        self.metadata = model.metadata
        self._model = model

    def run(self, tensor: FloatArray) -> Columns:
        """See ColumnModel."""
        best, probability, last = self._model.run(tensor)
        return Columns(best.astype(np.int32), probability, last)


def with_int8(model: openvino.Model, ranges: Mapping[str, tuple[float, float]]) -> openvino.Model:
    """The model, with the convolutions that are named in int8: see Calibration. It is changed in place.

    Said by FakeQuantize before their inputs, 256 steps in the range, and on their weights, 255 steps around 0 for each
    channel of the output: OpenVINO makes integers of both. Asymmetric on one side and symmetric on the other is what
    it computes fastest in (NNCF calls it its mixed preset).
    """
    given: dict[tuple[str, int], openvino.Node] = {}
    for convolution in model.get_ordered_ops():
        between = ranges.get(convolution.get_friendly_name())
        if between is None:
            continue
        source, weights = convolution.input_value(0), convolution.input_value(1)
        key = (source.get_node().get_friendly_name(), source.get_index())
        low, high = (ops.constant(np.float32(each)) for each in between)
        given.setdefault(key, ops.fake_quantize(source, low, high, low, high, 256))
        most = np.abs(weights.get_node().data).max(axis=(1, 2, 3), keepdims=True)
        least, most = ops.constant(-most), ops.constant(most)
        convolution.input(0).replace_source_output(given[key].output(0))
        convolution.input(1).replace_source_output(ops.fake_quantize(weights, least, most, least, most, 255).output(0))
    return model


def with_columns(model: openvino.Model) -> openvino.Model:
    """The model with the three outputs of `Columns` in place of its softmax (N, T, classes).

    So the softmax never leaves the runtime: reading it back and looking for the largest in NumPy takes as long as a
    third of the model. The largest is looked for in two steps, the best of each group of classes and then in the best
    group: OpenVINO's TopK takes five times as long over all classes as its ReduceMax.
    """
    (softmax,) = (result.input_value(0) for result in model.get_results())
    classes = softmax.get_partial_shape()[2].get_length()
    groups = groups_of(classes)
    shape = np.array([0, 0, groups, classes // groups], np.int32)  # 0: as it was
    grouped = ops.reshape(softmax, ops.constant(shape), special_zero=True)
    group, _ = _largest(ops.reduce_max(grouped, ops.constant(np.array([3], np.int32))))
    within, probability = _largest(ops.gather(grouped, group, ops.constant(np.int32(2)), batch_dims=2))
    best = ops.add(ops.multiply(group, ops.constant(np.int32(classes // groups))), within)
    last = ops.gather(softmax, ops.constant(np.int32(classes - 1)), ops.constant(np.int32(2)))
    return openvino.Model([ops.result(output) for output in (best, probability, last)], model.get_parameters())


def groups_of(classes: int) -> int:
    """Into how many groups of one size classes are put: so that there are fewest groups, and classes in a group, to
    look through one by one. Of a prime: one group.
    """
    divisors = [count for count in range(1, classes + 1) if classes % count == 0]
    return min(divisors, key=lambda count: count + classes // count)


def _largest(numbers: openvino.Output) -> tuple[openvino.Node, openvino.Node]:
    """Where the largest of (N, T, K) is, (N, T) int32, and how large."""
    found = ops.topk(numbers, ops.constant(np.int32(1)), 2, "max", "none", index_element_type="i32")
    axis = ops.constant(np.array([2], np.int32))
    return ops.squeeze(found.output(1), axis), ops.squeeze(found.output(0), axis)


def _metadata(model: openvino.Model) -> dict[str, str]:
    """The metadata of the ONNX file, which OpenVINO keeps as `framework`."""
    if not model.has_rt_info("framework"):
        return {}
    names = model.get_rt_info("framework").value
    return {name: model.get_rt_info(["framework", name]).value for name in names}
