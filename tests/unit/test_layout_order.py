"""The order in which a page is read, by geometry alone."""

import random

import pytest

from inkgate_client.types import Line
from support.layouts import EM, PAGE, PITCH, arrange, column, in_order, line, prose, turned, vertical


def read(lines: list[Line]) -> list[str]:
    """The texts in reading order, given in another one."""
    shuffled = list(lines)
    random.Random(7).shuffle(shuffled)
    return [found.text for found in arrange(shuffled, PAGE).lines]


def texts(lines: list[Line]) -> list[str]:
    return [given.text for given in lines]


def two_columns(count: int, top: float, shift: float = 0.0) -> list[Line]:
    return [
        *column(prose("left", count), 100, top, 460),
        *column(prose("right", count), 600, top + shift, 460),
    ]


def test_an_empty_page_gives_nothing() -> None:
    result = arrange([], PAGE)
    assert (result.lines, result.blocks, result.text, result.markdown) == ((), (), "", "")
    assert result.header is None
    assert result.footer is None


def test_one_column_is_read_downwards() -> None:
    lines = column(prose("line", 12), 100, 100, 900)
    assert read(lines) == texts(lines)


def test_two_columns_under_a_spanning_title_are_read_one_after_the_other() -> None:
    lines = [line("A title over both columns of the page", 150, 60, 850, 40), *two_columns(10, 150)]
    assert read(lines) == texts(lines)


def test_a_running_header_above_the_right_column_is_read_before_both() -> None:
    lines = [line("Running header", 860, 90, 200), *two_columns(10, 150)]
    assert read(lines) == texts(lines)


@pytest.mark.parametrize("shift", [0.0, 7.0, 14.0])
def test_columns_of_prose_may_share_their_baselines_or_not(shift: float) -> None:
    lines = two_columns(8, 150, shift)
    assert read(lines) == texts(lines)


def test_a_heading_across_parts_columns_above_from_columns_below() -> None:
    lines = [*two_columns(6, 100), line("Another part of the page begins here", 100, 300, 960), *two_columns(6, 350)]
    assert read(lines) == texts(lines)


def test_three_columns_are_read_from_left_to_right() -> None:
    lines = [found for i in range(3) for found in column(prose(f"c{i}-", 9), 60 + i * 370, 100, 340)]
    assert read(lines) == texts(lines)


def test_a_short_column_beside_a_long_one() -> None:
    lines = [*column(prose("left", 20), 100, 100, 460), *column(prose("right", 5), 600, 100, 460)]
    assert read(lines) == texts(lines)


def test_a_narrow_gutter_between_generous_boxes_is_found() -> None:
    lines = [*column(prose("left", 8), 100, 100, 460), *column(prose("right", 8), 570, 100, 460)]
    assert read(lines) == texts(lines)


def test_a_page_number_above_two_columns_is_not_read_within_them() -> None:
    lines = [line("17", 1040, 40), *two_columns(8, 120)]
    assert read(lines) == texts(lines)


def test_header_and_footer_rows_beside_two_columns_are_read_across() -> None:
    lines = [
        line("Chapter three", 100, 40),
        line("273", 1020, 40),
        *two_columns(8, 120),
        line("Some Journal", 100, 500),
        line("March 2014", 960, 500),
    ]
    assert read(lines) == texts(lines)


def test_columns_end_where_the_page_is_empty_from_side_to_side() -> None:
    lines = [*two_columns(5, 100), *two_columns(5, 100 + 5 * PITCH + 5 * EM)]
    assert read(lines) == texts(lines)


def test_a_receipt_is_read_across() -> None:
    rows = [("PAN CACHO GDE.", "2.50"), ("BUNUELOS", "2.00"), ("PAN DE BONO", "3.00"), ("SUBTOTAL", "7.50")]
    lines = [line("COSITAS RICAS", 300, 40), line("79-19 Roosevelt Ave.", 280, 70)]
    for i, (item, price) in enumerate(rows * 3):
        lines += [line(item, 100, 120 + i * PITCH), line(price, 700, 122 + i * PITCH)]
    assert read(lines) == texts(lines)
    assert "BUNUELOS 2.00\n" in arrange(lines, PAGE).text


def test_prices_belong_to_their_items_where_items_take_two_lines() -> None:
    lines = []
    for i in range(6):
        top = 100 + i * 2 * PITCH
        lines += [line(f"{i} TOWEL ROD", 80, top), line(f"{i}.00", 700, top), line(f"BRACKET {i}", 120, top + PITCH)]
    assert read(lines) == texts(lines)


