"""Tokens a second, of the time there was work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.throughput import TokenRate
from support.clock import Clock


def work(rate: TokenRate, clock: Clock, seconds: float, tokens: int) -> None:
    rate.started()
    clock.goes_on(seconds)
    rate.finished(tokens)


def test_nothing_is_known_before_something_is_finished() -> None:
    clock = Clock()
    rate = TokenRate(clock)
    assert rate.per_s is None
    work(rate, clock, 1.0, 0)
    assert rate.per_s is None


@given(st.floats(1, 10_000), st.floats(0.1, 5.0))
def test_a_steady_rate_is_found(per_s: float, seconds: float) -> None:
    clock = Clock()
    rate = TokenRate(clock, half_life_s=100.0)
    tokens = max(1, round(per_s * seconds))
    for _ in range(50):
        work(rate, clock, seconds, tokens)
    assert rate.per_s == pytest.approx(tokens / seconds, rel=0.1)


def test_works_side_by_side_are_one_busy_time() -> None:
    clock = Clock()
    rate = TokenRate(clock, half_life_s=1e6)
    for _ in range(4):
        rate.started()
    clock.goes_on(2.0)
    for _ in range(4):
        rate.finished(100)
    assert rate.per_s == pytest.approx(200.0, rel=1e-3)


def test_a_night_without_work_changes_nothing() -> None:
    clock = Clock()
    rate = TokenRate(clock)
    work(rate, clock, 2.0, 100)
    before = rate.per_s
    clock.goes_on(1e6)
    assert rate.per_s == before
    work(rate, clock, 2.0, 100)
    assert rate.per_s == pytest.approx(before, rel=0.05)


def test_a_change_is_followed_within_a_few_half_lives() -> None:
    clock = Clock()
    rate = TokenRate(clock, half_life_s=10.0)
    for _ in range(100):
        work(rate, clock, 1.0, 1000)
    for _ in range(40):
        work(rate, clock, 1.0, 100)
    assert rate.per_s == pytest.approx(156, rel=0.1)


def test_stuck_work_makes_the_rate_fall() -> None:
    clock = Clock()
    rate = TokenRate(clock, half_life_s=10.0)
    work(rate, clock, 1.0, 1000)
    rate.started()
    clock.goes_on(100.0)
    after = rate.per_s
    assert after is not None
    assert after < 1


def test_ends_without_a_start_do_not_make_it_busy_for_ever() -> None:
    clock = Clock()
    rate = TokenRate(clock)
    rate.finished(5)
    work(rate, clock, 1.0, 100)
    before = rate.per_s
    clock.goes_on(1000.0)
    assert rate.per_s == before
