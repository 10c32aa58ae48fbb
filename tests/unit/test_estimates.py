"""What an answer is expected to take."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.estimates import OutputEstimates

CAP = 4096


def test_the_cap_holds_until_enough_is_known() -> None:
    estimates = OutputEstimates()
    for _ in range(19):
        estimates.finished("a", 100)
        assert estimates.estimates("a", CAP)[1] == CAP
    estimates.finished("a", 100)
    assert 100 <= estimates.estimates("a", CAP)[1] <= 110
    assert estimates.estimates("b", CAP)[1] == CAP


@given(st.lists(st.integers(1, CAP), min_size=20, max_size=60), st.integers(1, CAP), st.integers(1, 500))
def test_an_estimate_lies_between_floor_and_cap(tokens: list[int], cap: int, floor: int) -> None:
    estimates = OutputEstimates(floor=floor)
    for each in tokens:
        estimates.finished("a", each)
    found = estimates.estimates("a", cap)[1]
    assert min(cap, floor) <= found <= cap
    assert found <= max(floor, 1.1 * max(tokens) + 1)


@given(st.integers(0, 2**32))
def test_about_one_in_twenty_passes_the_estimate(seed: int) -> None:
    rng = random.Random(seed)
    estimates = OutputEstimates(floor=1)
    draws = [max(1, round(rng.lognormvariate(6, 0.8))) for _ in range(1500)]
    for each in draws[:1000]:
        estimates.finished("a", each)
    found = estimates.estimates("a", 100_000)[1]
    assert 0.003 <= sum(each > found for each in draws) / len(draws) <= 0.15


def test_longer_answers_are_followed_at_once_and_shorter_ones_in_time() -> None:
    estimates = OutputEstimates()
    for _ in range(1000):
        estimates.finished("a", 200)
    for _ in range(15):
        estimates.finished("a", 2000)
    assert estimates.estimates("a", CAP)[1] >= 2000
    for _ in range(600):
        estimates.finished("a", 200)
    assert estimates.estimates("a", CAP)[1] <= 220


@given(st.integers(0, 2**32))
def test_cutting_the_longest_off_does_not_make_estimates_low(seed: int) -> None:
    """Survivor bias: the long ones run into the deadline, and only the short ones would be known."""
    rng = random.Random(seed)
    estimates, deceived = OutputEstimates(), OutputEstimates()
    for _ in range(600):
        tokens = 2000 if rng.random() < 0.3 else 200
        if tokens > 1000:
            estimates.unfinished("a", 1000)
        else:
            estimates.finished("a", tokens)
            deceived.finished("a", tokens)
    assert deceived.estimates("a", CAP)[1] <= 220
    assert estimates.estimates("a", CAP)[1] == CAP


def test_those_cancelled_at_any_time_move_nothing() -> None:
    """Kaplan and Meier: callers that leave for reasons of their own say only how far they got."""
    rng = random.Random(7)
    estimates, all_of_them = OutputEstimates(), OutputEstimates()
    for _ in range(3000):
        tokens, leaves = rng.randint(100, 1000), rng.randint(1, 2000)
        all_of_them.finished("a", tokens)
        if leaves < tokens:
            estimates.unfinished("a", leaves)
        else:
            estimates.finished("a", tokens)
    truth, found = all_of_them.estimates("a", CAP)[1], estimates.estimates("a", CAP)[1]
    assert abs(found - truth) <= 0.15 * truth


def test_nothing_but_cut_off_answers_says_nothing() -> None:
    estimates = OutputEstimates()
    for _ in range(100):
        estimates.unfinished("a", 10)
    assert estimates.estimates("a", CAP)[1] == CAP


def test_the_keys_longest_unused_are_forgotten() -> None:
    estimates = OutputEstimates()
    for key in ("kept", "lost"):
        for _ in range(20):
            estimates.finished(key, 100)
    for other in range(511):
        estimates.finished(other, 1)
        assert estimates.estimates("kept", CAP)[1] < CAP
    assert estimates.estimates("lost", CAP)[1] == CAP


def test_many_samples_leave_it_as_exact_as_a_few() -> None:
    estimates = OutputEstimates()
    for tokens in range(100_000):
        estimates.finished("a", 100 + tokens % 100)
    assert 190 <= estimates.estimates("a", CAP)[1] <= 220


def test_the_mean_is_learned_beside_the_quantile() -> None:
    estimates = OutputEstimates()
    assert estimates.estimates("page", 4000) == (4000, 4000)
    for number in range(1000):
        estimates.finished("page", 800 if number % 10 == 0 else 100)
    mean, quantile = estimates.estimates("page", 4000)
    assert 165 <= mean <= 190
    assert 800 <= quantile <= 880
    assert estimates.estimates("page", 150) == (150, 150)
