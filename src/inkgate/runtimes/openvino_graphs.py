"""Changes to models' OpenVINO graphs that make them faster: skip what is not needed, or compute it in fewer bits.

All modules import OpenVINO from here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# OpenVINO's package imports this tool, if it can, to send usage data to Intel, and works without it. A service that
# reads people's documents must not send any.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: import it, and it is not there

import openvino  # noqa: E402 - see above
from openvino import opset13 as ops  # noqa: E402 - see above

from inkgate.runtimes.base import FloatArray, IntArray  # noqa: E402 - see above

__all__ = (
    "classes_first",
    "columns_of",
    "groups_of",
    "openvino",
    "ops",
    "split_last_product",
    "with_columns",
    "with_int8",
    "with_upsampling_last",
)

_TRANSPOSED = "ConvolutionBackpropData"
"""OpenVINO's name for a transposed convolution."""
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


def with_int8(model: openvino.Model, ranges: Mapping[str, tuple[float, float]]) -> openvino.Model:
    """The model with the named convolutions in int8: see Calibration. Changed in place.

    FakeQuantize nodes are added before their inputs, 256 steps in the range, and on their weights, 255 steps around 0
    for each output channel: OpenVINO turns both into integers. Asymmetric on one side and symmetric on the other is its
    fastest combination (NNCF calls it its mixed preset).
    """
    given: dict[tuple[str, int], openvino.Node] = {}
    for convolution in model.get_ordered_ops():
        between = ranges.get(convolution.get_friendly_name())
        if between is None:
            continue
        source, weights = convolution.input_value(0), convolution.input_value(1)
        key = (source.get_node().get_friendly_name(), source.get_index())
        low, high = (ops.constant(np.float32(each)) for each in between)
        given.setdefault(key, ops.fake_quantize(source, low, high, low, high, 256))
        numbers = _numbers(weights)
        bound = np.abs(numbers).max(axis=(1, 2, 3), keepdims=True)
        low, high = ops.constant(-bound), ops.constant(bound)
        convolution.input(0).replace_source_output(given[key].output(0))
        convolution.input(1).replace_source_output(
            ops.fake_quantize(ops.constant(numbers), low, high, low, high, 255).output(0)
        )
    return model


def with_columns(model: openvino.Model) -> openvino.Model:
    """The model with the three outputs of `Columns` in place of its softmax (N, T, classes).

    The softmax then never leaves the runtime: copying it and finding the maximum in NumPy takes a third of the model's
    time.
    """
    (softmax,) = (result.input_value(0) for result in model.get_results())
    return openvino.Model([ops.result(output) for output in columns_of(softmax)], model.get_parameters())


