"""Columns of magazines and newspapers: spreads, headlines, insets, drop caps, footnotes."""

import random

import pytest

from inkgate.layout.evidence import Region
from inkgate_client.types import BlockType, Line, Size
from support.layouts import PAGE, PITCH, arrange, column, line, prose, region

SPREAD = Size(2400, 1600)


def read(lines: list[Line], size: Size = PAGE, regions: list[Region] | None = None) -> list[str]:
    shuffled = list(lines)
    random.Random(5).shuffle(shuffled)
    return [found.text for found in arrange(shuffled, size, regions).lines]


def texts(lines: list[Line]) -> list[str]:
    return [given.text for given in lines]


def narrow(name: str, count: int) -> list[str]:
    """Lines of a narrow column; most of them begin within a sentence."""
    return [f"{'and' if i % 3 else 'The'} {name}{i} runs on" for i in range(count)]


@pytest.mark.parametrize("photo", [False, True])
def test_the_pages_of_a_spread_are_read_one_after_the_other(photo: bool) -> None:
    lines = [
        line("A headline over two columns", 80, 80, 900, 50),
        *column(prose("a", 30), 80, 200, 520),
        *column(prose("b", 30), 640, 200, 520),
        *column(prose("c", 16), 1260, 700, 520),
        *column(prose("d", 16), 1820, 700, 520),
    ]
    assert read(lines, SPREAD, [region(BlockType.FIGURE, 1260, 60, 2340, 660)] if photo else None) == texts(lines)


def test_narrow_columns_far_apart_on_common_baselines_are_no_table() -> None:
    lefts = [80, 360, 640, 1300, 1580, 1860]
    lines = [found for i, left in enumerate(lefts) for found in column(narrow(f"c{i}x", 30), left, 200, 220)]
    assert read(lines, SPREAD) == texts(lines)


def test_rows_of_short_cells_far_apart_remain_rows() -> None:
    lines = [
        line(f"{word} article {i}", 80 + 480 * j, 100 + i * PITCH, 200)
        for i in range(12)
        for j, word in enumerate(("red", "green"))
    ]
    assert read(lines) == texts(lines)


def test_columns_that_begin_with_headings_of_their_own() -> None:
    lines = []
    for i in range(3):
        left = 60 + i * 370
        lines += [line(f"Heading {i}", left, 100, 160, 24), *column(prose(f"c{i}x", 14), left, 150, 340)]
    assert read(lines) == texts(lines)


def test_a_headline_over_some_columns_ends_the_story_above() -> None:
    lefts = [50 + i * 280 for i in range(4)]
    upper = [found for i, left in enumerate(lefts) for found in column(prose(f"u{i}x", 14), left, 160, 255)]
    second = [line("Another story", 50, 600, 530, 36)]
    second += [found for left in lefts[:2] for found in column(prose(f"s{left}x", 14), left, 660, 255)]
    third = [line("And a third story", 610, 620, 530, 36)]
    third += [found for left in lefts[2:] for found in column(prose(f"t{left}x", 14), left, 680, 255)]
    lines = [line("The main story of the day", 50, 60, 1100, 60), *upper, *second, *third]
    assert read(lines) == texts(lines)


def test_a_story_over_all_rows_stands_beside_two_others() -> None:
    lefts = [330, 610, 890]
    lines = column(prose("side", 36), 50, 60, 255)
    for name, top in (("upper", 60), ("lower", 600)):
        lines.append(line(f"The {name} story of the page", 330, top, 800, 50))
        for left in lefts:
            lines += column(prose(f"{name}{left}x", 14), left, top + 90, 255)
    assert read(lines) == texts(lines)


def test_an_inset_that_columns_run_around_is_read_after_them() -> None:
    left, right = [], []
    for i in range(30):
        around = 10 <= i < 17
        left.append(line(f"left{i} of some running text", 80, 150 + i * PITCH, 340 if around else 500))
        right.append(
            line(f"right{i} of some running text", 780 if around else 620, 150 + i * PITCH, 340 if around else 500)
        )
    quotation = [line(f"quotation {i} in large type", 450, 150 + 11 * PITCH + i * 40, 300, 32) for i in range(3)]
    lines = [*left, *right, *quotation]
    assert read(lines) == texts(lines)


def test_cells_between_others_are_no_inset() -> None:
    lines = []
    for i in range(10):
        lines += [line(f"Cell {i} {j}", 80 + j * 300 + 40 * (i % 3), 100 + i * PITCH, 110) for j in range(3)]
    assert read(lines) == texts(lines)


