"""int8: on which CPUs it is faster, and the calibration of the models that use it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from inkgate.runtimes.models import int8_calibration

_MULTIPLY_ADDS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""Instructions that multiply and add int8, in Linux's names. OpenVINO reports INT8 support on x86-64 CPUs without them,
too, where it takes three instructions instead of one. ARM's (`asimddp`, `i8mm`) are left out on purpose: nothing was
measured there."""
_CPUINFO = Path("/proc/cpuinfo")


def int8_pays(flags: AbstractSet[str]) -> bool:
    """Whether a CPU with these `flags` computes in int8 faster than in bf16 or f32: docs/contributing/benchmarks.md."""
    return not _MULTIPLY_ADDS.isdisjoint(flags)


def cpu_flags(cpuinfo: Path = _CPUINFO) -> frozenset[str]:
    """The CPU's instruction sets, from Linux's `cpuinfo`. Empty on other systems and on ARM."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = (flags for name, _, flags in (line.partition(":") for line in lines) if name.strip() == "flags")
    return frozenset(next(found, "").split())


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which convolutions of a model run in int8, as determined by scripts/quantize.py.

    Attributes:
        sha256: of the calibrated model file.
        ranges: by the name of a convolution, the minimum and maximum of its input that int8 represents.
    """

    sha256: str
    ranges: Mapping[str, tuple[float, float]]

    def fits(self, model: Path) -> bool:
        """Whether it is for this very file: another version may have the same names but other ranges."""
        return hashlib.sha256(model.read_bytes()).hexdigest() == self.sha256


def calibration_of(model: Path) -> Calibration | None:
    """The calibration for a model file, by the file's name. None: the model does not use int8. It may be for another
    version of the file: see Calibration.fits.
    """
    path = int8_calibration(model)
    if not path.exists():
        return None
    said = json.loads(path.read_text(encoding="utf-8"))
    return Calibration(said["sha256"], {name: (low, high) for name, (low, high) in said["ranges"].items()})
