"""Which runtime computes the models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from inkgate.runtimes.base import Runtime
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.settings import Precision, RuntimeName


def open_runtime(name: RuntimeName, precision: Precision, threads: int, cache: Path | None = None) -> Runtime:
    """The runtime by its name. `auto`: OpenVINO where it is installed (its wheels are for x86-64 and ARM), else ONNX
    Runtime, which computes in float32 alone. `cache`: folder in which OpenVINO keeps models that it compiled.
    """
    if name is RuntimeName.ONNXRUNTIME or (name is RuntimeName.AUTO and find_spec("openvino") is None):
        return OnnxRuntime(threads)
    # Imported here: it takes a quarter of a second, which who chose the other need not wait.
    from inkgate.runtimes.openvino import OpenVinoRuntime

    return OpenVinoRuntime(threads, precision.value, cache)
