"""The order score: which lines are matched, Kendall's tau, and the order of columns."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.accuracy.line_accounts import reduced
from inkgate_bench.accuracy.reading_order import column_order_tau, kendall_tau, match_lines, order_score
from inkgate_client.types import Box

LINES = ["the first line", "a second one", "then the third", "and the fourth"]


def test_right_reversed_and_half_right_orders() -> None:
    assert order_score(LINES, LINES) is not None
    assert [score.tau for score in (order_score(LINES, read) for read in (LINES, LINES[::-1])) if score] == [1, -1]
    swapped = order_score(LINES, [LINES[1], LINES[0], *LINES[2:]])
    assert swapped is not None
    assert swapped.tau == pytest.approx(4 / 6)  # 5 pairs of 6 are right
    assert (swapped.matched, swapped.lines) == (4, 4)


def test_missed_and_misread_lines_leave_the_order_of_the_others() -> None:
    score = order_score(LINES, [LINES[0], "tben tbe third", "something invented"])
    assert score is not None
    assert (score.tau, score.matched, score.lines) == (1.0, 2, 4)


def test_interleaved_columns_lower_the_score() -> None:
    left, right = [f"left words number {i}" for i in range(5)], [f"right text of row {i}" for i in range(5)]
    read = [line for pair in zip(left, right, strict=True) for line in pair]
    score = order_score([*left, *right], read)
    assert score is not None
    assert score.tau == pytest.approx(1 - 2 * 10 / 45)  # 10 of 45 pairs are turned around


@pytest.mark.parametrize(
    ("truth", "read"),
    [([], LINES), (["one"], LINES), (["---", "..."], LINES), (["same", "same"], ["same", "same"])],
)
def test_nothing_to_order_gives_no_score(truth: list[str], read: list[str]) -> None:
    assert order_score(truth, read) is None


def test_nothing_found_is_no_order() -> None:
    score = order_score(LINES, [])
    assert score is not None
    assert (score.tau, score.matched, score.lines) == (0.0, 0, 4)


def test_lines_cut_or_joined_by_the_reader_are_found() -> None:
    truth = list(map(reduced, ["name and address of the buyer", "invoice 4711", "date of delivery", "7"]))
    cut = match_lines(
        truth, list(map(reduced, ["name and address", "of the buyer", "invoice 4711 date of delivery", "7"]))
    )
    assert cut == [0.0, 24.0, 35.0, 49.0]


def test_each_read_line_is_taken_once_and_by_the_most_alike() -> None:
    assert match_lines(["abcdefgh", "abcdefgx"], ["abcdefgx"]) == [None, 0.0]
    assert match_lines(["total"], ["total", "total"]) == [None]  # which of them?
    assert match_lines(["abc"], ["abd"]) == [None]  # too short to be alike


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30))
def test_tau_is_that_of_its_definition(places: list[int]) -> None:
    pairs = list(combinations(places, 2))
    signs = sum((first < second) - (first > second) for first, second in pairs)
    assert kendall_tau(places) == pytest.approx(signs / len(pairs))


def test_tau_of_one_place_is_unknown() -> None:
    assert kendall_tau([]) is None
    assert kendall_tau([3]) is None


def two_columns(rows: int = 6) -> tuple[list[Box], list[Box]]:
    return (
        [(0.0, 20.0 * row, 90.0, 20.0 * row + 15) for row in range(rows)],
        [(110.0, 20.0 * row, 200.0, 20.0 * row + 15) for row in range(rows)],
    )


def test_columns_read_one_after_the_other_are_right() -> None:
    left, right = two_columns()
    title: Box = (0.0, -40.0, 200.0, -20.0)
    assert column_order_tau([title, *left, *right]) == 1.0
    assert column_order_tau([*right, *left]) == pytest.approx(1 - 2 * 36 / 66)
    across = [box for pair in zip(left, right, strict=True) for box in pair]
    assert column_order_tau(across) == pytest.approx(1 - 2 * 15 / 66)


def test_a_line_across_both_columns_divides_them_into_bands() -> None:
    left, right = two_columns()
    across: Box = (0.0, 56.0, 200.0, 59.0)
    in_bands = [*left[:3], *right[:3], across, *left[3:], *right[3:]]
    assert column_order_tau(in_bands) == 1.0


def test_pages_without_two_columns_have_no_order_of_columns() -> None:
    left, right = two_columns()
    assert column_order_tau([]) is None
    assert column_order_tau(left * 2) is None
    assert column_order_tau([(box[0], box[1], 200.0, box[3]) for box in left * 2]) is None
    assert column_order_tau([*left, *left, *right[:1]]) is None
