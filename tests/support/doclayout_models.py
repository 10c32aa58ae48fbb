"""ONNX models with the inputs and outputs of PP-DocLayoutV2 and V3 that return given boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper, save_model

from inkgate.layout.regions.doclayout import CLASSES
from inkgate_client.types import Box

INPUTS: Mapping[str, tuple[int, ...]] = {"im_shape": (1, 2), "image": (1, 3, 800, 800), "scale_factor": (1, 2)}


@dataclass(frozen=True)
class ModelBox:
    """A box of the model; `box` in shares of the page's width and height, `order` as V2's two columns."""

    label: str | int
    box: Box
    score: float = 0.9
    order: tuple[float, float] = (0.0, 0.0)

    def row(self, columns: int) -> list[float]:
        number = CLASSES.index(self.label) if isinstance(self.label, str) else self.label
        return [float(number), self.score, *self.box, *self.order, 0.0][:columns]


@dataclass(frozen=True)
class Graph:
    """The model's content: `count` of the boxes, all by default; `red`: confidences are the page's share of red."""

    columns: int = 7
    count: int | None = None
    red: bool = False
    outputs: int = 2
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: INPUTS)
    metadata: Mapping[str, str] = field(default_factory=dict)


def write_model(path: Path, found: Sequence[ModelBox], graph: Graph | None = None) -> Path:
    """Writes the model. Boxes are computed from `im_shape` and `scale_factor` as in the exported models."""
    graph = graph or Graph()
    rows = np.array([item.row(graph.columns) for item in found], dtype=np.float32).reshape(-1, graph.columns)
    count = np.array([len(rows) if graph.count is None else graph.count], dtype=np.int32)
    constants: dict[str, NDArray[Any]] = {
        "head": rows[:, :2],
        "only_score": np.stack([np.zeros(len(rows), np.float32), np.ones(len(rows), np.float32)], axis=1),
        "labels": rows[:, :2] * np.array([1, 0], np.float32),
        "shares": rows[:, 2:6],
        "tail": rows[:, 6:],
        "across": np.array([1, 0, 1, 0], dtype=np.int64),
        "first": np.array([0], dtype=np.int64),
        "counted": count,
    }
    declared = {"boxes": (TensorProto.FLOAT, ("n", graph.columns)), "number": (TensorProto.INT32, (1,))}
    model = helper.make_model(
        helper.make_graph(
            _nodes(graph),
            "doclayout",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in graph.inputs.items()],
            [helper.make_tensor_value_info(name, *declared[name]) for name in list(declared)[: graph.outputs]],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    helper.set_model_props(model, dict(graph.metadata))
    save_model(model, path)
    return path


def _nodes(graph: Graph) -> list[NodeProto]:
    make = helper.make_node
    placed = {"im_shape", "scale_factor"} <= set(graph.inputs)
    nodes = [make("Identity", ["counted"], ["number"])]
    if placed:
        nodes += [
            make("Gather", ["im_shape", "across"], ["size"], axis=1),
            make("Gather", ["scale_factor", "across"], ["factor"], axis=1),
            make("Div", ["size", "factor"], ["page"]),
            make("Mul", ["shares", "page"], ["places"]),
        ]
    else:
        nodes.append(make("Identity", ["shares"], ["places"]))
    if graph.red:
        nodes += [
            make("Gather", ["image", "first"], ["plane"], axis=1),
            make("ReduceMean", ["plane"], ["share"], keepdims=0),
            make("Mul", ["only_score", "share"], ["scores"]),
            make("Add", ["labels", "scores"], ["named"]),
        ]
    else:
        nodes.append(make("Identity", ["head"], ["named"]))
    return [*nodes, make("Concat", ["named", "places", "tail"], ["boxes"], axis=1)]