def columns_of(softmax: openvino.Output) -> tuple[openvino.Output, openvino.Output, openvino.Output]:
    """The three outputs of `Columns` from a softmax (N, T, classes).

    The maximum is found in two steps, the best of each group of classes and then within the best group: OpenVINO's TopK
    over all classes takes five times as long as its ReduceMax.
    """
    classes = softmax.get_partial_shape()[2].get_length()
    groups = groups_of(classes)
    shape = np.array([0, 0, groups, classes // groups], np.int32)  # 0: keep the dimension
    grouped = ops.reshape(softmax, ops.constant(shape), special_zero=True)
    group, _ = _largest(ops.reduce_max(grouped, ops.constant(np.array([3], np.int32))))
    within, probability = _largest(ops.gather(grouped, group, ops.constant(np.int32(2)), batch_dims=2))
    best = ops.add(ops.multiply(group, ops.constant(np.int32(classes // groups))), within)
    last = ops.gather(softmax, ops.constant(np.int32(classes - 1)), ops.constant(np.int32(2)))
    return best.output(0), probability.output(0), last.output(0)


def groups_of(classes: int) -> int:
    """Number of equal groups of classes that minimizes groups plus classes per group. For a prime number of classes:
    one group.
    """
    divisors = [count for count in range(1, classes + 1) if classes % count == 0]
    return min(divisors, key=lambda count: count + classes // count)


def _largest(numbers: openvino.Output) -> tuple[openvino.Node, openvino.Node]:
    """Index of the maximum of (N, T, K), (N, T) int32, and its value."""
    found = ops.topk(numbers, ops.constant(np.int32(1)), 2, "max", "none", index_element_type="i32")
    axis = ops.constant(np.array([2], np.int32))
    return ops.squeeze(found.output(1), axis), ops.squeeze(found.output(0), axis)


def with_upsampling_last(model: openvino.Model) -> openvino.Model:
    """The detection model with its last layers computed at a quarter of its resolution; any other model unchanged.

    It ends in two transposed convolutions of 2 by 2, each of which makes four pixels of one, independent of its
    neighbours. So they equal matrix products per input pixel, and pixels need to be rearranged only at the end.
    OpenVINO computes transposed convolutions in float32 only, and everything after the first of them on 24 large maps:
    a sixth of the model's time.
    """
    end = _upsampling(model)
    if end is None:
        return model
    up, bias, last_up, last_bias = (node.data for node in end[1:])
    middle = up.shape[1]
    # For each of the four pixels (row, column) that one becomes, all of its `middle` channels.
    first = up.transpose(2, 3, 1, 0).reshape(4 * middle, -1, 1, 1)
    # For each of the sixteen pixels that these become, its weights from the one of the four that it is part of.
    second = np.zeros((4, 4, 2, 2, middle), np.float32)
    for row, column in np.ndindex(4, 4):
        second[row, column, row // 2, column // 2] = last_up[:, 0, row % 2, column % 2]
    four = ops.relu(_of_pixels(end[0], first, np.tile(bias.ravel(), 4)))
    sixteen = ops.sigmoid(_of_pixels(four.output(0), second.reshape(16, 4 * middle, 1, 1), last_bias.ravel()))
    return openvino.Model([ops.result(ops.depth_to_space(sixteen, "blocks_first", 4))], model.get_parameters())


def _upsampling(model: openvino.Model) -> tuple[Any, ...] | None:
    """The input of the last layers, and the weights and the bias of both transposed convolutions; None if the model
    ends differently.
    """
    found: list[openvino.Node] = []
    source = model.get_results()[0].input_value(0)
    for kind in ("Sigmoid", "Add", _TRANSPOSED, "Relu", "Add", _TRANSPOSED):
        node = _behind_identities(source)
        if node.get_type_name() != kind or (kind == _TRANSPOSED and not _makes_four_of_one(node)):
            return None
        if kind in ("Add", _TRANSPOSED):
            found.insert(0, node.input_value(1).get_node())
        source = node.input_value(0)
    return (source, *found) if all(node.get_type_name() == "Constant" for node in found) else None


def _makes_four_of_one(node: openvino.Node) -> bool:
    attributes, weights = node.get_attributes(), node.input_value(1).get_shape()
    plain = attributes["pads_begin"] == attributes["pads_end"] == attributes["output_padding"] == [0, 0]
    return bool(plain and attributes["strides"] == list(weights)[2:] == [2, 2] and attributes["dilations"] == [1, 1])


def _behind_identities(output: openvino.Output) -> openvino.Node:
    node = output.get_node()
    while node.get_type_name() == "Identity":
        node = node.input_value(0).get_node()
    return node


def _of_pixels(source: openvino.Output, weights: FloatArray, bias: FloatArray) -> openvino.Node:
    """A convolution of 1 by 1."""
    constant = ops.constant(np.ascontiguousarray(weights, np.float32))
    product = ops.convolution(source, constant, [1, 1], [0, 0], [0, 0], [1, 1])
    return ops.add(product, ops.constant(np.asarray(bias, np.float32).reshape(1, -1, 1, 1)))


def classes_first(characters: Sequence[str]) -> IntArray:
    """The classes computed first: all except Han characters. Class 0 is the blank, then come the characters, and the
    last is the space.
    """
    others = [place for place, character in enumerate(characters, start=1) if not _han(character)]
    return np.array([0, *others, len(characters) + 1], np.int32)


def split_last_product(model: openvino.Model, classes: IntArray) -> tuple[openvino.Model, openvino.Model]:
    """Two models from one that ends in a product, a bias and a softmax (N, T, all classes).

    The first has the outputs of `Columns` among `classes` only, `best` being an index into them, and two more: (N, T)
    the largest logit, and (N, T, F) the features before the product. The second maps (1, M, F) features to `Columns`
    among all classes.
    """
    bias, product = _last_product(model)
    features, weights = product.input_value(0), _numbers(product.input_value(1))
    constants = [each for each in (bias.input_value(0), bias.input_value(1)) if each.get_node() is not product]
    of_bias = next(each.get_node().data for each in constants if each.get_node().get_type_name() == "Constant")
    of_bias = of_bias.reshape(-1)
    few = _product(features, weights[:, classes], of_bias[classes])
    numbers = few.output(0)
    max_logit = ops.reduce_max(numbers, ops.constant(np.array([2], np.int32)))
    outputs = (*columns_of(ops.softmax(numbers, 2).output(0)), max_logit.output(0), features)
    results = [ops.result(output) for output in outputs]
    # Named explicitly: OpenVINO's generated name depends on what the process made before, so the cache would miss.
    given = ops.parameter([1, -1, weights.shape[0]], np.float32, name="features")
    every = ops.softmax(_product(given.output(0), weights, of_bias).output(0), 2)
    of_all = [ops.result(output) for output in columns_of(every.output(0))]
    return openvino.Model(results, model.get_parameters()), openvino.Model(of_all, [given])


def _numbers(weights: openvino.Output) -> FloatArray:
    """The values of constant weights, which are stored as float32, or as int8 with scales."""
    node = weights.get_node()
    if node.get_type_name() == "Constant":
        return np.asarray(node.data)
    integers, scales = node.input_value(0).get_node(), node.input_value(1).get_node()
    return np.asarray(integers.input_value(0).get_node().data * scales.data, np.float32)


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


def _han(character: str) -> bool:
    return any(first <= ord(character[0]) <= last for first, last in _HAN) if character else False
