"""The instruction sets of the CPU, and in which precisions it computes faster with them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

_MULTIPLY_ADDS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""Instructions that multiply and add int8, in Linux's names. OpenVINO reports INT8 support on x86-64 CPUs without them,
too, where it takes three instructions instead of one. ARM's (`asimddp`, `i8mm`) are left out on purpose: nothing was
measured there."""
_FAST_BF16 = {"amx_bf16", "sse4a"}
"""AMX, and what only AMD's CPUs have. Intel's `avx512_bf16` alone, as in virtual machines that hide AMX, is slower than
f32: benchmarks/results/2026-11-30-detection.md."""
_CPUINFO = Path("/proc/cpuinfo")


def int8_pays(flags: AbstractSet[str]) -> bool:
    """Whether a CPU with these `flags` computes in int8 faster than in bf16 or f32: benchmarks/results/2026-11.md."""
    return not _MULTIPLY_ADDS.isdisjoint(flags)


def bf16_pays(flags: AbstractSet[str]) -> bool:
    """Whether a CPU that has instructions for bf16, and these `flags`, computes in it faster than in f32. True where
    nothing is known of the CPU.
    """
    return not flags or not _FAST_BF16.isdisjoint(flags)


def cpu_flags(cpuinfo: Path = _CPUINFO) -> frozenset[str]:
    """The CPU's instruction sets, from Linux's `cpuinfo`. Empty on other systems and on ARM."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = (flags for name, _, flags in (line.partition(":") for line in lines) if name.strip() == "flags")
    return frozenset(next(found, "").split())
