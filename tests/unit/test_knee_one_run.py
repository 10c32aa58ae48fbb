"""The knee where each level ran once: the noise is told from blocks of its seconds, or from counts."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.bench.load.knee import find_knee
from inkgate.bench.load.results import Axis, Knee, Point, Second
from support import curves
from support.curves import LEVELS, Measuring, Shape, measured, true_knee

SECONDS = 60


def timeline(shape: Shape, seed: int, swing: float) -> tuple[list[Point], list[Second]]:
    """One run a level, whose seconds lean on the one before (0.5) and vary by `swing`; 5 s of warm-up before each."""
    rng = np.random.default_rng(seed)
    points: list[Point] = []
    seconds: list[Second] = []
    for level in LEVELS:
        state = 0.0
        counts: list[int] = []
        for _ in range(SECONDS):
            state = 0.5 * state + swing * rng.standard_normal()
            counts.append(int(rng.poisson(20 * shape(level) * max(0.0, 1 + state))))
        for at, count in enumerate([0] * 5 + counts):
            seconds.append(Second(float(at), level, count, count, count, 0, 1, 0.4, 1.0))
        per_s = sum(counts) / SECONDS
        points += measured(curves.plateau(per_s, per_s), seed, Measuring(1, 0.0, (level,), SECONDS))
    return points, seconds


def knee(points: list[Point], seconds: list[Second]) -> Knee:
    return find_knee(points, Axis.CONCURRENCY, 5.0, 0.001, seconds)


@pytest.mark.parametrize("swing", [0.02, 0.1, 0.3], ids="seconds vary by {:.0%}".format)
@pytest.mark.parametrize("shape", [curves.usl(2.0, 0.05, 0.002), curves.plateau(1.0, 12.0)], ids=["falls", "plateau"])
def test_interval_from_one_run_holds_the_true_knee(shape: Shape, swing: float) -> None:
    truth = true_knee(shape, LEVELS[-1])
    found = [knee(*timeline(shape, seed, swing)) for seed in range(40)]
    told = [(each.low, each.high) for each in found if each.low is not None and each.high is not None]
    assert len(told) >= 30  # with much noise some can't tell that goodput has stopped rising
    assert sum(low <= truth <= high for low, high in told) >= 0.95 * len(told)


def test_method_says_where_the_noise_was_told_from() -> None:
    points, seconds = timeline(curves.plateau(1.0, 12.0), 1, 0.05)
    assert "blocks of seconds" in knee(points, seconds).method
    assert "counts of answers" in knee(points, []).method
    assert "repeated runs" in knee(measured(curves.plateau(1.0, 12.0), 1), seconds).method


def test_counts_alone_give_an_interval_too() -> None:
    points, _ = timeline(curves.plateau(1.0, 12.0), 1, 0.02)
    found = knee(points, [])
    assert found.level == 16
    assert (found.low, found.high) == (8, 16)
