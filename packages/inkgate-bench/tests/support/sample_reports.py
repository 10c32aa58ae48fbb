"""Realistic load tests and searches for settings, generated from a seed: a server with a queue and a cliff."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inkgate_bench.load.results import (
    Axis,
    Knee,
    Latency,
    LoadPoint,
    LoadReport,
    LoadSummary,
    MachineInfo,
    OwnLimits,
    Second,
    ServerSide,
)

DEADLINE_S = 5.0
LEVELS = (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64)
MACHINE = MachineInfo(
    "bench-1", "AMD EPYC 9354 32-Core Processor", 16, 125.6, ("NVIDIA GeForce RTX 4090 D",),
    {"inkgate": "0.1.0", "python": "3.11.7", "vllm": "0.32.0", "driver": "570.86"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One run: responses per second around `rate`, with correlation `memory` from second to second (of an AR(1)
    process).
    """

    level: float
    rate: float
    latency_s: float
    seconds: int = 60
    memory: float = 0.5
    swing: float = 0.08
    spread: float = 0.3
    refused: float = 0.0
    failed: float = 0.0


def run(made: SimulatedRun, random: np.random.Generator, at: float = 0.0) -> tuple[LoadSummary, tuple[Second, ...]]:
    """Seconds and their sum. Slow seconds have fewer responses and longer latencies, as with a queue."""
    drift = _alike(made, random)
    answered = random.poisson(made.rate * np.exp(drift))
    refused = random.poisson(made.refused, made.seconds) if made.refused else np.zeros(made.seconds, dtype=int)
    failed = random.poisson(made.failed, made.seconds) if made.failed else np.zeros(made.seconds, dtype=int)
    seconds, everything = [], []
    for number in range(made.seconds):
        center = math.log(made.latency_s) - drift[number]
        latencies = np.exp(center + made.spread * random.standard_normal(answered[number]))
        everything.append(latencies)
        errors = int(refused[number] + failed[number])
        seconds.append(_second(at + number, made, latencies, errors))
    return _summary(made, seconds, np.concatenate(everything), int(refused.sum()), int(failed.sum())), tuple(seconds)


def _alike(made: SimulatedRun, random: np.random.Generator) -> NDArray[np.float64]:
    steps = random.standard_normal(made.seconds + 50) * made.swing * math.sqrt(1 - made.memory**2)
    series = [0.0]
    for step in steps:
        series.append(made.memory * series[-1] + step)
    return np.array(series[-made.seconds :])


def _second(at: float, made: SimulatedRun, latencies: NDArray[np.float64], errors: int) -> Second:
    classes, many = np.unique(np.floor(16 * np.log2(latencies * 1000)).astype(int), return_counts=True)
    p50, p99 = np.quantile(latencies, [0.5, 0.99]) if len(latencies) else (None, None)
    return Second(
        at=at,
        level=made.level,
        offered=len(latencies) + errors,
        answered=len(latencies),
        in_time=int((latencies <= DEADLINE_S).sum()),
        errors=errors,
        in_flight=round(made.level),
        p50_s=None if p50 is None else float(p50),
        p99_s=None if p99 is None else float(p99),
        sizes=tuple(zip(classes.tolist(), many.tolist(), strict=True)),
    )


def _summary(
    made: SimulatedRun, seconds: Sequence[Second], latencies: NDArray[np.float64], refused: int, failed: int
) -> LoadSummary:
    in_time = sum(second.in_time for second in seconds)
    kinds = {"503 service_full": refused, "502 engine_died": failed}
    return LoadSummary(
        seconds=float(made.seconds),
        offered=sum(second.offered for second in seconds),
        answered=len(latencies),
        in_time=in_time,
        refused=refused,
        rejected=0,
        failed=failed,
        timed_out=0,
        pages=in_time,
        degraded=0,
        sent_bytes=len(latencies) * 204_800,
        in_flight=made.level,
        latency=_latency(latencies) if len(latencies) else None,
        refusal=Latency(0.004, 0.003, 0.006, 0.008, 0.02, 0.05) if refused else None,
        errors={kind: many for kind, many in kinds.items() if many},
    )


def _latency(latencies: NDArray[np.float64]) -> Latency:
    p50, p90, p95, p99 = (float(value) for value in np.quantile(latencies, [0.5, 0.9, 0.95, 0.99]))
    return Latency(float(latencies.mean()), p50, p90, p95, p99, float(latencies.max()))


def load_report(
    seed: int = 1, *, levels: Sequence[float] = LEVELS, repeats: int = 3, seconds: int = 30, faster: float = 1.0
) -> LoadReport:
    """Steps of a closed loop against a server that peaks near 22 requests in flight and fails above 40."""
    random = np.random.default_rng(seed)
    points: list[LoadPoint] = []
    timeline: list[Second] = []
    for level in levels:
        runs = []
        for _ in range(repeats):
            summary, lived = run(_made(level, seconds, faster), random, float(len(timeline)))
            runs.append(summary)
            timeline += lived
        points.append(LoadPoint(level, tuple(runs), _server(level)))
    return LoadReport(
        began="2026-11-21T16:20:04Z",
        target="http://127.0.0.1:7860",
        protocol="ocr",
        axis=Axis.CONCURRENCY,
        deadline_s=DEADLINE_S,
        max_error=0.001,
        points=tuple(points),
        timeline=tuple(timeline),
        own=OwnLimits(bottleneck=False, why="", late_p99_s=0.0011, busy_share=0.14, unsent=0),
        machine=MACHINE,
        knee=_knee(faster) if len(levels) > 3 else None,
        asked={"pages": "scans/", "steps": "1..64", "duration": f"{seconds}s", "repeat": str(repeats)},
    )


def _made(level: float, seconds: int, faster: float) -> SimulatedRun:
    rate = faster * 1.35 * level / (1 + 0.055 * (level - 1) + 0.00175 * level * (level - 1))
    failing = max(0.0, (level - 40) / 8)
    return SimulatedRun(level, rate, level / rate, seconds, failed=failing, refused=failing / 2)


def _server(level: float) -> ServerSide:
    return ServerSide(
        kv_share=min(1.0, 0.035 * level),
        running=min(level, 28.0),
        waiting=max(0.0, level - 28),
        preemptions=max(0, round((level - 28) * 3)),
        restarts=1 if level > 40 else 0,
        gpu_share=min(0.98, 0.2 + 0.05 * level),
        gpu_memory_share=0.91,
        memory_mb=1830 + 6 * level,
    )


def _knee(faster: float) -> Knee:
    return Knee(
        reached=True,
        level=16 if faster == 1 else 20,
        goodput=9.6 * faster,
        deviation=0.2 * faster,
        best=9.9 * faster,
        method="smallest level whose mean goodput is within 5 % of the best mean",
        why="the model server's batch is full: goodput no longer rises, latency does",
    )


def one_point(seed: int = 2) -> LoadReport:
    """A plain run: one level, once, no knee."""
    return load_report(seed, levels=(16,), repeats=1, seconds=120)


def load_report_without_knee(seed: int = 3) -> LoadReport:
    """Steps that end before the knee, interrupted."""
    knee = Knee(
        reached=False, level=None, goodput=None, deviation=None, best=7.1,
        method="smallest level whose mean goodput is within 5 % of the best mean",
        why="goodput still rose at the highest step: try more than 8 in flight",
    )  # fmt: skip
    return replace(load_report(seed, levels=(1, 2, 4, 6, 8)), knee=knee, partial=True)
