"""int8: on which CPUs it pays, and what was found beforehand about the models that are computed in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from inkgate.runtimes.models import int8_calibration

_MULTIPLY_ADDS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""Instructions that multiply and add int8, as Linux calls them. OpenVINO names INT8 among what it can do on x86-64
CPUs without them, too, where it takes three instructions for one. ARM's (`asimddp`, `i8mm`) are left out on purpose:
nothing was measured there."""
_CPUINFO = Path("/proc/cpuinfo")


def int8_pays(flags: AbstractSet[str]) -> bool:
    """Whether a CPU with these `flags` computes in int8 faster than in bf16 or f32: docs/contributing/benchmarks.md."""
    return not _MULTIPLY_ADDS.isdisjoint(flags)


def cpu_flags(cpuinfo: Path = _CPUINFO) -> frozenset[str]:
    """What instructions the CPU has, as Linux says in `cpuinfo`. Of other systems, and of ARM, nothing is known."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = (flags for name, _, flags in (line.partition(":") for line in lines) if name.strip() == "flags")
    return frozenset(next(found, "").split())


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which convolutions of a model are computed in int8, as scripts/quantize.py found it out.

    Attributes:
        sha256: of the model file that it was found out for.
        ranges: by the name of a convolution, the least and the greatest number of its input that are told apart.
    """

    sha256: str
    ranges: Mapping[str, tuple[float, float]]

    def fits(self, model: Path) -> bool:
        """Whether it is for this very file: names may be the same in another, with ranges that are wrong for it."""
        return hashlib.sha256(model.read_bytes()).hexdigest() == self.sha256


def calibration_of(model: Path) -> Calibration | None:
    """That of a model file, by the file's name. None: the model isn't for int8. It may be of another version of the
    file: see Calibration.fits.
    """
    path = int8_calibration(model)
    if not path.exists():
        return None
    said = json.loads(path.read_text(encoding="utf-8"))
    return Calibration(said["sha256"], {name: (low, high) for name, (low, high) in said["ranges"].items()})
