"""The knee of curves whose knee is known, and why there is none."""

from __future__ import annotations

import pytest

from inkgate_bench.load.knee import find_knee
from inkgate_bench.load.results import Axis, Knee, LoadPoint, ServerSide, mean_goodput
from support import curves
from support.curves import MeasurementNoise, Shape, measured_points

RISES_AND_FALLS = curves.rises_and_falls(2.0, 0.05, 0.002)
RISES_SLOWLY = curves.rises_and_falls(1.0, 0.2, 0.0005)
FALLS_EARLY = curves.rises_and_falls(2.0, 0.01, 0.02)
PLATEAU = curves.plateau(1.0, 12.0)
STRAIGHT = curves.straight(1.0)
SEEDS = range(20)


def knee(points: list[LoadPoint], axis: Axis = Axis.CONCURRENCY) -> Knee:
    return find_knee(points, axis, deadline_s=5.0, max_error=0.001)


def errors_above(level: float) -> Shape:
    return lambda n: 0.3 if n > level else 0.0


@pytest.mark.parametrize(
    ("shape", "levels"),
    [(RISES_AND_FALLS, {16}), (RISES_SLOWLY, {16, 32}), (FALLS_EARLY, {8}), (PLATEAU, {16})],
    ids=["rises and falls", "rises slowly", "falls early", "plateau"],
)
def test_knee_of_a_known_curve_is_found(shape: Shape, levels: set[float]) -> None:
    assert {knee(measured_points(shape, seed)).level for seed in SEEDS} <= levels


@pytest.mark.calibration
def test_with_noisy_runs_the_level_that_is_found_gives_nearly_the_best_goodput() -> None:
    low, found = [], 0
    for shape in (RISES_AND_FALLS, RISES_SLOWLY, FALLS_EARLY, PLATEAU):
        best = max(map(shape, curves.LEVELS))
        for noise in (0.01, 0.03, 0.08):
            for seed in range(60):
                level = knee(measured_points(shape, seed, MeasurementNoise(3, noise))).level
                if level is not None:
                    found += 1
                    low += [(noise, seed, level)] if shape(level) < (0.95 - 2 * noise) * best else []
    assert found >= 650
    assert len(low) <= 0.05 * found, low


def test_knee_has_the_mean_and_the_spread_of_its_runs() -> None:
    points = measured_points(PLATEAU, 1, MeasurementNoise(4, 0.03))
    found = knee(points)
    at = next(point for point in points if point.level == found.level)
    goodputs = [run.goodput for run in at.runs]
    assert found.goodput == pytest.approx(mean_goodput(at.runs)) == pytest.approx(sum(goodputs) / 4)
    assert found.deviation == pytest.approx((sum((each - mean_goodput(at.runs)) ** 2 for each in goodputs) / 3) ** 0.5)
    assert found.best == pytest.approx(max(mean_goodput(point.runs) for point in points))


def test_finer_levels_find_a_smaller_knee() -> None:
    assert (
        knee(measured_points(PLATEAU, 1, MeasurementNoise(3, 0.005, (1, 2, 4, 8, 10, 12, 14, 16, 20, 32, 64)))).level
        == 12
    )


def test_fewer_than_three_runs_of_a_level_make_no_knee() -> None:
    for repeats in (1, 2):
        found = knee(measured_points(PLATEAU, 1, MeasurementNoise(repeats)))
        assert not found.reached
        assert "Repeat each level at least 3 times" in found.why
    once, thrice = measured_points(PLATEAU, 1, MeasurementNoise(1)), measured_points(PLATEAU, 1)
    assert knee([*once[:3], *thrice[3:]]).level == 16  # levels far below need no repeats
    ended_early = knee([*thrice[:4], *once[4:]])  # the levels above may be better, and are
    assert not ended_early.reached
    assert "At 64 clients there were fewer than 3 runs" in ended_early.why


def test_goodput_that_still_rises_at_the_highest_level_has_no_knee() -> None:
    for seed in SEEDS:
        found = knee(measured_points(STRAIGHT, seed))
        assert not found.reached
        assert (found.level, found.goodput, found.deviation) == (None, None, None)
        assert found.best == pytest.approx(64, rel=0.1)
        assert "At 64 clients, the highest level, goodput still rose" in found.why
    close = measured_points(STRAIGHT, 1, MeasurementNoise(3, 0.001, (10, 20, 39, 40)))  # 40 is too near 39 to tell
    assert not knee(close, Axis.RATE).reached


def test_the_error_bound_ends_the_curve() -> None:
    found = knee(measured_points(STRAIGHT, 1, error=errors_above(20)))
    assert (found.reached, found.level) == (True, 16)
    assert "At 32 clients 30" in found.why
    assert "mostly connection refused" in found.why
    # Levels above one that exceeds it don't count, though they keep to it.
    assert knee(measured_points(STRAIGHT, 1, error=lambda n: 0.2 if n == 8 else 0.0)).level == 4
    refused = measured_points(
        curves.plateau(1.0, 33.0), 2, MeasurementNoise(3, 0.01, (10, 20, 30, 40)), lambda n: max(0, 1 - 33 / n)
    )
    assert knee(refused, Axis.RATE).level == 30
    assert "At 40 requests/s 17" in knee(refused, Axis.RATE).why


def test_why_there_is_no_knee_is_said() -> None:
    failing = knee(measured_points(STRAIGHT, 1, error=lambda _: 0.5))
    assert (failing.reached, failing.best) == (False, None)
    assert "No level kept to the maximum error rate" in failing.why
    assert knee(measured_points(curves.straight(0.0), 1)).why == "No response came within 5 s."
    assert knee([]).why == "Nothing was measured."
    assert (
        knee(measured_points(PLATEAU, 1, MeasurementNoise(levels=(8,)))).why
        == "Only one level was measured: test several."
    )


def test_what_the_server_reports_is_given_as_the_reason() -> None:
    points = measured_points(PLATEAU, 1)
    points[4] = LoadPoint(16.0, points[4].runs, ServerSide(gpu_share=0.99, kv_share=0.5))
    points[5] = LoadPoint(32.0, points[5].runs, ServerSide(gpu_share=0.99, kv_share=0.97, preemptions=40))
    why = knee(points).why
    assert "At 16 clients the GPU was 99% busy." in why
    assert "At 32 clients the KV cache was 97% full." in why
    assert "preempted 40 requests" in why
    assert "the true error rate may still be" in knee(measured_points(PLATEAU, 1, MeasurementNoise(seconds=10))).why


def test_the_same_points_give_the_same_knee_in_any_order() -> None:
    points = measured_points(RISES_SLOWLY, 5, MeasurementNoise(3, 0.08))
    assert knee(points) == knee(points[::-1])
