"""GPUs without hardware: recorded readings, and a driver's library with fixed answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from inkgate.telemetry.gpu import GpuUnavailable
from inkgate_client.telemetry.state import Gpu


class RecordedGpu:
    """A GpuReader that plays readings one after the other and repeats the last one; an error is raised."""

    def __init__(self, *recorded: tuple[Gpu, ...] | GpuUnavailable) -> None:
        self._recorded: Sequence[tuple[Gpu, ...] | GpuUnavailable] = recorded
        self._next = 0

    def read(self) -> tuple[Gpu, ...]:
        found = self._recorded[min(self._next, len(self._recorded) - 1)]
        self._next += 1
        if isinstance(found, GpuUnavailable):
            raise found
        return found


class NvmlError(Exception):
    pass


class NotSupported(NvmlError):
    pass


class NoPermission(NvmlError):
    pass


class FunctionNotFound(NvmlError):
    pass


class FakeNvml:
    """The part of nvidia-ml-py that NvmlReader uses. An answer that is an error is raised."""

    NVML_TEMPERATURE_GPU = 0
    NVML_CLOCK_SM = 1
    NVMLError = NvmlError
    NVMLError_NotSupported = NotSupported
    NVMLError_NoPermission = NoPermission
    NVMLError_FunctionNotFound = FunctionNotFound

    def __init__(self, devices: int = 1) -> None:
        self.open = 0
        self.init: object = None
        self.devices: object = devices
        self.temperature: object = 61
        self.reasons: object = 0
        self.old_reasons: object = 0
        self.memory: object = SimpleNamespace(used=70 << 30, total=141 << 30)
        self.use: object = SimpleNamespace(gpu=97, memory=40)
        self.name: object = "NVIDIA H200"
        self.power: object = 412_500
        self.clock: object = 1980

    def nvmlInit(self) -> None:  # noqa: N802 - NVIDIA's names
        _answer(self.init)
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        if not self.open:
            raise NvmlError("Uninitialized")
        self.open -= 1

    def nvmlDeviceGetCount(self) -> object:  # noqa: N802
        return _answer(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> object:  # noqa: N802
        return ("gpu", index)

    def nvmlDeviceGetTemperatureV(self, handle: object, sensor: int) -> object:  # noqa: N802
        return _answer(self.temperature)

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> object:  # noqa: N802
        return _answer(self.temperature)

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> object:  # noqa: N802
        return _answer(self.reasons)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: object) -> object:  # noqa: N802
        return _answer(self.old_reasons)

    def nvmlDeviceGetMemoryInfo(self, handle: object) -> object:  # noqa: N802
        return _answer(self.memory)

    def nvmlDeviceGetUtilizationRates(self, handle: object) -> object:  # noqa: N802
        return _answer(self.use)

    def nvmlDeviceGetName(self, handle: object) -> object:  # noqa: N802
        return _answer(self.name)

    def nvmlDeviceGetPowerUsage(self, handle: object) -> object:  # noqa: N802
        return _answer(self.power)

    def nvmlDeviceGetClockInfo(self, handle: object, kind: int) -> object:  # noqa: N802
        return _answer(self.clock)


def _answer(value: object) -> object:
    if isinstance(value, Exception):
        raise value
    return value
