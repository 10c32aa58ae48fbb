"""OpenVINO on the CPU: models compiled for it in its fastest precision."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkgate.runtimes.base import ColumnModel, Columns, FloatArray, IntArray, Model
from inkgate.runtimes.compiled import alone
from inkgate.runtimes.cpu import Cpu
from inkgate.runtimes.memory import add_keeper
from inkgate.runtimes.models import Calibration, calibration_of
from inkgate.runtimes.openvino_graphs import (
    classes_first,
    openvino,
    split_last_product,
    with_columns,
    with_int8,
    with_upsampling_last,
)

_DEVICE = "CPU"
_CACHED_KERNELS, _CACHED_KERNELS_OF_LINES = 1000, 2000
"""Kernel cache size per kind of layer and model: OpenVINO makes kernels for each input shape and keeps 5,000 of a kind
by default. This many suffice for about twenty-five page sizes, and a hundred numbers and widths of lines, without
recompiling, and bound memory for any input: benchmarks/results/2026-11.md."""
_ROWS = (16, 32, 64)
"""Numbers of columns per call of the second product; beyond, multiples of the last: few, because each is another
shape."""

_Mask = NDArray[np.bool_]


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
        """`threads`: for one call of a model; 0: one per core. `precision`: `f32`, `bf16`, `auto`: bf16 if the CPU is
        faster in it; `int8`: calibrated models in int8, all others as in `auto`. `cache`: folder for compiled
        models.
        """
        self._core = _core()
        self._int8 = precision == "int8"
        floats = precision
        if precision in ("auto", "int8"):
            known = "BF16" in self._core.get_property(_DEVICE, "OPTIMIZATION_CAPABILITIES")
            floats = "bf16" if known and Cpu.here().bf16_pays else "f32"
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
        """Always empty: OpenVINO runs on the CPU only."""
        return ""

    def open(self, path: Path) -> OpenVinoModel:
        """Raises RuntimeError if the file is not a model, or int8 is set and it is not the calibrated version."""
        model = self._model(path)
        return OpenVinoModel(self._compiled(with_upsampling_last(model)), _metadata(model))

    def open_columns(self, path: Path) -> ColumnModel:
        """Raises RuntimeError as `open`, and if the model does not end in a softmax."""
        model = self._model(path)
        metadata = _metadata(model)
        calibration = self._calibration(path)
        if calibration is None or calibration.min_probability is None or calibration.min_logit is None:
            return OpenVinoColumns(OpenVinoModel(self._of_lines(with_columns(model)), metadata))
        classes = classes_first(metadata["character"].splitlines())
        first, second = (OpenVinoModel(self._of_lines(part), metadata) for part in split_last_product(model, classes))
        return TwoHeads(first, second, classes, calibration.min_probability, calibration.min_logit)

    def _calibration(self, path: Path) -> Calibration | None:
        """The model's, if it runs in int8."""
        return calibration_of(path) if self._int8 else None

    def _of_lines(self, model: openvino.Model) -> openvino.CompiledModel:
        return self._compiled(model, _CACHED_KERNELS_OF_LINES)

    def _model(self, path: Path) -> openvino.Model:
        model = self._core.read_model(path)
        calibration = self._calibration(path)
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
        add_keeper(self)

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """Computes the outputs, which keep the model's types."""
        try:
            request = self._requests.get_nowait()
        except Empty:
            request = self._compiled.create_infer_request()
        try:
            found = request.infer([tensor], share_inputs=True)
            return [np.asarray(found[output]) for output in self._compiled.outputs]
        finally:
            self._requests.put(request)

    def release_memory(self) -> None:
        """Releases the memory of its largest call, unless one is in progress."""
        # OpenVINO refuses it while a call is in progress: then the memory is needed.
        with suppress(RuntimeError):
            self._compiled.release_memory()


class OpenVinoColumns:
    """A ColumnModel."""

    def __init__(self, model: OpenVinoModel) -> None:
        self.metadata = model.metadata
        self._model = model

    def run(self, tensor: FloatArray) -> Columns:
        best, probability, last = self._model.run(tensor)
        return Columns(best.astype(np.int32), probability, last)


class TwoHeads:
    """A ColumnModel that computes its last product for few classes first, and for all of them only if needed.

    The last product, to 18,710 classes, and the softmax over them take three tenths of the int8 recognition model's
    time; 15,908 of the classes are Han characters. So each column is first computed for all other classes. If the
    result is uncertain, the column is computed for all classes. If it is then a Han character, so are all columns of
    its line, because in a line of Han characters some columns are always uncertain. Measured on the small model in
    int8, and used only for it: benchmarks/results/2026-11.md, 2026-11-30-cascade.md.
    """

    def __init__(
        self, first: Model, second: Model, classes: IntArray, min_probability: float, min_logit: float
    ) -> None:
        """`first` and `second`: from `split_last_product`; `classes`: the classes computed first; the least probability
        and logit among them that are certain.
        """
        self.metadata = first.metadata
        self._first, self._second, self._classes = first, second, classes
        self._min_probability, self._min_logit = min_probability, min_logit
        self._is_first = np.zeros(int(classes.max()) + 1, np.bool_)
        self._is_first[classes] = True

    def run(self, tensor: FloatArray) -> Columns:
        """Computes the outputs. A line's result does not depend on the other lines."""
        best, probability, last, max_logit, features = self._first.run(tensor)
        found = Columns(self._classes[best.astype(np.int32)], probability.copy(), last.copy())
        unsure: _Mask = (probability < self._min_probability) | (max_logit < self._min_logit)
        self._compute_all(found, features, unsure)
        with_han = ~self._is_first[found.best].all(axis=1, keepdims=True)
        self._compute_all(found, features, with_han & ~unsure)
        return found

    def _compute_all(self, found: Columns, features: FloatArray, where: _Mask) -> None:
        """Computes these columns for all classes, and stores the results."""
        columns = features[where]
        if not len(columns):
            return
        rows = np.zeros((1, _rows(len(columns)), columns.shape[1]), np.float32)
        rows[0, : len(columns)] = columns
        best, probability, last = (output[0, : len(columns)] for output in self._second.run(rows))
        found.best[where], found.probability[where], found.last[where] = best, probability, last


def _rows(columns: int) -> int:
    return next((rows for rows in _ROWS if columns <= rows), math.ceil(columns / _ROWS[-1]) * _ROWS[-1])


def _metadata(model: openvino.Model) -> dict[str, str]:
    """The metadata of the ONNX file, which OpenVINO keeps as `framework`."""
    if not model.has_rt_info("framework"):
        return {}
    names = model.get_rt_info("framework").value
    return {name: model.get_rt_info(["framework", name]).value for name in names}
