"""Comparisons of engines with made-up numbers."""

from __future__ import annotations

from inkgate_bench.compare.results import EngineAccuracy, EngineComparison, EngineResult
from inkgate_bench.load.results import Latency, LoadSummary, MachineInfo, OwnLimits

MACHINE = MachineInfo("here", "a processor", 2, 24.0)
OWN = OwnLimits(bottleneck=False, why="", late_p99_s=0.001, busy_share=0.1, unsent=0)


def summary(answered: int, failed: int = 0, p50_s: float = 0.2, seconds: float = 10.0) -> LoadSummary:
    """One run in which all responses were in time."""
    return LoadSummary(
        seconds=seconds,
        offered=answered + failed,
        answered=answered,
        in_time=answered,
        refused=failed,
        rejected=0,
        failed=0,
        timed_out=0,
        pages=answered,
        degraded=0,
        sent_bytes=1000 * answered,
        in_flight=4.0,
        latency=Latency(p50_s, p50_s, p50_s, 2 * p50_s, 3 * p50_s, 4 * p50_s) if answered else None,
        refusal=None,
        errors={"503 service_full": failed} if failed else {},
    )


FAST = EngineResult(
    "ppocr",
    "PP-OCRv6 small",
    "openvino bf16",
    started_here=True,
    start_s=2.0,
    runs=(summary(100), summary(140, failed=10, p50_s=0.3)),
    own=OWN,
    memory_mb=812.4,
    accuracy=EngineAccuracy(5, 1, 0.021, 0.97, None),
)
GONE = EngineResult("vllm|big", why_not="The service ended with status 1: no GPU.")


def comparison(*engines: EngineResult, partial: bool = False) -> EngineComparison:
    """Of these engines."""
    return EngineComparison("2026-11-21T18:00:00+00:00", 12, 3.456, 8, 10.0, 2, 5.0, MACHINE, engines, partial=partial)
