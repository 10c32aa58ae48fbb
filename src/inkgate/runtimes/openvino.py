"""OpenVINO on the CPU: models compiled for it, in the precision it computes fastest in."""

from __future__ import annotations

import sys
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

_DEVICE = "CPU"


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
        """`threads`: for one call of a model; 0: one for each core. `precision`: `f32`, `bf16`, or `auto`: bf16 where
        the CPU has instructions for it. `cache`: folder in which compiled models are kept.
        """
        self._core = _core()
        if precision == "auto":
            precision = "bf16" if "BF16" in self._core.get_property(_DEVICE, "OPTIMIZATION_CAPABILITIES") else "f32"
        self.name = f"openvino {precision}"
        self._config: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision,
            "INFERENCE_NUM_THREADS": threads,
        }
        if cache is not None:
            self._config["CACHE_DIR"] = str(cache)

    def open(self, path: Path) -> OpenVinoModel:
        """Raises RuntimeError where the file is no model."""
        model = self._core.read_model(path)
        return OpenVinoModel(self._compiled(model), _metadata(model))

    def open_columns(self, path: Path) -> OpenVinoColumns:
        """Raises RuntimeError where the file is no model that ends in a softmax."""
        model = self._core.read_model(path)
        return OpenVinoColumns(OpenVinoModel(self._compiled(with_columns(model)), _metadata(model)))

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
