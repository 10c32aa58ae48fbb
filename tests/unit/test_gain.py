"""Whether more requests at once bring more, and how long one takes."""

from __future__ import annotations

import random

import pytest

from inkgate.model_servers.evidence import GainSample, ServiceTime, ThroughputGain


def undone_to(pairs: list[tuple[float, float]]) -> float | None:
    """The limit before growth that brought nothing; None if it may have brought something."""
    gain = ThroughputGain()
    for in_flight, tokens_per_s in pairs:
        gain.add(GainSample(in_flight, in_flight, tokens_per_s))
    return gain.limit_before_useless_growth()


def test_an_engine_with_room_gains() -> None:
    assert undone_to([(n, 50.0 * n) for n in range(10, 20)]) is None


@pytest.mark.parametrize("slope", [0.0, -5.0, 2.0])
def test_a_full_engine_gains_nothing(slope: float) -> None:
    assert undone_to([(n, 1000.0 + slope * n) for n in range(10, 20)]) is not None


def test_concurrency_that_hardly_varied_says_nothing() -> None:
    rng = random.Random(3)
    assert undone_to([(64 + rng.random(), rng.uniform(900, 1100)) for _ in range(32)]) is None


def test_a_few_samples_say_nothing() -> None:
    assert undone_to([(10, 100.0), (20, 90.0), (30, 80.0)]) is None


def test_an_engine_that_makes_no_tokens_says_nothing() -> None:
    assert undone_to([(n, 0.0) for n in range(10, 20)]) is None


def test_the_knee_is_found_though_there_was_a_gain_before_it() -> None:
    assert undone_to([(n, 50.0 * min(n, 20)) for n in range(8, 28)]) is not None


def test_noise_is_no_evidence_that_growth_brings_nothing() -> None:
    """A gain of 0.3 for one, under noise of a tenth: few steps show nothing, and many do not show that it is none."""
    wrong = 0
    for seed in range(100):
        rng = random.Random(seed)
        undone = undone_to([(n, 1000.0 * n**0.3 * rng.gauss(1.0, 0.1)) for n in range(16, 26)])
        wrong += undone is not None
    assert wrong <= 5


def test_a_full_engine_is_seen_through_noise_before_long() -> None:
    found = 0
    for seed in range(100):
        rng, gain = random.Random(seed), ThroughputGain()
        for n in range(16, 48):
            gain.add(GainSample(n, n, 1000.0 * rng.gauss(1.0, 0.1)))
            if gain.limit_before_useless_growth() is not None:
                found += 1
                break
    assert found >= 90


def test_undone_is_the_growth_of_the_samples_that_brought_nothing() -> None:
    undone = undone_to([(n, 50.0 * min(n, 20)) for n in range(8, 28)])
    assert undone is not None
    assert 19 <= undone <= 21


def test_the_time_of_a_work_follows_from_how_many_are_there_and_end() -> None:
    service = ServiceTime()
    assert service.mean_s == 5.0
    for _ in range(300):
        for _ in range(4):
            service.ended()
        service.passed(in_flight=12, span_s=1.0)
    assert service.mean_s == pytest.approx(3.0)
    for _ in range(10_000):
        service.passed(in_flight=0, span_s=1.0)
    assert service.mean_s == pytest.approx(3.0, rel=0.01)
