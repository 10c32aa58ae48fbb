"""ONNX Runtime sessions on the CPU, opened the same way for every model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The official builds of ONNX Runtime send usage data to their maker unless this is set before the library is loaded
# (its Privacy.md). A service that reads people's documents sends nothing to anybody: not a setting of ours.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - no setting of inkgate's: see above

import onnxruntime

FloatArray = NDArray[np.float32]


class OnnxModel:
    """A model with one input, on ONNX Runtime's CPU provider. `run` is safe from many threads at once."""

    def __init__(self, path: Path, threads: int) -> None:
        """Loads the model. `threads`: for one `run`; 0 lets the runtime take every core."""
        self._session = _opened(path, threads)
        self._input_name = self._session.get_inputs()[0].name
        self.metadata = _metadata(self._session)

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """All outputs of the model for one input tensor, in the model's order. Blocking."""
        outputs: Any = self._session.run(None, {self._input_name: tensor})
        return list(outputs)


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
