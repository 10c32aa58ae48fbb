"""Knees of simulated cards: found from a curve that was measured there as a real service's would be."""

from __future__ import annotations

from benchmarks.simulate.card import RTX_4090D
from benchmarks.simulate.stepped import SimulatedService, curve
from inkgate_bench.load.knee import find_knee
from inkgate_bench.load.results import Axis


def test_knee_of_the_4090d_lies_where_it_begins_to_run_out_of_memory() -> None:
    points = curve(SimulatedService(seconds=40), (4, 8, 16, 24, 32, 64), 3)
    knee = find_knee(points, Axis.CONCURRENCY, 5.0, 0.001)
    assert knee.reached
    assert knee.level in {16, 24}
    assert "mostly connection refused" in knee.why


def test_knee_of_a_card_with_memory_enough_lies_where_answers_come_too_late() -> None:
    points = curve(SimulatedService(RTX_4090D.undying().slower(4), seconds=60), (4, 8, 16, 32, 64), 3)
    knee = find_knee(points, Axis.CONCURRENCY, 5.0, 0.001)
    assert knee.level == 16
    assert "of responses take longer than 5 s" in knee.why


def test_too_low_steps_do_not_reach_the_knee() -> None:
    knee = find_knee(curve(SimulatedService(seconds=20), (1, 2, 4, 8), 3), Axis.CONCURRENCY, 5.0, 0.001)
    assert not knee.reached
