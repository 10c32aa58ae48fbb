"""The knee of curves whose knee is known: where it is found, and how often the interval holds it."""

from __future__ import annotations

import pytest

from inkgate.bench.load.knee import find_knee
from inkgate.bench.load.results import Axis, Knee, Point, ServerSide
from support import curves
from support.curves import Measuring, Shape, measured, true_knee

TOP = curves.LEVELS[-1]
RISES_AND_FALLS = curves.usl(2.0, 0.05, 0.002)
RISES_SLOWLY = curves.usl(1.0, 0.2, 0.0005)
FALLS_EARLY = curves.usl(2.0, 0.01, 0.02)
PLATEAU = curves.plateau(1.0, 12.0)


def knee(points: list[Point], axis: Axis = Axis.CONCURRENCY) -> Knee:
    return find_knee(points, axis, deadline_s=5.0, max_error=0.001)


def dies_above(level: float) -> Shape:
    return lambda n: 0.3 if n > level else 0.0


@pytest.mark.parametrize(
    ("shape", "levels"),
    [(RISES_AND_FALLS, {16}), (RISES_SLOWLY, {16, 32}), (FALLS_EARLY, {8}), (PLATEAU, {16})],
    ids=["rises and falls", "rises slowly", "falls early", "plateau"],
)
def test_knee_of_a_known_curve_is_found(shape: Shape, levels: set[float]) -> None:
    assert {knee(measured(shape, seed)).level for seed in range(20)} <= levels


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08], ids="noise {:.0%}".format)
@pytest.mark.parametrize("repeats", [2, 3, 6], ids="{} runs".format)
@pytest.mark.parametrize("shape", [RISES_AND_FALLS, RISES_SLOWLY, FALLS_EARLY, PLATEAU])
def test_interval_holds_the_true_knee_nineteen_times_out_of_twenty(shape: Shape, repeats: int, noise: float) -> None:
    truth = true_knee(shape, TOP)
    found = [knee(measured(shape, seed, Measuring(repeats, noise))) for seed in range(60)]
    told = [each for each in found if each.low is not None and each.high is not None]
    held = sum(each.low <= truth <= each.high for each in told if each.low is not None and each.high is not None)
    assert len(told) >= 50
    assert held >= 0.95 * len(told)


def test_interval_narrows_with_less_noise() -> None:
    noisy, quiet = (knee(measured(RISES_AND_FALLS, 3, Measuring(3, noise))) for noise in (0.15, 0.01))
    assert (quiet.low, quiet.high) == (8, 16)
    assert noisy.high is not None
    assert noisy.high > 16


def test_finer_steps_narrow_the_interval() -> None:
    levels = (1, 2, 4, 8, 10, 12, 14, 16, 20, 32, 64)
    found = knee(measured(PLATEAU, 1, Measuring(3, 0.005, levels)))
    assert found.level == 12
    assert (found.low, found.high) == (10, 12)


def test_goodput_that_still_rises_at_the_highest_step_is_not_reached() -> None:
    for seed in range(20):
        found = knee(measured(curves.straight(1.0), seed))
        assert not found.reached
        assert (found.level, found.low, found.high, found.goodput) == (None, None, None, None)
        assert found.best == pytest.approx(64, rel=0.1)
        assert "still rose at 64 at once" in found.why


def test_a_step_a_little_above_the_knee_does_not_show_that_goodput_stopped_rising() -> None:
    points = measured(curves.straight(1.0), 1, Measuring(3, 0.001, (10, 20, 39, 40)))
    assert not knee(points, Axis.RATE).reached


def test_out_of_memory_ends_the_curve_and_is_the_knee() -> None:
    found = knee(measured(curves.straight(1.0), 1, error=dies_above(20)))
    assert found.reached
    assert (found.level, found.low, found.high) == (16, 8, 32)
    assert "At 32 at once 30" in found.why
    assert "mostly connection refused" in found.why


def test_levels_above_a_broken_one_are_not_trusted_though_they_kept_to_the_bound() -> None:
    points = measured(curves.straight(1.0), 1, error=lambda n: 0.2 if n == 8 else 0.0)
    assert knee(points).level == 4


def test_nothing_within_the_bounds_is_not_reached() -> None:
    found = knee(measured(curves.straight(1.0), 1, error=lambda _: 0.5))
    assert not found.reached
    assert found.best is None
    assert "No step kept to the error bound" in found.why


def test_answers_that_are_all_late_are_not_reached() -> None:
    found = knee(measured(curves.straight(0.0), 1))
    assert not found.reached
    assert found.why == "No answer came within the deadline of 5 s."


def test_nothing_measured_and_one_step_make_no_curve() -> None:
    assert knee([]).why == "Nothing was measured."
    assert "One step makes no curve" in knee(measured(PLATEAU, 1, Measuring(levels=(8,)))).why


def test_rates_that_are_refused_above_capacity_have_their_knee_at_the_last_that_was_not() -> None:
    shape = curves.plateau(1.0, 33.0)
    points = measured(shape, 2, Measuring(3, 0.01, (10, 20, 30, 40)), lambda rate: max(0.0, 1 - 33 / rate))
    found = knee(points, Axis.RATE)
    assert (found.level, found.low, found.high) == (30, 20, 40)
    assert "At 40 requests/s 17" in found.why


def test_what_the_server_said_is_given_as_the_reason() -> None:
    points = measured(PLATEAU, 1)
    points[4] = Point(16.0, points[4].runs, ServerSide(gpu_share=0.99, kv_share=0.5))
    points[5] = Point(32.0, points[5].runs, ServerSide(gpu_share=0.99, kv_share=0.97, preemptions=40))
    why = knee(points).why
    assert "At 16 at once the GPU was 99% busy." in why
    assert "At 32 at once the KV cache was 97% full." in why
    assert "preempted 40 requests" in why


def test_too_few_requests_to_rule_out_failures_is_said() -> None:
    assert "can't rule out that up to" in knee(measured(PLATEAU, 1, Measuring(seconds=10))).why


def test_the_same_points_give_the_same_knee_in_any_order() -> None:
    points = measured(RISES_SLOWLY, 5, Measuring(3, 0.08))
    assert knee(points) == knee(points[::-1])


def test_a_step_far_beyond_where_hardly_an_answer_is_in_time_does_not_blur_the_knee() -> None:
    points = measured(PLATEAU, 1, Measuring(3, 0.005))
    late = [measured(curves.straight(0.0), 1)[0].runs[0], *measured(curves.plateau(1.0, 0.3), 1)[0].runs[:2]]
    found = knee([*points[:6], Point(64.0, tuple(late))])
    assert (found.level, found.low, found.high) == (16, 8, 16)
