"""How much goodput varies when the same load is measured again, told from repeated runs or from blocks of seconds.

Resampling of residuals (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 6.3): what
runs differ from their level's mean by, as a share of it, is pooled over all levels of half of the best goodput or more,
scaled by sqrt(n / (n - 1)) for the mean that was taken from the same n runs, and drawn from with replacement. Lower
levels are left out: where hardly an answer is in time, goodput varies by many times its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.bench.load.results import Point, Second

DRAWS = 2000
LEAST_SHARE = 0.5
LEAST_BLOCKS = 4
MOST_BLOCKS = 20
BLOCK_S = 2.0
"""Seconds of one run lean on each other: a block is at least so long, and at least two mean latencies."""
Z = 1.959964
_SEED = 20_071


@dataclass(frozen=True, slots=True)
class Spread:
    """`draws`: goodput by draw and level, answers in time a second (DRAWS, levels); `how`: it was told, in words."""

    draws: NDArray[np.float64]
    how: str


def resample(points: Sequence[Point], timeline: Sequence[Second]) -> Spread:
    """The same load test as it might have come out as well.

    Repeated runs where any level has two; else blocks of the timeline's seconds; else answers as counts (Poisson),
    which says too little, as what disturbs a server disturbs many answers. The same points give the same draws.
    """
    rng = np.random.default_rng(_SEED)
    goodputs = np.array([mean_goodput(point) for point in points])
    samples = [np.array([run.goodput for run in point.runs]) for point in points]
    how = "repeated runs"
    if max(len(sample) for sample in samples) < 2:
        samples = [_blocks(point, timeline) for point in points]
        how = "blocks of seconds"
    pool, freedom = _residuals(samples)
    if freedom < 2:
        counts = np.array([sum(run.in_time for run in point.runs) for point in points])
        seconds = np.array([sum(run.seconds for run in point.runs) for point in points])
        return Spread(rng.poisson(counts, (DRAWS, len(points))) / seconds, "counts of answers")
    pool = pool * (_t(freedom) / Z)
    shares = [rng.choice(pool, (DRAWS, max(len(sample), 1))).mean(axis=1) for sample in samples]
    return Spread(goodputs * (1 + np.column_stack(shares)), how)


def mean_goodput(point: Point) -> float:
    """Answers in time a second, of all runs of a level together."""
    seconds = sum(run.seconds for run in point.runs)
    return sum(run.in_time for run in point.runs) / seconds if seconds else 0.0


def _residuals(samples: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], int]:
    """Relative residuals of all levels that count, and how many of them are free."""
    several = [sample for sample in samples if len(sample) > 1]
    best = max((float(sample.mean()) for sample in several), default=0.0)
    pooled: list[NDArray[np.float64]] = []
    freedom = 0
    for sample in several:
        mean = float(sample.mean())
        if mean > 0 and mean >= LEAST_SHARE * best:
            pooled.append((sample / mean - 1) * math.sqrt(len(sample) / (len(sample) - 1)))
            freedom += len(sample) - 1
    return (np.concatenate(pooled) if pooled else np.zeros(1)), freedom


def _blocks(point: Point, timeline: Sequence[Second]) -> NDArray[np.float64]:
    """Goodput in equal blocks of the level's only run; empty where it is too short for four of them."""
    run = point.runs[0]
    whole = int(run.seconds)
    # what came before its window was for warming up
    seconds = [second.in_time for second in timeline if second.level == point.level][-whole or len(timeline) :]
    length = max(BLOCK_S, 2 * run.latency.mean_s if run.latency else 0.0, len(seconds) / MOST_BLOCKS)
    count = int(len(seconds) / length)
    if count < LEAST_BLOCKS:
        return np.zeros(0)
    size = len(seconds) // count
    means: NDArray[np.float64] = np.array(seconds[-count * size :], dtype=np.float64).reshape(count, size).mean(axis=1)
    return means


def _t(freedom: int) -> float:
    """Student's t at 97.5 %, to 11 % at two degrees of freedom and 1 % at five (Abramowitz and Stegun 26.7.5)."""
    z = Z
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
