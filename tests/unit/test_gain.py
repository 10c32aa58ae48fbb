"""Whether more works at once bring more, and how long one takes."""

from __future__ import annotations

import random

import pytest

from inkgate.serving.gain import Gain, GainSample
from inkgate.serving.rate import ServiceTime


def gain_of(pairs: list[tuple[float, float]]) -> Gain:
    gain = Gain()
    for in_flight, tokens_per_s in pairs:
        gain.add(GainSample(in_flight, in_flight, tokens_per_s))
    return gain


def test_an_engine_with_room_gains() -> None:
    assert not gain_of([(n, 50.0 * n) for n in range(10, 20)]).is_none


@pytest.mark.parametrize("slope", [0.0, -5.0, 2.0])
def test_a_full_engine_gains_nothing(slope: float) -> None:
    assert gain_of([(n, 1000.0 + slope * n) for n in range(10, 20)]).is_none


def test_concurrency_that_hardly_varied_says_nothing() -> None:
    rng = random.Random(3)
    assert not gain_of([(64 + rng.random(), rng.uniform(900, 1100)) for _ in range(32)]).is_none


def test_a_few_samples_say_nothing() -> None:
    assert not gain_of([(10, 100.0), (20, 90.0), (30, 80.0)]).is_none


def test_an_engine_that_makes_no_tokens_says_nothing() -> None:
    assert not gain_of([(n, 0.0) for n in range(10, 20)]).is_none


def test_the_knee_is_found_though_there_was_a_gain_before_it() -> None:
    assert gain_of([(n, 50.0 * min(n, 20)) for n in range(8, 28)]).is_none


def test_noise_is_no_evidence_that_growth_brings_nothing() -> None:
    """A gain of 0.3 for one, under noise of a tenth: few steps show nothing, and many do not show that it is none."""
    wrong = 0
    for seed in range(100):
        rng = random.Random(seed)
        gain = gain_of([(n, 1000.0 * n**0.3 * rng.gauss(1.0, 0.1)) for n in range(16, 26)])
        wrong += gain.is_none
    assert wrong <= 5


def test_a_full_engine_is_seen_through_noise_before_long() -> None:
    found = 0
    for seed in range(100):
        rng, gain = random.Random(seed), Gain()
        for n in range(16, 48):
            gain.add(GainSample(n, n, 1000.0 * rng.gauss(1.0, 0.1)))
            if gain.is_none:
                found += 1
                break
    assert found >= 90


def test_undone_is_the_growth_of_the_samples_that_brought_nothing() -> None:
    gain = gain_of([(n, 50.0 * min(n, 20)) for n in range(8, 28)])
    assert 19 <= gain.undone(500.0) <= 21
    assert not gain.is_none
    assert [gain.may_be(499.0), gain.may_be(500.0)] == [False, True]


def test_after_pressure_growth_may_be_tried_at_once() -> None:
    gain = gain_of([(n, 1000.0) for n in range(10, 20)])
    gain.undone(500.0)
    gain.forget()
    assert gain.may_be(100.0)


def test_the_time_of_a_work_follows_from_how_many_are_there_and_end() -> None:
    service = ServiceTime(assumed_s=5.0)
    assert service.mean_s == 5.0
    for _ in range(300):
        for _ in range(4):
            service.ended()
        service.passed(in_flight=12, span_s=1.0)
    assert service.mean_s == pytest.approx(3.0)
    for _ in range(10_000):
        service.passed(in_flight=0, span_s=1.0)
    assert service.mean_s == pytest.approx(3.0, rel=0.01)
