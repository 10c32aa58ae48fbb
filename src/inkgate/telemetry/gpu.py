"""Readings of GPUs: temperature, throttling, memory, utilization."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from inkgate.installation import install_extra
from inkgate_client.telemetry.state import Gpu

T = TypeVar("T")


class GpuUnavailable(Exception):
    """No library, no driver or no GPU; the message says which, and what to do."""


class GpuReader(Protocol):
    """Reads all GPUs of this machine."""

    def read(self) -> tuple[Gpu, ...]:
        """A reading of each GPU. Blocking, for milliseconds.

        Raises:
            GpuUnavailable: the driver was unloaded, or a GPU fell off the bus.
        """
        ...


class NvmlReader:
    """Reads NVIDIA's GPUs through the driver's library. A context manager."""

    def __init__(self, library: Any = None) -> None:  # noqa: ANN401 - NVIDIA's module has no types
        """`library`: nvidia-ml-py's module, or a compatible one; None: nvidia-ml-py.

        Raises:
            GpuUnavailable: nvidia-ml-py is not installed, there is no driver, or no GPU.
        """
        self._nvml = _nvml() if library is None else library
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            raise GpuUnavailable(f"NVIDIA's driver can't be reached ({error}). Is it installed?") from error
        try:
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except self._nvml.NVMLError as error:
            self.close()
            raise GpuUnavailable(f"NVIDIA's driver does not give access to its GPUs ({error}).") from error
        if not self._handles:
            self.close()
            raise GpuUnavailable("NVIDIA's driver found no GPU.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Releases the driver."""
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError:
            return  # it is gone already

    def read(self) -> tuple[Gpu, ...]:
        return tuple(self._read(index, handle) for index, handle in enumerate(self._handles))

    def _read(self, index: int, handle: object) -> Gpu:
        nvml = self._nvml
        # of each pair, the second is the older name, which drivers of CUDA 14 will lack
        reasons = self._query(
            lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
            lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        )
        temperature = self._query(
            lambda: nvml.nvmlDeviceGetTemperatureV(handle, nvml.NVML_TEMPERATURE_GPU),
            lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        )
        memory = self._query(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        use = self._query(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        name = self._query(lambda: nvml.nvmlDeviceGetName(handle))
        power_mw = self._query(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        clock = self._query(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        return Gpu(
            index,
            _text(name),
            utilisation=None if use is None else use.gpu / 100,
            memory_used=None if memory is None else int(memory.used),
            memory_total=None if memory is None else int(memory.total),
            temperature_c=None if temperature is None else float(temperature),
            power_w=None if power_mw is None else power_mw / 1000,
            clock_mhz=None if clock is None else float(clock),
            throttled=_throttled(int(reasons or 0)),
        )

    def _query(self, *queries: Callable[[], T]) -> T | None:
        """The result of the first query that this GPU, its driver and our permissions support; else None.

        Raises:
            GpuUnavailable: the GPU or the driver is gone.
        """
        nvml = self._nvml
        for query in queries:
            try:
                return query()
            except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission, nvml.NVMLError_FunctionNotFound):
                continue
            except AttributeError:  # an nvidia-ml-py that is older than the name
                continue
            except nvml.NVMLError as error:
                raise GpuUnavailable(f"A GPU does not respond ({error}).") from error
        return None


_POWER_CAP = 0x04
_SLOWDOWN = 0x08
_POWER_BRAKE = 0x80
_THERMAL = 0x20 | 0x40
"""Bits of nvmlClocksEventReasons, in nvml.h: software and hardware thermal slowdown. A hardware slowdown that no
power brake explains counts as thermal, too: older drivers give no further reason."""


def _throttled(reasons: int) -> tuple[str, ...]:
    """Why the driver reduces the clocks, by these bits: see Gpu."""
    thermal = bool(reasons & _THERMAL) or reasons & (_SLOWDOWN | _POWER_BRAKE) == _SLOWDOWN
    power = bool(reasons & (_POWER_CAP | _POWER_BRAKE))
    return tuple(name for name, there in (("thermal", thermal), ("power", power)) if there)


def _text(name: str | bytes | None) -> str:
    """The name as text: nvidia-ml-py returned bytes up to version 11."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name or ""


def _nvml() -> Any:  # noqa: ANN401 - as above
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        raise GpuUnavailable(f"Reading GPUs needs the package nvidia-ml-py: {install_extra('gpu')}.") from error
