"""Which runtime computes the models."""

from __future__ import annotations

from inkgate.runtimes.base import Runtime
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.settings import Precision, RuntimeName


def open_runtime(name: RuntimeName, precision: Precision, threads: int) -> Runtime:
    """The runtime by its name. `auto`: ONNX Runtime, which computes in float32 alone."""
    if name is not RuntimeName.OPENVINO:
        return OnnxRuntime(threads)
    # Imported here: it takes a quarter of a second, which who chose the other need not wait.
    from inkgate.runtimes.openvino import OpenVinoRuntime

    return OpenVinoRuntime(threads, precision.value)
