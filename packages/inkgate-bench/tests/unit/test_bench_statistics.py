"""Statistics of repeats: the figures of scipy's own test, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from inkgate_bench.statistics import StatisticsError, Verdict, compare_repeats, pooled_deviation, summarize_repeats

SLOW = (10.0, 10.4, 9.8, 10.1)
FAST = (13.1, 12.6, 13.4)


def test_mean_and_spread_of_repeats() -> None:
    summary = summarize_repeats([9.0, 10.0, 11.0])
    assert (summary.mean, summary.deviation, summary.count) == (10.0, 1.0, 3)
    assert summary.relative_deviation == pytest.approx(0.1)
    assert summarize_repeats([4.0]).deviation is None
    assert summarize_repeats([0.0, 0.0]).relative_deviation is None


def test_repeats_of_several_things_give_one_deviation() -> None:
    """Of 20 groups of five with a deviation of 8 %, whatever their size; experience matters only without repeats."""
    random = np.random.default_rng(1)
    groups = [list(size * np.exp(0.08 * random.standard_normal(5))) for size in np.linspace(1, 50, 20)]
    assert pooled_deviation(groups, usual=0.05) == pytest.approx(0.08, rel=0.15)
    assert pooled_deviation([[3.0], []], usual=0.05) == pytest.approx(0.05)
    assert pooled_deviation([[3.0, 3.0]], usual=0.05) == pytest.approx(0.05 * (2 / 3) ** 0.5)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.995])
def test_ratio_interval_and_p_are_those_of_welchs_test_on_logarithms(confidence: float) -> None:
    found = compare_repeats(SLOW, FAST, confidence=confidence)
    expected = scipy.stats.ttest_ind(np.log(FAST), np.log(SLOW), equal_var=False)
    interval = expected.confidence_interval(confidence)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))
    assert found.ratio == pytest.approx(scipy.stats.gmean(FAST) / scipy.stats.gmean(SLOW))


def test_verdict_is_read_off_the_interval() -> None:
    assert compare_repeats(SLOW, FAST).verdict is Verdict.DIFFERENT
    assert compare_repeats(FAST, SLOW).verdict is Verdict.DIFFERENT
    assert compare_repeats([10, 10.01, 9.99], [10, 10.02, 9.98]).verdict is Verdict.EQUAL
    assert compare_repeats([8, 10, 12], [9, 11, 13]).verdict is Verdict.UNCLEAR


def test_swapping_the_sides_inverts_the_ratio() -> None:
    one, other = compare_repeats(SLOW, FAST), compare_repeats(FAST, SLOW)
    assert (one.ratio, one.low, one.high) == pytest.approx((1 / other.ratio, 1 / other.high, 1 / other.low))


def test_repeats_without_any_spread_are_exact_unless_a_resolution_is_given() -> None:
    exact = compare_repeats([20, 20, 20], [21, 21, 21])
    assert (exact.verdict, exact.low, exact.high, exact.p) == (Verdict.DIFFERENT, exact.ratio, exact.ratio, 0.0)
    assert compare_repeats([20, 20, 20], [20, 20, 20]).p == 1.0
    assert compare_repeats([20, 20, 20], [21, 21, 21], resolution=1 / 20).verdict is Verdict.UNCLEAR


def test_too_few_repeats_and_zeros_are_refused() -> None:
    with pytest.raises(StatisticsError, match="at least 3 times"):
        compare_repeats(SLOW, FAST[:2])
    with pytest.raises(StatisticsError, match="measured 0"):
        compare_repeats(SLOW, [1.0, 0.0, 2.0])


def test_equal_runs_are_called_different_one_time_in_twenty_and_a_quarter_is_nearly_always_seen() -> None:
    random = np.random.default_rng(11)
    rounds = 2000

    def share_different(faster: float, spread: float) -> float:
        draws = np.exp(random.normal(0, spread, (rounds, 2, 4)))
        found = [compare_repeats(a, faster * b).verdict for a, b in draws]
        return found.count(Verdict.DIFFERENT) / rounds

    assert 0.03 <= share_different(1.0, 0.1) <= 0.065
    assert share_different(1.25, 0.04) >= 0.95


def test_figures_of_any_size_are_compared() -> None:
    huge = compare_repeats([1e-300] * 3, [1e300] * 3)
    assert huge.ratio == huge.high > 1e300
    assert compare_repeats([1e-300, 1, 1e300], [1e-300, 1, 1e300]).low == 0
