"""On which CPUs int8 and bf16 pay, and for which file a model was calibrated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate.runtimes import models as files
from inkgate.runtimes.cpu import Cpu
from inkgate.runtimes.models import Calibration, calibration_of

ZEN_5 = (
    "fpu vme de pse tsc msr sse4_2 fma avx f16c avx2 avx512f avx512dq avx512bw avx512vl avx_vnni avx512_bf16 "
    "avx512vbmi avx512_vbmi2 gfni vaes avx512_vnni avx512_bitalg avx512_vp2intersect"
)
SAPPHIRE_RAPIDS = "fpu sse4_2 fma avx f16c avx2 avx512f avx_vnni avx512_bf16 avx512_vnni amx_bf16 amx_tile amx_int8"
ICE_LAKE = "fpu sse4_2 fma avx f16c avx2 avx512f avx512dq avx512bw avx512vl avx512vbmi avx512_vbmi2 avx512_vnni"
ALDER_LAKE = "fpu sse4_2 fma avx f16c avx2 gfni vaes vpclmulqdq avx_vnni"
SKYLAKE_X = "fpu sse4_2 fma avx f16c avx2 avx512f avx512dq avx512bw avx512vl avx512cd"
HASWELL = "fpu sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand bmi1 avx2 bmi2 fma"
NEOVERSE_V1 = "fp asimd evtstrm aes atomics fphp asimdhp asimddp sve bf16 i8mm svei8mm svebf16"


def test_int8_pays_where_the_cpu_multiplies_and_adds_bytes() -> None:
    cases = [
        (ZEN_5, True),
        (SAPPHIRE_RAPIDS, True),
        (ICE_LAKE, True),
        (ALDER_LAKE, True),
        (SKYLAKE_X, False),
        (HASWELL, False),
        (NEOVERSE_V1, False),
        ("", False),
    ]
    found = [(flags, Cpu("", frozenset(flags.split())).int8_pays) for flags, _ in cases]
    assert found == cases


def test_bf16_pays_on_intel_with_amx_alone() -> None:
    cases = [
        ("AuthenticAMD", ZEN_5, True),
        ("GenuineIntel", SAPPHIRE_RAPIDS, True),
        ("GenuineIntel", SAPPHIRE_RAPIDS.replace(" amx_bf16 amx_tile amx_int8", ""), False),
        ("", NEOVERSE_V1, True),
        ("", "", True),
    ]
    found = [(vendor, flags, Cpu(vendor, frozenset(flags.split())).bf16_pays) for vendor, flags, _ in cases]
    assert found == cases


def test_flags_are_those_of_the_first_processor(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu avx2 avx_vnni\nvmx flags\t: ept\n\n"
        "processor\t: 1\nvendor_id\t: GenuineIntel\nflags\t\t: fpu\n"
    )
    assert Cpu.here(cpuinfo) == Cpu("GenuineIntel", frozenset({"fpu", "avx2", "avx_vnni"}))


def test_nothing_is_known_of_arm_and_other_systems(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nFeatures\t: {NEOVERSE_V1}\n")
    assert Cpu.here(cpuinfo) == Cpu.here(tmp_path / "missing") == Cpu()


RECOGNIZERS = pytest.mark.parametrize(
    ("model", "convolutions"), [(files.text_recognition(), 28), (files.text_recognition_tiny(), 14)]
)


@RECOGNIZERS
def test_the_recognizer_is_calibrated_and_fits_the_installed_one(model: Path, convolutions: int) -> None:
    calibration = calibration_of(model)
    assert calibration is not None
    assert calibration.fits(model)
    assert len(calibration.ranges) == convolutions


@RECOGNIZERS
def test_zero_is_one_of_the_steps_of_every_range(model: Path, convolutions: int) -> None:
    calibration = calibration_of(model)
    assert calibration is not None
    assert len(calibration.ranges) == convolutions
    for low, high in calibration.ranges.values():
        assert low < 0 < high
        step = -low * 255 / (high - low)
        assert step == pytest.approx(round(step), abs=1e-3)


def test_it_is_written_down_what_the_ranges_are_for() -> None:
    for model in (files.text_recognition(), files.text_recognition_tiny()):
        assert json.loads(files.int8_calibration(model).read_text())["model"] == model.name


def test_other_models_are_not_for_int8() -> None:
    assert calibration_of(files.text_detection()) is None


def test_another_file_of_the_same_name_does_not_fit(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"one")
    assert Calibration("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", {}).fits(model)
    model.write_bytes(b"two")
    assert not Calibration("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", {}).fits(model)
