"""What is read of GPUs through NVIDIA's library, here one with set answers."""

from __future__ import annotations

import importlib

import pytest

from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate_client.telemetry.state import Gpu
from support.gpu import FakeNvml, FunctionNotFound, NoPermission, NotSupported, NvmlError, RecordedGpu


def read(nvml: FakeNvml) -> Gpu:
    with NvmlReader(nvml) as reader:
        (reading,) = reader.read()
    return reading


def test_a_gpu_is_read() -> None:
    assert read(FakeNvml()) == Gpu(0, "NVIDIA H200", 0.97, 70 << 30, 141 << 30, 61.0, 412.5, 1980.0)


def test_a_name_in_bytes_is_text() -> None:
    nvml = FakeNvml()
    nvml.name = b"Tesla T4"
    assert read(nvml).name == "Tesla T4"


def test_every_gpu_is_read() -> None:
    with NvmlReader(FakeNvml(devices=8)) as reader:
        assert [reading.index for reading in reader.read()] == list(range(8))


@pytest.mark.parametrize(
    ("reasons", "throttled"),
    [
        (0x00, ()),
        (0x01, ()),  # idle
        (0x02, ()),  # clocks set by an application
        (0x04, ("power",)),  # at its power cap
        (0x20, ("thermal",)),
        (0x48, ("thermal",)),
        (0x24, ("thermal", "power")),
        (0x88, ("power",)),  # the power brake
        (0x08, ("thermal",)),  # a slowdown without a further reason
    ],
)
def test_clocks_held_down_have_a_reason(reasons: int, throttled: tuple[str, ...]) -> None:
    nvml = FakeNvml()
    nvml.reasons = reasons
    reading = read(nvml)
    assert reading.throttled == throttled


def test_an_older_driver_is_asked_by_the_older_name() -> None:
    nvml = FakeNvml()
    nvml.reasons, nvml.old_reasons = FunctionNotFound(), 0x20
    assert read(nvml).throttled == ("thermal",)


def test_what_a_gpu_does_not_say_is_left_open() -> None:
    nvml = FakeNvml()
    nvml.temperature = nvml.use = NotSupported()
    nvml.memory = nvml.name = nvml.power = NoPermission()
    nvml.clock = FunctionNotFound()
    nvml.reasons = nvml.old_reasons = NotSupported()
    assert read(nvml) == Gpu(0)


def test_a_gpu_that_is_lost_is_said_to_be() -> None:
    nvml = FakeNvml()
    with NvmlReader(nvml) as reader:
        nvml.temperature = NvmlError("GPU is lost")
        with pytest.raises(GpuUnavailable, match="GPU is lost"):
            reader.read()


@pytest.mark.parametrize(("devices", "said"), [(0, "found no GPU"), (NvmlError("Unknown Error"), "Unknown Error")])
def test_without_a_gpu_the_driver_is_let_go(devices: object, said: str) -> None:
    nvml = FakeNvml()
    nvml.devices = devices
    with pytest.raises(GpuUnavailable, match=said):
        NvmlReader(nvml)
    assert nvml.open == 0


def test_without_a_driver_it_says_so() -> None:
    nvml = FakeNvml()
    nvml.init = NvmlError("Driver Not Loaded")
    with pytest.raises(GpuUnavailable, match="Is it installed"):
        NvmlReader(nvml)


def test_the_driver_is_let_go_even_when_it_is_gone() -> None:
    nvml = FakeNvml()
    with NvmlReader(nvml):
        nvml.open = 0
    assert nvml.open == 0


def test_with_the_real_library_gpus_are_read_or_their_absence_is_said() -> None:
    said = ""
    readings: tuple[Gpu, ...] = ()
    try:
        with NvmlReader() as reader:
            readings = reader.read()
    except GpuUnavailable as error:
        said = str(error)
    assert readings or "NVIDIA" in said
    assert all(reading.memory_total for reading in readings)


def test_the_real_library_has_the_names_that_are_used() -> None:
    there = dir(importlib.import_module("pynvml"))
    assert [name for name in dir(FakeNvml) if not name.startswith("_") and name not in there] == []


def test_a_recorded_gpu_plays_its_readings_and_stays_at_the_last() -> None:
    cool, hot = (Gpu(0, temperature_c=60.0),), (Gpu(0, temperature_c=92.0, throttled=("thermal",)),)
    reader: GpuReader = RecordedGpu(cool, GpuUnavailable("lost"), hot)
    assert reader.read() == cool
    with pytest.raises(GpuUnavailable):
        reader.read()
    assert [reader.read(), reader.read()] == [hot, hot]
