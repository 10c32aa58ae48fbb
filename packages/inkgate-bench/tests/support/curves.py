"""Load tests of services whose true curve is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from inkgate_bench.load.results import Latency, LoadPoint, LoadSummary

Shape = Callable[[float], float]
"""Goodput by level."""

LEVELS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
SECONDS = 60.0


def rises_and_falls(capacity: float, contention: float, coherency: float) -> Shape:
    return lambda n: capacity * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def plateau(slope: float, most: float) -> Shape:
    return lambda n: min(slope * n, most)


def straight(slope: float) -> Shape:
    return lambda n: slope * n


def cliff(shape: Shape, after: float) -> Shape:
    """Zero above `after`."""
    return lambda n: shape(n) if n <= after else 0.0


@dataclass(frozen=True)
class MeasurementNoise:
    """Number of runs per level, and their standard deviations."""

    repeats: int = 3
    noise: float = 0.02
    levels: Sequence[float] = LEVELS
    seconds: float = SECONDS


THREE_RUNS = MeasurementNoise()
FAULTLESS = straight(0.0)


def measured_points(
    shape: Shape, seed: int, how: MeasurementNoise = THREE_RUNS, error: Shape = FAULTLESS
) -> list[LoadPoint]:
    """Points of the curve, with counting noise and the machine's noise. `error`: share of failures by level."""
    rng = np.random.default_rng(seed)
    return [
        LoadPoint(level, tuple(summary(shape(level), error(level), how, rng) for _ in range(how.repeats)))
        for level in how.levels
    ]


def summary(goodput: float, error: float, how: MeasurementNoise, rng: np.random.Generator) -> LoadSummary:
    in_time = round(max(goodput * how.seconds * (1 + how.noise * rng.standard_normal()), 0))
    offered = round(in_time / (1 - error)) if error < 1 else 100
    latency = Latency(0.5, 0.4, 0.8, 0.9, 1.0, 2.0)
    failed = offered - in_time
    errors = {"connection refused": failed} if failed else {}
    return LoadSummary(
        how.seconds, offered, in_time, in_time, 0, 0, failed, 0, in_time, 0, offered * 1000, 1.0, latency, None, errors
    )
