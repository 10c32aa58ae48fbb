"""OpenVINO on the CPU: models compiled for it, in the precision it computes fastest in."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import numpy as np

from inkgate.runtimes.base import ColumnModel, Columns, FloatArray
from inkgate.runtimes.int8 import calibration_of
from inkgate.runtimes.openvino_graphs import openvino, with_columns, with_int8, with_upsampling_last
from inkgate.runtimes.openvino_heads import TwoHeads, classes_first, split

_DEVICE = "CPU"
_CACHED_KERNELS, _CACHED_KERNELS_OF_LINES = 1000, 2000
"""Of each kind of layer and model, those last used: OpenVINO makes kernels for each shape of input and keeps 5,000 of
a kind. So many serve about twenty-five sizes of page, and a hundred numbers and widths of lines, without making any
again, and bound the memory that they take, whatever comes: docs/contributing/benchmarks.md."""


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
        return OpenVinoModel(self._compiled(with_upsampling_last(model)), _metadata(model))

    def open_columns(self, path: Path) -> ColumnModel:
        """Raises RuntimeError as `open`, and where the model doesn't end in a softmax."""
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
                f"{path.name} is not the version that was calibrated for int8 (its sha256 is not "
                f"{calibration.sha256}): set engine.ppocr.precision to auto, bf16 or f32."
            )
        return with_int8(model, calibration.ranges)

    def _compiled(self, model: openvino.Model, kernels: int = _CACHED_KERNELS) -> openvino.CompiledModel:
        # By position alone: the names that OpenVINO makes up for tensors count what the process made before, and with
        # them the cache wouldn't find a model again.
        for operation in model.get_ops():
            for output in operation.outputs():
                output.get_tensor().set_names(set())
        return self._core.compile_model(model, _DEVICE, {**self._config, "CPU_RUNTIME_CACHE_CAPACITY": kernels})


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


def _metadata(model: openvino.Model) -> dict[str, str]:
    """The metadata of the ONNX file, which OpenVINO keeps as `framework`."""
    if not model.has_rt_info("framework"):
        return {}
    names = model.get_rt_info("framework").value
    return {name: model.get_rt_info(["framework", name]).value for name in names}
