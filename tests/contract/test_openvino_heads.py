"""A text model that computes few classes first gives the same result as with all classes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from inkgate.runtimes.base import FloatArray
from inkgate.runtimes.openvino import TwoHeads
from inkgate.runtimes.openvino_graphs import classes_first, openvino, split_last_product, with_columns

CHARACTERS = ["a", "天", "b", "地", "c"]
FIRST = np.array([0, 1, 3, 5, 6], np.int32)
SURE = {"min_probability": 0.9, "min_logit": 12.0}


class ConstantModel:
    """A model that says the same whatever it is asked; `asked`: how many rows, each time."""

    metadata: dict[str, str] = {}  # noqa: RUF012 - never written

    def __init__(self, *outputs: FloatArray) -> None:
        self.outputs = list(outputs)

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        return self.outputs


class ClassFeatureModel:
    """The second product, from one feature, which is the class that is right, with a probability of 0.8."""

    metadata: dict[str, str] = {}  # noqa: RUF012 - never written

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        self.asked.append(tensor.shape)
        best = tensor[:, :, 0]
        return [best, np.full_like(best, 0.8), np.full_like(best, 0.1)]


def said(probability: list[list[float]], most: list[list[float]], right: list[list[int]]) -> ConstantModel:
    """Of lines whose columns are all taken for "b", the third of those asked first."""
    shape = np.array(right).shape
    return ConstantModel(
        np.full(shape, 2, np.float32),
        np.array(probability, np.float32),
        np.zeros(shape, np.float32),
        np.array(most, np.float32),
        np.array(right, np.float32)[:, :, None],
    )


def test_han_characters_are_asked_last() -> None:
    assert classes_first(CHARACTERS).tolist() == FIRST.tolist()


def test_who_is_sure_is_not_asked_again() -> None:
    second = ClassFeatureModel()
    found = TwoHeads(said([[0.95, 1]], [[20, 20]], [[3, 3]]), second, FIRST, **SURE).run(np.zeros(0, np.float32))
    assert found.best.tolist() == [[3, 3]]
    assert found.probability[0] == pytest.approx([0.95, 1])
    assert second.asked == []


@pytest.mark.parametrize(("probability", "most"), [(0.5, 20.0), (0.99, 3.0)])
def test_who_is_unsure_is_asked_for_all(probability: float, most: float) -> None:
    second = ClassFeatureModel()
    first = said([[0.95, probability]], [[20, most]], [[3, 5]])
    found = TwoHeads(first, second, FIRST, **SURE).run(np.zeros(0, np.float32))
    assert found.best.tolist() == [[3, 5]]
    assert found.probability[0] == pytest.approx([0.95, 0.8])
    assert found.last[0] == pytest.approx([0, 0.1])
    assert second.asked == [(1, 16, 1)]


def test_where_one_is_a_han_character_its_whole_line_is_asked_for_all() -> None:
    second = ClassFeatureModel()
    first = said([[0.5, 0.95], [0.95, 0.95]], [[20, 20], [20, 20]], [[2, 4], [4, 4]])
    found = TwoHeads(first, second, FIRST, **SURE).run(np.zeros(0, np.float32))
    assert found.best.tolist() == [[2, 4], [3, 3]]


def test_the_two_halves_of_a_model_say_what_the_whole_says() -> None:
    random = np.random.default_rng(2)
    classes = len(CHARACTERS) + 2
    weights = random.standard_normal((8, classes)).astype(np.float32)
    bias = random.standard_normal(classes).astype(np.float32)
    lines = random.standard_normal((3, 50, 8)).astype(np.float32)
    path = text_model(weights, bias)

    def opened(model: openvino.Model) -> openvino.CompiledModel:
        return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def read() -> openvino.Model:
        return openvino.Core().read_model(path)

    first, second = split_last_product(read(), FIRST)
    whole = [np.asarray(value) for value in opened(with_columns(read()))(lines).values()]
    few = [np.asarray(value) for value in opened(first)(lines).values()]
    numbers = lines @ weights + bias
    assert np.array_equal(FIRST[few[0].astype(int)], FIRST[numbers[:, :, FIRST].argmax(axis=2)])
    assert few[3] == pytest.approx(numbers[:, :, FIRST].max(axis=2), abs=1e-5)
    assert np.array_equal(few[4], lines)
    every = [np.asarray(value) for value in opened(second)(lines[:1]).values()]
    for expected, found in zip(whole, every, strict=True):
        assert found == pytest.approx(expected[:1], abs=1e-6)


def text_model(weights: FloatArray, bias: FloatArray) -> bytes:
    given, found = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["lines", "columns", size])
        for name, size in (("given", weights.shape[0]), ("found", weights.shape[1]))
    )
    nodes = [
        helper.make_node("MatMul", ["given", "weights"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["numbers"]),
        helper.make_node("Softmax", ["numbers"], ["found"], axis=2),
    ]
    constants = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")]
    graph = helper.make_graph(nodes, "text", [given], [found], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())
