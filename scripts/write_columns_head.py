"""Writes src/inkgate/runtimes/columns_head.py: an ONNX model of some hundred bytes that reduces a softmax (N, T, C) to
`Columns`. Run it after changing the model here.

python scripts/write_columns_head.py [--check]
"""

from __future__ import annotations

import base64
import textwrap

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from generated import ROOT, write_or_check

TARGET = ROOT / "src" / "inkgate" / "runtimes" / "columns_head.py"
_TEXT = '''"""The ONNX model that finds the most likely class of each column on the device that holds the softmax.

scripts/write_columns_head.py has its source, and writes this file.
"""

from __future__ import annotations

from typing import Final

INPUT: Final = "softmax"
OUTPUTS: Final = ("best", "probability", "last")
"""(N, T) each: int32, float32, float32, from an input (N, T, C) float32."""
MODEL: Final = """
{coded}
"""
"""The model's file, in base64."""
'''


def model() -> ModelProto:
    """The model, in an old operator set for which every provider has kernels."""
    shape = ["N", "T"]
    nodes = [
        helper.make_node("ArgMax", ["softmax"], ["place"], axis=2, keepdims=0),
        helper.make_node("Cast", ["place"], ["best"], to=TensorProto.INT32),
        helper.make_node("ReduceMax", ["softmax"], ["probability"], axes=[2], keepdims=0),
        helper.make_node("Gather", ["softmax", "end"], ["last"], axis=2),
    ]
    outputs = [
        helper.make_tensor_value_info("best", TensorProto.INT32, shape),
        helper.make_tensor_value_info("probability", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("last", TensorProto.FLOAT, shape),
    ]
    taken = [helper.make_tensor_value_info("softmax", TensorProto.FLOAT, [*shape, "C"])]
    end = numpy_helper.from_array(np.array(-1, np.int64), "end")
    made = helper.make_model(
        helper.make_graph(nodes, "columns_head", taken, outputs, [end]),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=7,
    )
    checker.check_model(made)
    return made


def written() -> str:
    """The text of the module."""
    coded = base64.b64encode(model().SerializeToString(deterministic=True)).decode()
    return _TEXT.format(coded="\n".join(textwrap.wrap(coded, 116)))


if __name__ == "__main__":
    write_or_check({TARGET: written()})
