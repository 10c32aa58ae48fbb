"""The port to runtimes: open models from ONNX files and run them on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]


class Model(Protocol):
    """A model with one input. `run` is safe from many threads at once."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Metadata in the file, such as its classes."""
        ...

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """All outputs for one input, in the model's order. Blocking."""
        ...


@dataclass(frozen=True, slots=True)
class Columns:
    """A text line column by column: N lines of T columns.

    Attributes:
        best: (N, T), the most likely class of each column.
        probability: (N, T), of that class.
        last: (N, T), the probability of the last class, which is the space.
    """

    best: IntArray
    probability: FloatArray
    last: FloatArray


class ColumnModel(Protocol):
    """A model from (N, 3, H, W) to a softmax over classes for each column, of which it returns only `Columns`: the
    whole softmax has 18,710 numbers per column. `run` is safe from many threads at once.
    """

    @property
    def metadata(self) -> Mapping[str, str]: ...

    def run(self, tensor: FloatArray) -> Columns:
        """Blocking."""
        ...


class Runtime(Protocol):
    """Opens models. Errors are the runtime's own."""

    @property
    def name(self) -> str:
        """The runtime and its precision, such as `openvino bf16`."""
        ...

    @property
    def gpu(self) -> bool:
        """Whether its models run on a GPU."""
        ...

    @property
    def fell_back(self) -> str:
        """Why the models do not run on the GPU; empty if they do, or if there is none to use."""
        ...

    def open(self, path: Path) -> Model: ...

    def open_columns(self, path: Path) -> ColumnModel: ...
