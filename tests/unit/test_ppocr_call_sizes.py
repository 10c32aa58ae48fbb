"""Lines put into calls: each once, in order, in few sizes."""

from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.ppocr.recognition import call_sizes, calls_of

LINES, MOST = st.integers(0, 200), st.integers(1, 40)


@given(lines=LINES, most=MOST)
def test_each_line_is_in_one_call_and_order_is_kept(lines: int, most: int) -> None:
    numbers = list(range(lines))
    assert [number for call in calls_of(lines, most) for number in numbers[call]] == numbers


@given(lines=LINES, most=MOST)
def test_no_call_is_larger_than_asked(lines: int, most: int) -> None:
    assert all(1 <= size <= most for size in call_sizes(lines, most))


@given(lines=LINES, most=MOST)
def test_large_calls_come_first_and_single_lines_last(lines: int, most: int) -> None:
    sizes = call_sizes(lines, most)
    assert sizes == sorted(sizes, reverse=True)


@given(lines=LINES, most=MOST)
def test_what_fits_a_large_call_is_not_read_one_by_one(lines: int, most: int) -> None:
    assert call_sizes(lines, most).count(1) < (8 if most >= 8 else 2) or most == 1


def test_few_sizes_are_in_use() -> None:
    assert {size for lines in range(200) for size in call_sizes(lines, 100)} == {1, 8}
    assert {size for lines in range(200) for size in call_sizes(lines, 7)} == {1, 2, 4}


def test_lines_that_are_left_over_are_read_in_one_shape() -> None:
    assert call_sizes(16, 16) == [8, 8]
    assert call_sizes(11, 16) == [8, 1, 1, 1]
    assert call_sizes(7, 5) == [4, 2, 1]
    assert call_sizes(3, 1) == [1, 1, 1]
