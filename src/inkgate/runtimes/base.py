"""What an engine asks of a runtime: models that are opened from ONNX files, and run on arrays."""

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
        """What the file says about itself, such as its classes."""
        ...

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """All outputs for one input, in the model's order. Blocking."""
        ...


@dataclass(frozen=True, slots=True)
class Columns:
    """What a text line says, column by column: N lines of T columns.

    Attributes:
        best: (N, T), the likeliest class of each column.
        probability: (N, T), of that class.
        last: (N, T), the probability of the last class, which is the space.
    """

    best: IntArray
    probability: FloatArray
    last: FloatArray


class ColumnModel(Protocol):
    """A model from (N, 3, H, W) to a softmax over classes for each column, of which only `Columns` are wanted: the
    whole of it is 18,710 numbers a column. `run` is safe from many threads at once.
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
        """The runtime and the precision it computes in, such as `openvino bf16`."""
        ...

    @property
    def fell_back(self) -> str:
        """Why models that were to be computed on a GPU are not; empty where all is as it was meant."""
        ...

    def open(self, path: Path) -> Model: ...

    def open_columns(self, path: Path) -> ColumnModel: ...
