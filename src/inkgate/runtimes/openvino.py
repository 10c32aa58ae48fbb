"""OpenVINO on the CPU: models compiled for it in its fastest precision."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import numpy as np

from inkgate.runtimes.base import ColumnModel, Columns, FloatArray
from inkgate.runtimes.compiled import alone
from inkgate.runtimes.int8 import calibration_of
from inkgate.runtimes.openvino_graphs import openvino, with_columns, with_int8, with_upsampling_last
from inkgate.runtimes.openvino_heads import TwoHeads, classes_first, split

_DEVICE = "CPU"
_CACHED_KERNELS, _CACHED_KERNELS_OF_LINES = 1000, 2000
"""Kernel cache size per kind of layer and model: OpenVINO makes kernels for each input shape and keeps 5,000 of a kind
by default. This many suffice for about twenty-five page sizes, and a hundred numbers and widths of lines, without
recompiling, and bound memory for any input: docs/contributing/benchmarks.md."""


@cache
def _core() -> openvino.Core:
    """One per process, never released.

    The CPU plugin of a Core sets a signal stack for the first thread that uses it. If another thread then releases the
    Core, the plugin unmaps that stack but leaves it set, and the process dies at its next signal.
    """
    return openvino.Core()


class OpenVinoRuntime:
    """A Runtime. One model uses all its threads for one call (OpenVINO's LATENCY mode)."""

    gpu = False

    def __init__(self, threads: int, precision: str = "auto", cache: Path | None = None) -> None:
        """`threads`: for one call of a model; 0: one per core. `precision`: `f32`, `bf16`, `auto`: bf16 if the CPU has
        instructions for it; `int8`: calibrated models in int8, all others as in `auto`. `cache`: folder for compiled
        models.
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
        }
        self._cache = cache
        if cache is not None:
            self._config["CACHE_DIR"] = str(cache)

    @property
    def fell_back(self) -> str:
        """See Runtime. Always empty: it runs on the CPU only."""
        return ""

    def open(self, path: Path) -> OpenVinoModel:
        """Raises RuntimeError if the file is not a model, or int8 is set and it is not the calibrated version."""
        model = self._model(path)
        return OpenVinoModel(self._compiled(with_upsampling_last(model)), _metadata(model))

    def open_columns(self, path: Path) -> ColumnModel:
        """Raises RuntimeError as `open`, and if the model does not end in a softmax."""
        model = self._model(path)
        metadata = _metadata(model)
        if not self._int8 or calibration_of(path) is None:
            return OpenVinoColumns(OpenVinoModel(self._of_lines(with_columns(model)), metadata))
        classes = classes_first(metadata["character"].splitlines())
        first, second = (OpenVinoModel(self._of_lines(part), metadata) for part in split(model, classes))
        return TwoHeads(first, second, classes)

    def _of_lines(self, model: openvino.Model) -> openvino.CompiledModel:
        return self._compiled(model, _CACHED_KERNELS_OF_LINES)

    def _model(self, path: Path) -> openvino.Model:
        model = self._core.read_model(path)
        calibration = calibration_of(path) if self._int8 else None
        if calibration is None:
            return model
        if not calibration.fits(path):
            raise RuntimeError(
                f"{path.name} is not the version calibrated for int8 (its sha256 is not "
                f"{calibration.sha256}): set engine.ppocr.precision to auto, bf16 or f32."
            )
        return with_int8(model, calibration.ranges)

    def _compiled(self, model: openvino.Model, kernels: int = _CACHED_KERNELS) -> openvino.CompiledModel:
        # By position only: OpenVINO's generated tensor names depend on what the process made before, so the cache would
        # not find the model again.
        for operation in model.get_ops():
            for output in operation.outputs():
                output.get_tensor().set_names(set())
        config = {**self._config, "CPU_RUNTIME_CACHE_CAPACITY": kernels}
        with alone(self._cache):
            return self._core.compile_model(model, _DEVICE, config)


class OpenVinoModel:
    """A Model."""

    def __init__(self, compiled: openvino.CompiledModel, metadata: dict[str, str]) -> None:
        self.metadata = metadata
        self._compiled = compiled
        # A request holds the tensors of one call: there are as many as there were concurrent calls.
        self._requests: LifoQueue[openvino.InferRequest] = LifoQueue()

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """See Model. Outputs keep the model's types."""
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


def _metadata(model: openvino.Model) -> dict[str, str]:
    """The metadata of the ONNX file, which OpenVINO keeps as `framework`."""
    if not model.has_rt_info("framework"):
        return {}
    names = model.get_rt_info("framework").value
    return {name: model.get_rt_info(["framework", name]).value for name in names}
