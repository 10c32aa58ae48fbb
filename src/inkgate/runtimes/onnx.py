"""ONNX Runtime on the CPU: sessions opened the same way for every model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkgate.runtimes.base import Columns, FloatArray

# The official builds of ONNX Runtime send usage data to their maker unless this is set before the library is loaded
# (its Privacy.md). A service that reads people's documents sends nothing to anybody: not a setting of ours.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - no setting of inkgate's: see above

import onnxruntime


class OnnxRuntime:
    """A Runtime, in float32."""

    name = "onnxruntime f32"

    def __init__(self, threads: int) -> None:
        """`threads`: for one call of a model; 0: one for each core."""
        self._threads = threads

    def open(self, path: Path) -> OnnxModel:
        """See Runtime."""
        return OnnxModel(path, self._threads)

    def open_columns(self, path: Path) -> OnnxColumns:
        """See Runtime."""
        return OnnxColumns(self.open(path))


class OnnxModel:
    """A Model, on ONNX Runtime's CPU provider."""

    def __init__(self, path: Path, threads: int) -> None:
        """Loads the model. `threads`: for one `run`; 0 lets the runtime take every core."""
        self._session = _opened(path, threads)
        self._input_name = self._session.get_inputs()[0].name
        self.metadata = _metadata(self._session)

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """All outputs of the model for one input tensor, in the model's order. Blocking."""
        outputs: Any = self._session.run(None, {self._input_name: tensor})
        return list(outputs)


class OnnxColumns:
    """A ColumnModel: the softmax is read back, and its columns are looked through here."""

    def __init__(self, model: OnnxModel) -> None:
        self.metadata = model.metadata
        self._model = model

    def run(self, tensor: FloatArray) -> Columns:
        """See ColumnModel."""
        (output,) = self._model.run(tensor)
        best = output.argmax(axis=2).astype(np.int32)
        return Columns(best, np.take_along_axis(output, best[:, :, None], axis=2)[:, :, 0], output[:, :, -1])


class OnnxGraph:
    """A model with several named inputs, otherwise as OnnxModel.

    Attributes:
        inputs, outputs: their shapes by name, in the model's order; a dimension is a string or None where it varies.
    """

    def __init__(self, path: Path, threads: int) -> None:
        """Loads the model. `threads`: for one `run`; 0 lets the runtime take every core."""
        self._session = _opened(path, threads)
        self.inputs: dict[str, list[int | str | None]] = {each.name: each.shape for each in self._session.get_inputs()}
        self.outputs: dict[str, list[int | str | None]] = {
            each.name: each.shape for each in self._session.get_outputs()
        }
        self.metadata = _metadata(self._session)

    def run(self, tensors: Mapping[str, FloatArray], wanted: Sequence[str]) -> list[NDArray[Any]]:
        """The outputs called `wanted`, for inputs by their names. Blocking. What is not wanted is not copied."""
        outputs: Any = self._session.run(list(wanted), dict(tensors))
        return list(outputs)


def _opened(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # The arena keeps the largest shape ever seen: with pages of all sizes that is memory never given back.
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _metadata(session: onnxruntime.InferenceSession) -> dict[str, str]:
    return dict(session.get_modelmeta().custom_metadata_map)
