"""The graph that OpenVINO computes `Columns` with, for any number of classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from inkgate.runtimes.openvino import OpenVinoRuntime
from inkgate.runtimes.openvino_graphs import groups_of


def test_classes_are_grouped_evenly() -> None:
    cases = [(1, 1), (7, 1), (12, 3), (36, 6), (18710, 10)]
    assert [(classes, found) for classes, groups in cases if (found := groups_of(classes)) != groups] == []


@pytest.mark.parametrize("classes", [1, 7, 12, 36])
def test_the_largest_is_found_wherever_it_is(classes: int, tmp_path: Path) -> None:
    """Each class is the likeliest of one column of two lines."""
    logits = np.random.default_rng(classes).random((2, classes, classes), np.float32)
    likeliest = np.stack([np.random.default_rng(seed).permutation(classes) for seed in (1, 2)])
    np.put_along_axis(logits, likeliest[:, :, None], np.float32(3), axis=2)
    path = tmp_path / "softmax.onnx"
    onnx.save(softmax_model(classes), path)
    runtime = OpenVinoRuntime(1, "f32")
    (softmax,) = runtime.open(path).run(logits)
    columns = runtime.open_columns(path).run(logits)
    assert np.array_equal(columns.best, likeliest)
    assert np.array_equal(columns.probability, softmax.max(axis=2))
    assert np.array_equal(columns.last, softmax[:, :, -1])


def softmax_model(classes: int) -> onnx.ModelProto:
    given, found = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["lines", "columns", classes])
        for name in ("given", "found")
    )
    node = helper.make_node("Softmax", ["given"], ["found"], axis=2)
    graph = helper.make_graph([node], "softmax", [given], [found])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