@pytest.mark.parametrize(
    ("initial", "first", "expected"),
    [("W", "hen it began", "When it began"), ("I", "n the night", "In the night"), ("I", "was there", "I was there")],
)
def test_a_drop_cap_is_joined_to_its_paragraph(initial: str, first: str, expected: str) -> None:
    cap = Line(initial, ((620, 150), (670, 150), (670, 230), (620, 230)), 0.9)
    beside = [line(first if i == 0 else f"line {i} of it", 680, 150 + i * PITCH, 440) for i in range(3)]
    below = column(prose("below", 12), 620, 150 + 3 * PITCH, 500)
    lines = [*column(prose("left", 15), 80, 150, 500), cap, *beside, *below]
    assert read(lines) == texts(lines)
    assert f"{expected} line 1" in arrange(lines, PAGE).markdown


def test_a_large_letter_without_lines_beside_it_stays_where_it_is() -> None:
    lines = [line("A", 100, 100, 50, 60), *column(prose("body", 8), 100, 200, 900)]
    assert arrange(lines, PAGE).text.startswith("A\n\nbody0")


def test_footnotes_stay_at_the_foot_of_their_column() -> None:
    def column_of(name: str, left: float) -> list[Line]:
        notes = [line(f"{name} note {i}", left, 1080 + i * 20, 480, 15) for i in range(3)]
        return [*column(prose(name, 32), left, 150, 500), *notes]

    lines = [*column_of("left", 80), *column_of("right", 620)]
    assert read(lines) == texts(lines)


def test_a_caption_within_a_column_stays_in_it() -> None:
    figure = region(BlockType.FIGURE, 80, 500, 580, 780)
    upper, lower = column(prose("a", 12), 80, 150, 500), column(prose("b", 14), 80, 880, 500)
    caption = [line("A caption in small letters", 80, 800, 300, 16)]
    lines = [*upper, *caption, *lower, *column(prose("c", 40), 620, 150, 500)]
    assert read(lines, PAGE, [figure]) == texts(lines)


def test_addresses_at_both_edges_are_columns_although_some_of_their_lines_meet() -> None:
    left = ["FACTUUR voor uw order", "Pino Bluebird", "Sesamestreet straat", "Amsterdam Noord", "Nederland"]
    right = ["Winkel Blauw", "Weena straat", "Rotterdam Zuid", "Nederland", "www.winkel.example"]
    tops = (105.0, 139.0, 172.0, 198.0, 222.0)
    sender = [line(text, 900, top) for text, top in zip(right, tops, strict=True)]
    assert read([*column(left, 100, 100), *sender]) == [*left, *right]


def test_labels_and_values_far_apart_are_rows() -> None:
    labels = ["Subtotal of goods", "Freight and post", "Value added tax", "Total to be paid", "Paid by card"]
    values = ["four hundred", "twenty five", "ninety nine", "five hundred", "five hundred"]
    rows = [text for pair in zip(labels, values, strict=True) for text in pair]
    assert read([*column(labels, 100, 100), *column(values, 900, 101)]) == rows


def test_a_short_column_between_others_is_no_inset() -> None:
    # Below the three columns are two wider ones, so that the middle column stands over their gutter.
    upper = [column(prose(f"upper{i}x", count), 80 + i * 370, 150, 330) for i, count in enumerate((12, 7, 10))]
    lower = [column(prose(f"lower{i}x", 9), 80 + i * 560, 150 + 14.5 * PITCH, 500) for i in range(2)]
    lines = [item for part in (*upper, *lower) for item in part]
    assert read(lines) == texts(lines)


def test_columns_end_where_others_begin_with_other_gutters() -> None:
    upper = [column(prose(f"upper{i}x", 8), 80 + i * 560, 150, 500) for i in range(2)]
    lower = [column(prose(f"lower{i}x", 8 - i), 80 + i * 370, 150 + 9.5 * PITCH, 330) for i in range(3)]
    lines = [item for part in (*upper, *lower) for item in part]
    assert read(lines) == texts(lines)


def test_a_headline_close_to_the_columns_above_begins_a_story() -> None:
    lines = []
    for name, top in (("first", 150), ("second", 150 + 15 * PITCH)):
        # Wide over three of four columns; its letters are large.
        lines.append(line(f"{name} story of the day", 80, top - 45, 700, 34))
        for i in range(4):
            lines += column(prose(f"{name}{i}x", 13), 80 + i * 270, top, 250)
    assert read(lines) == texts(lines)