def test_a_table_of_words_and_numbers_is_read_across() -> None:
    lines = []
    for i in range(8):
        for j, cell in enumerate((f"Region {i}", f"{i},530", f"{i}%", "yes" if i % 2 else "no")):
            lines.append(line(cell, 80 + 260 * j, 100 + i * PITCH))
    assert read(lines) == texts(lines)


def test_address_blocks_side_by_side_are_read_one_after_the_other() -> None:
    sender = ["Weinbau Coolbert", "Weena Straat", "CN Rotterdam", "Nederland", "Kamer Rotterdam"]
    receiver = ["Pino Bluebird", "Sesamestreet", "RX Amsterdam", "Holland"]
    lines = [
        *column(sender, 100, 100),
        *[line(text, 700, 90 + i * 1.4 * PITCH) for i, text in enumerate(receiver)],
        line("Invoice for many things that were bought in the shop", 100, 300, 900),
    ]
    assert read(lines) == texts(lines)


def test_labels_and_values_are_read_across() -> None:
    lines = []
    for i, (label, value) in enumerate([("Date", "21/03/2018"), ("Cashier", "USER"), ("Table", "D06"), ("Pax", "5")]):
        lines += [line(label, 100, 100 + i * PITCH), line(f": {value}", 300, 103 + i * PITCH)]
    assert read(lines) == texts(lines)


def test_notes_in_the_margin_come_after_the_text_beside_them() -> None:
    lines = [
        *column(prose("body", 14), 100, 100, 700),
        *[line(text, 850, 110 + i * 1.6 * PITCH) for i, text in enumerate(["a note in", "the margin", "about it all"])],
    ]
    assert read(lines) == texts(lines)


def test_line_numbers_stay_with_their_lines() -> None:
    lines = []
    for i in range(10):
        lines += [line(str(i + 1), 40, 100 + i * PITCH), line(f"verse {i} of the long poem", 100, 100 + i * PITCH, 700)]
    assert read(lines) == texts(lines)


def test_footnotes_come_after_both_columns() -> None:
    lines = [*two_columns(8, 100), line("1 A footnote that stands under both of the columns.", 100, 345, 960, 14)]
    assert read(lines) == texts(lines)


@pytest.mark.parametrize("degrees", [-8.0, -3.0, 3.0, 8.0])
def test_a_skewed_page_is_read_as_the_straight_one(degrees: float) -> None:
    rows = [found for i in range(10) for found in (line(f"item {i}", 80, i * 40), line(f"{i}.50", 1000, i * 40))]
    columns = two_columns(10, 600)
    assert read(turned([*rows, *columns], degrees)) == texts([*rows, *columns])


def test_rows_of_a_curled_receipt_are_followed_along_their_slope() -> None:
    lines = []
    for i in range(8):
        top = 100 + i * 24
        slope = 0.06
        left = Line(
            f"item {i}", ((80, top), (400, top + 320 * slope), (400, top + 320 * slope + 20), (80, top + 20)), 0.9
        )
        lines += [left, line(f"{i}.99", 640, top + 560 * slope)]
    assert read(lines) == texts(lines)


def test_vertical_columns_are_read_from_right_to_left() -> None:
    lines = [vertical(f"第{i}列は上から下へ読みます", 900 - i * 40, 100) for i in range(8)]
    assert read(lines) == texts(lines)


def test_vertical_text_in_two_tiers_is_read_tier_by_tier() -> None:
    upper = [vertical(f"上段{i}は先に読むものです", 900 - i * 40, 100) for i in range(6)]
    lower = [vertical(f"下段{i}は後に読むものです", 900 - i * 40, 400) for i in range(6)]
    assert read([*upper, *lower]) == texts([*upper, *lower])


def test_a_stamp_along_the_margin_is_read_last() -> None:
    stamp = Line("arXiv:2101.00001v1 [cs.CL]", ((20, 900), (20, 400), (44, 400), (44, 900)), 0.9)
    lines = [*column(prose("body", 12), 100, 300, 900), stamp]
    assert read(lines) == texts(lines)


def test_text_keeps_rows_as_lines_and_parts_paragraphs() -> None:
    lines = [
        *column(["The first para-", "graph of it."], 100, 100, 400),
        *column(["The second one", "ends here."], 100, 200, 400),
    ]
    assert arrange(lines, PAGE).text == "The first para-\ngraph of it.\n\nThe second one\nends here."


def test_pieces_of_one_row_are_joined_by_a_space() -> None:
    lines = [line("SWC", 70, 100), line("ENTERPRISE", 150, 101), line("SDN BHD", 380, 99)]
    assert arrange(lines, PAGE).text == "SWC ENTERPRISE SDN BHD"


def test_text_holds_every_line_in_the_order_of_lines() -> None:
    result = arrange(two_columns(6, 100), PAGE)
    assert in_order(result.text, *[found.text for found in result.lines])
