"""The Universal Scalability Law, fitted to curves that follow it and to ones that don't."""

from __future__ import annotations

import math

import pytest

from inkgate.bench.load import usl
from support import curves

LEVELS = list(curves.LEVELS)


def test_parameters_of_an_exact_curve_are_found() -> None:
    shape = curves.usl(2.0, 0.05, 0.002)
    law = usl.fit(LEVELS, [shape(level) for level in LEVELS])
    assert law is not None
    assert (law.capacity, law.contention, law.coherency) == pytest.approx((2.0, 0.05, 0.002), rel=1e-6)
    assert law.peak == pytest.approx(math.sqrt(0.95 / 0.002))
    assert law.r_squared == pytest.approx(1.0)
    assert usl.throughput(law, 16) == pytest.approx(shape(16))


def test_noise_moves_the_peak_little() -> None:
    shape = curves.usl(2.0, 0.05, 0.002)
    for seed in range(20):
        points = curves.measured(shape, seed)
        law = usl.fit(LEVELS, [sum(run.answered_per_s for run in point.runs) / 3 for point in points])
        assert law is not None
        assert law.peak == pytest.approx(21.8, rel=0.25)


def test_a_straight_line_has_no_peak() -> None:
    law = usl.fit(LEVELS, LEVELS)
    assert law is not None
    assert law.peak is None
    assert law.capacity == pytest.approx(1.0)


def test_speed_up_beyond_linear_gives_no_negative_parameter() -> None:
    law = usl.fit(LEVELS, [level**1.2 for level in LEVELS])
    assert law is not None
    assert law.contention >= 0
    assert law.coherency >= 0


def test_three_levels_or_none_that_answered_are_no_curve() -> None:
    assert usl.fit([1, 2, 4], [1, 2, 3]) is None
    assert usl.fit(LEVELS, [0.0] * len(LEVELS)) is None
    assert usl.fit([4, 4, 4, 4], [1, 1, 1, 1]) is None
