"""On which CPUs int8 and bf16 pay, and for which file a model was calibrated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate.runtimes import models as files
from inkgate.runtimes.cpu import bf16_pays, cpu_flags, int8_pays
from inkgate.runtimes.models import Calibration, calibration_of

ZEN_5 = (
    "fpu vme de pse tsc msr sse4_2 sse4a fma avx f16c avx2 avx512f avx512dq avx512bw avx512vl avx_vnni avx512_bf16 "
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
    assert [(flags, found) for flags, pays in cases if (found := int8_pays(frozenset(flags.split()))) != pays] == []


def test_bf16_pays_with_amx_and_on_amd() -> None:
    without_amx = " ".join(flag for flag in SAPPHIRE_RAPIDS.split() if not flag.startswith("amx_"))
    cases = [(ZEN_5, True), (SAPPHIRE_RAPIDS, True), (without_amx, False), ("", True)]
    assert [(flags, found) for flags, pays in cases if (found := bf16_pays(frozenset(flags.split()))) != pays] == []


def test_flags_are_those_of_the_first_processor(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nflags\t\t: fpu avx2 avx_vnni\nvmx flags\t: ept\n\nprocessor\t: 1\nflags\t\t: fpu\n"
    )
    assert cpu_flags(cpuinfo) == {"fpu", "avx2", "avx_vnni"}


def test_nothing_is_known_of_arm_and_other_systems(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nFeatures\t: {NEOVERSE_V1}\n")
    assert cpu_flags(cpuinfo) == frozenset()
    assert cpu_flags(tmp_path / "missing") == frozenset()


def test_the_recogniser_is_calibrated_and_fits_the_installed_one() -> None:
    calibration = calibration_of(files.text_recognition())
    assert calibration is not None
    assert calibration.fits(files.text_recognition())
    assert len(calibration.ranges) == 28


def test_zero_is_one_of_the_steps_of_every_range() -> None:
    calibration = calibration_of(files.text_recognition())
    assert calibration is not None
    for low, high in calibration.ranges.values():
        assert low < 0 < high
        step = -low * 255 / (high - low)
        assert step == pytest.approx(round(step), abs=1e-3)


def test_it_is_written_down_what_the_ranges_are_for() -> None:
    said = json.loads(files.int8_calibration(files.text_recognition()).read_text())
    assert said["model"] == files.text_recognition().name


def test_other_models_are_not_for_int8() -> None:
    assert calibration_of(files.text_detection()) is None


def test_another_file_of_the_same_name_does_not_fit(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"one")
    assert Calibration("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", {}).fits(model)
    model.write_bytes(b"two")
    assert not Calibration("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", {}).fits(model)
