"""Chooses the runtime for the models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import structlog

from inkgate.runtimes import models as files
from inkgate.runtimes.base import Runtime
from inkgate.runtimes.cpu import cpu_flags, int8_pays
from inkgate.runtimes.onnx import OnnxRuntime
from inkgate.runtimes.providers import ProviderRequest
from inkgate.settings import Precision, RuntimeName

log = structlog.get_logger(__name__)


def open_runtime(
    name: RuntimeName,
    precision: Precision,
    threads: int,
    cache: Path | None = None,
    request: ProviderRequest | None = None,
) -> Runtime:
    """The runtime with this name. `auto`: OpenVINO if it is installed (its wheels are for x86-64 and ARM), else ONNX
    Runtime, which computes in float32 only. `cache`: folder for models that OpenVINO compiled. `request`: the provider
    for ONNX Runtime, which is used for a GPU whatever the name; None: the CPU.

    Raises:
        EngineFailed: "provider_unavailable": by the provider.
    """
    gpu = request is not None and request.gpu
    if gpu or name is RuntimeName.ONNXRUNTIME or (name is RuntimeName.AUTO and find_spec("openvino") is None):
        return OnnxRuntime(threads, request)
    # Imported here: it takes a quarter of a second, which the other runtime should not pay.
    from inkgate.runtimes.openvino import OpenVinoRuntime

    if precision is Precision.AUTO and int8_pays(cpu_flags()) and is_calibrated(files.text_recognition()):
        precision = Precision.INT8
    return OpenVinoRuntime(threads, precision.value, cache)


def is_calibrated(model: Path) -> bool:
    """Whether a model file is the one that was calibrated for int8. If it is another, that is logged and `auto`
    continues without int8. A missing file is reported by the code that opens it.
    """
    calibration = files.calibration_of(model)
    if calibration is None or not model.exists():
        return False
    if not calibration.fits(model):
        log.warning("int8_not_used", model=model.name, reason="It is not the version calibrated for int8.")
        return False
    return True
