"""A text model that computes its last product for few classes first, and for all of them only if needed.

The last product, to 18,710 classes, and the softmax over them take three tenths of the int8 recognition model's time;
15,908 of the classes are Han characters. So each column is first computed for all other classes. If the result is
uncertain, the column is computed for all classes; if it is then a Han character, so are all columns of its line,
because in a line of Han characters some columns are always uncertain. Measured on the model that is calibrated for
int8, and used only for it: docs/contributing/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkgate.runtimes.base import Columns, FloatArray, IntArray
from inkgate.runtimes.openvino_graphs import columns_of, openvino, ops

_SURE = 0.9
"""Minimum probability, among the first classes, at which the result is final."""
_LEAST_LOGIT = 12.0
"""Minimum of its logit, too: half of the columns of Han characters have less."""
_ROWS = (16, 32, 64)
"""Numbers of columns per call of the second product; beyond, multiples of the last: few, because each is another
shape."""
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))

_Mask = NDArray[np.bool_]


class _Model(Protocol):
    @property
    def metadata(self) -> Mapping[str, str]: ...

    def run(self, tensor: FloatArray) -> list[FloatArray]: ...


class TwoHeads:
    """A ColumnModel. `first` and `second`: from `split`; `classes`: the classes computed first."""

    def __init__(self, first: _Model, second: _Model, classes: IntArray) -> None:
        self.metadata = first.metadata
        self._first, self._second, self._classes = first, second, classes
        self._is_first = np.zeros(int(classes.max()) + 1, np.bool_)
        self._is_first[classes] = True

    def run(self, tensor: FloatArray) -> Columns:
        """See ColumnModel. A line's result does not depend on the other lines."""
        best, probability, last, most, features = self._first.run(tensor)
        found = Columns(self._classes[best.astype(np.int32)], probability.copy(), last.copy())
        unsure: _Mask = (probability < _SURE) | (most < _LEAST_LOGIT)
        self._ask_all(found, features, unsure)
        with_han = ~self._is_first[found.best].all(axis=1, keepdims=True)
        self._ask_all(found, features, with_han & ~unsure)
        return found

    def _ask_all(self, found: Columns, features: FloatArray, where: _Mask) -> None:
        """Computes these columns for all classes, and stores the results."""
        asked = features[where]
        if not len(asked):
            return
        rows = np.zeros((1, _rows(len(asked)), asked.shape[1]), np.float32)
        rows[0, : len(asked)] = asked
        best, probability, last = (output[0, : len(asked)] for output in self._second.run(rows))
        found.best[where], found.probability[where], found.last[where] = best, probability, last


def classes_first(characters: Sequence[str]) -> IntArray:
    """The classes computed first: all except Han characters. Class 0 is the blank, then come the characters, and the
    last is the space.
    """
    others = [place for place, character in enumerate(characters, start=1) if not _han(character)]
    return np.array([0, *others, len(characters) + 1], np.int32)


def split(model: openvino.Model, classes: IntArray) -> tuple[openvino.Model, openvino.Model]:
    """Two models from one that ends in a product, a bias and a softmax (N, T, all classes).

    The first has the outputs of `Columns` among `classes` only, `best` being an index into them, and two more: (N, T)
    the largest logit, and (N, T, F) the features before the product. The second maps (1, M, F) features to `Columns`
    among all classes.
    """
    bias, product = _last_product(model)
    features, weights = product.input_value(0), product.input_value(1).get_node().data
    constants = [each for each in (bias.input_value(0), bias.input_value(1)) if each.get_node() is not product]
    of_bias = next(each.get_node().data for each in constants if each.get_node().get_type_name() == "Constant")
    of_bias = of_bias.reshape(-1)
    few = _product(features, weights[:, classes], of_bias[classes])
    numbers = few.output(0)
    most = ops.reduce_max(numbers, ops.constant(np.array([2], np.int32)))
    outputs = (*columns_of(ops.softmax(numbers, 2).output(0)), most.output(0), features)
    results = [ops.result(output) for output in outputs]
    # Named explicitly: OpenVINO's generated name depends on what the process made before, so the cache would miss.
    given = ops.parameter([1, -1, weights.shape[0]], np.float32, name="features")
    every = ops.softmax(_product(given.output(0), weights, of_bias).output(0), 2)
    of_all = [ops.result(output) for output in columns_of(every.output(0))]
    return openvino.Model(results, model.get_parameters()), openvino.Model(of_all, [given])


def _last_product(model: openvino.Model) -> tuple[openvino.Node, openvino.Node]:
    """The bias of the last product, and that product."""
    node = model.get_results()[0].input_value(0).get_node()
    passed = []
    while node.get_type_name() != "MatMul":
        passed.append(node)
        node = node.input_value(0).get_node()
    return next(each for each in passed if each.get_type_name() == "Add"), node


def _product(source: openvino.Output, weights: FloatArray, bias: FloatArray) -> openvino.Node:
    product = ops.matmul(source, ops.constant(np.ascontiguousarray(weights)), transpose_a=False, transpose_b=False)
    return ops.add(product, ops.constant(np.asarray(bias, np.float32).reshape(1, 1, -1)))


def _rows(columns: int) -> int:
    return next((rows for rows in _ROWS if columns <= rows), math.ceil(columns / _ROWS[-1]) * _ROWS[-1])


def _han(character: str) -> bool:
    return any(first <= ord(character[0]) <= last for first, last in _HAN) if character else False
