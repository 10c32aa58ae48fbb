"""What the GPUs say of themselves: temperature, whether their clocks are held down, memory, use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from inkgate.errors import install_extra
from inkgate.telemetry.state import Gpu

T = TypeVar("T")


class GpuUnavailable(Exception):
    """There is nothing to read: no library, no driver or no GPU. The message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one time. None is what this GPU doesn't say, such as a part of a partitioned one.

    Attributes:
        index: as the driver counts them.
        temperature_c: of the chip, in degrees Celsius.
        thermal: its clocks are held down because it is hot.
        power: its clocks are held down at its power limit; under full load that is usual, and no fault.
        memory_used, memory_total: bytes.
        utilisation: part of the time that it had work, 0 to 1.
        name: of the product, such as `NVIDIA H200`; empty where it isn't said.
        power_w: that it takes.
        clock_mhz: of its streaming multiprocessors.
    """

    index: int
    temperature_c: float | None = None
    thermal: bool = False
    power: bool = False
    memory_used: int | None = None
    memory_total: int | None = None
    utilisation: float | None = None
    name: str = ""
    power_w: float | None = None
    clock_mhz: float | None = None

    def shown(self) -> Gpu:
        """What is told of it."""
        reasons = (("thermal", self.thermal), ("power", self.power))
        return Gpu(
            self.index,
            self.name,
            self.utilisation,
            self.memory_used,
            self.memory_total,
            self.temperature_c,
            self.power_w,
            self.clock_mhz,
            throttled=tuple(name for name, there in reasons if there),
        )


class GpuReader(Protocol):
    """Reads every GPU of this machine."""

    def read(self) -> tuple[GpuReading, ...]:
        """A reading of each. Blocking, for milliseconds.

        Raises:
            GpuUnavailable: they are gone: the driver was unloaded, or a GPU fell off the bus.
        """
        ...


class NvmlReader:
    """NVIDIA's GPUs, read through their driver's own library. Open between `with` and its end."""

    def __init__(self, library: Any = None) -> None:  # noqa: ANN401 - NVIDIA's module has no types
        """`library`: nvidia-ml-py's module, or one that behaves like it; None: that module.

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
            raise GpuUnavailable("NVIDIA's driver is there, but it has no GPU.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the driver."""
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError:
            return  # it is gone already, which is all that is wanted

    def read(self) -> tuple[GpuReading, ...]:
        """See GpuReader."""
        return tuple(self._read(index, handle) for index, handle in enumerate(self._handles))

    def _read(self, index: int, handle: object) -> GpuReading:
        nvml = self._nvml
        # of each pair, the second is the older name, which drivers of CUDA 14 will lack
        reasons = self._said(
            lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
            lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        )
        temperature = self._said(
            lambda: nvml.nvmlDeviceGetTemperatureV(handle, nvml.NVML_TEMPERATURE_GPU),
            lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        )
        memory = self._said(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        use = self._said(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        name = self._said(lambda: nvml.nvmlDeviceGetName(handle))
        power_mw = self._said(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        clock = self._said(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        held_down = int(reasons or 0)
        return GpuReading(
            index,
            None if temperature is None else float(temperature),
            thermal=bool(held_down & _THERMAL) or held_down & (_SLOWDOWN | _POWER_BRAKE) == _SLOWDOWN,
            power=bool(held_down & (_POWER_CAP | _POWER_BRAKE)),
            memory_used=None if memory is None else int(memory.used),
            memory_total=None if memory is None else int(memory.total),
            utilisation=None if use is None else use.gpu / 100,
            name=_text(name),
            power_w=None if power_mw is None else power_mw / 1000,
            clock_mhz=None if clock is None else float(clock),
        )

    def _said(self, *ask: Callable[[], T]) -> T | None:
        """The first answer; None where this GPU, its driver or our rights allow for none of the questions.

        Raises:
            GpuUnavailable: the GPU or the driver is gone.
        """
        nvml = self._nvml
        for each in ask:
            try:
                return each()
            except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission, nvml.NVMLError_FunctionNotFound):
                continue
            except AttributeError:  # an nvidia-ml-py that is older than the name
                continue
            except nvml.NVMLError as error:
                raise GpuUnavailable(f"A GPU does not answer any more ({error}).") from error
        return None


_POWER_CAP = 0x04
_SLOWDOWN = 0x08
_POWER_BRAKE = 0x80
_THERMAL = 0x20 | 0x40
"""Bits of nvmlClocksEventReasons, in nvml.h: software and hardware thermal slowdown. A hardware slowdown that no
power brake explains counts as thermal, too: older drivers give no further reason."""


def _text(name: str | bytes | None) -> str:
    """nvidia-ml-py gave bytes up to version 11."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name or ""


def _nvml() -> Any:  # noqa: ANN401 - as above
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        raise GpuUnavailable(f"Reading GPUs needs the package nvidia-ml-py: {install_extra('gpu')}.") from error
