"""How confidence is judged: intervals, curves, and what flags are worth; and how its threshold is chosen."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.structure.fit_confidence import Sample, fit, flags_of_others, probability, threshold
from benchmarks.structure.judge_confidence import PageVerdict, bins, curve_table, promise_table, wilson
from inkgate.types import PageResult, ReviewNote, ReviewReason


@given(st.integers(0, 300), st.integers(1, 300))
def test_an_interval_holds_its_share_and_narrows_with_the_count(hits: int, count: int) -> None:
    hits = min(hits, count)
    low, high = wilson(hits, count)
    assert 0 <= low <= hits / count + 1e-9
    assert hits / count - 1e-9 <= high <= 1
    narrow = wilson(10 * hits, 10 * count)
    assert narrow[1] - narrow[0] < high - low


def test_an_interval_is_wilson_s() -> None:
    assert wilson(98, 100) == pytest.approx((0.9300, 0.9945), abs=5e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_curve_counts_each_point_once() -> None:
    points = [(0.2, False), (0.95, True), (0.97, False), (1.0, True)]
    found = bins(points)
    assert [(each.low, each.high, each.count, each.hits) for each in found] == [
        (0.0, 0.5, 1, 0),
        (0.95, 0.98, 2, 1),
        (0.999, 1.0, 1, 1),
    ]
    assert "| 0.95 to 0.98 | 2 | 96.0 % | 50.0 % (9 to 91) |" in curve_table("Words", points)


def verdict(f1: float, *flags: str) -> PageVerdict:
    return PageVerdict("a", "pages", frozenset(flags), f1, 0.9, 0.9, order_right=None)


def test_the_promise_is_counted_on_pages_without_flags() -> None:
    pages = [verdict(0.99), verdict(1.0), verdict(0.97), verdict(0.5, "uncertain_text"), verdict(1.0, "cut_off")]
    row = promise_table(pages).splitlines()[-1]
    assert row.startswith("| all | 5 | 3 | 3 | 2: 66.7 %")
    assert row.endswith("| 1 of 2 | 1 of 3 |")


def test_a_fit_is_monotone_and_a_threshold_leaves_right_pages_only() -> None:
    doubts = [number / 200 for number in range(200)]
    samples = [
        Sample(str(number), {"doubt": doubt, "noise": float(number % 3), "good": 1 - doubt}, doubt < 0.5)
        for number, doubt in enumerate(doubts)
    ]
    model = fit(samples)
    assert model["doubt"] < 0
    assert model["good"] == 0.0
    found = [probability(model, sample.measures) for sample in samples]
    least = threshold(samples, found)
    left = Counter(sample.right for sample, one in zip(samples, found, strict=True) if one >= least)
    assert left[True] > 80
    assert left[False] <= 2


def test_without_a_good_threshold_the_best_that_leaves_half_of_the_right_pages_is_taken() -> None:
    samples = [Sample(str(n), {"doubt": 0.0}, right=n % 5 > 0) for n in range(20)]
    assert threshold(samples, [0.6] * 20) == 0.5
    better = [0.9 if sample.right and int(sample.document) < 14 else 0.6 for sample in samples]
    assert threshold(samples, better) == 0.61


def test_flags_of_others_are_kept_when_a_page_is_judged_again() -> None:
    note = ReviewNote(ReviewReason.UNCERTAIN_TEXT, "it may be a mark, not text")
    own = (ReviewReason.UNCERTAIN_TEXT, ReviewReason.UNCERTAIN_ORDER, ReviewReason.INK_WITHOUT_TEXT)
    assert flags_of_others(PageResult(0, review=own)) == (ReviewReason.INK_WITHOUT_TEXT,)
    assert flags_of_others(PageResult(0, review=own, review_notes=(note,))) == (own[0], own[2])
