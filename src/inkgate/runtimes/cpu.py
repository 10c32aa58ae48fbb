"""The precisions that this machine's CPU computes fastest in: benchmarks/results/2026-11.md, 2026-11-30-cascade.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_MULTIPLY_ADDS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""Instructions that multiply and add int8, in Linux's names. OpenVINO reports INT8 support on x86-64 CPUs without them,
too, where it takes three instructions instead of one. ARM's (`asimddp`, `i8mm`) are left out on purpose: nothing was
measured there."""
_INTEL = "GenuineIntel"
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU as Linux describes it.

    Attributes:
        vendor: such as `GenuineIntel`; empty on ARM and on other systems.
        flags: its instruction sets; empty likewise.
    """

    vendor: str = ""
    flags: frozenset[str] = frozenset()

    @classmethod
    def here(cls, cpuinfo: Path = _CPUINFO) -> Cpu:
        """This machine's first CPU."""
        try:
            first, _, _ = cpuinfo.read_text(encoding="utf-8", errors="replace").partition("\n\n")
        except OSError:
            return cls()
        named = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
        return cls(named.get("vendor_id", ""), frozenset(named.get("flags", "").split()))

    @property
    def int8_pays(self) -> bool:
        """Whether int8 is faster than bf16 or f32."""
        return not _MULTIPLY_ADDS.isdisjoint(self.flags)

    @property
    def bf16_pays(self) -> bool:
        """Whether bf16 is faster than f32, if OpenVINO says that the CPU computes in it.

        Intel's CPUs multiply pairs of bf16 at half the rate of float32 unless they have AMX, which many virtual
        machines hide. There detection takes 1.3 to 1.4 times as long in bf16.
        """
        return self.vendor != _INTEL or "amx_bf16" in self.flags
