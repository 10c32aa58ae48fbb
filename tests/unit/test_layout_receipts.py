"""Receipts are read row by row, and their rows stay lines of their own."""

from __future__ import annotations

from inkgate.layout.order.frame import measure
from inkgate.layout.order.receipts import ends_in_amount, is_receipt
from inkgate_client.types import BlockType, Line, Size
from support.layouts import EM, PITCH, arrange, column, line, prose, region

PAGE = Size(500, 700)
LEFT, RIGHT, MIDDLE = 40.0, 440.0, 240.0
HEAD = ["CORNER SHOP", "5 Mill Lane, Oldtown 44300", "GST ID 000781500416"]
ITEMS = [("Green tea", "2.20"), ("Bread", "3.00"), ("Soap", "3.00"), ("TOTAL", "8.20"), ("CASH", "10.00")]
FOOT = ["Goods sold are not returnable", "Thank you"]


def centred(texts: list[str], top: float) -> list[Line]:
    widths = [0.5 * EM * len(text) for text in texts]
    return [
        line(text, MIDDLE - width / 2, top + i * PITCH)
        for i, (text, width) in enumerate(zip(texts, widths, strict=True))
    ]


def pairs(rows: list[tuple[str, str]], top: float) -> list[Line]:
    return [
        part
        for i, (label, value) in enumerate(rows)
        for part in (
            line(label, LEFT, top + i * PITCH),
            line(value, RIGHT - 0.5 * EM * len(value), top + i * PITCH),
        )
    ]


def receipt() -> list[Line]:
    foot = 60 + (len(HEAD) + len(ITEMS)) * PITCH
    return [*centred(HEAD, 40), *pairs(ITEMS, 50 + len(HEAD) * PITCH), *centred(FOOT, foot)]


def rows_in(markdown: str) -> list[str]:
    return [row.strip() for row in markdown.split("\n") if row.strip()]


EXPECTED = [*HEAD, *(f"{label} {value}" for label, value in ITEMS), *FOOT]


def test_each_printed_row_is_a_line_with_label_and_amount_together() -> None:
    found = arrange(receipt(), PAGE, [])
    assert rows_in(found.markdown or "") == EXPECTED


def test_rows_of_an_address_are_not_joined_however_full_they_are() -> None:
    address = ["No 3 Jalan SS21/39 47400 Petaling Jaya", "Level 6 Bangunan TH Damansara Uptown3", "Selangor"]
    lines = [*column(address, LEFT, 40, RIGHT - LEFT), *pairs([*ITEMS, ("CHANGE", "1.80")], 60 + 3 * PITCH)]
    assert rows_in(arrange(lines, PAGE, []).markdown or "")[:3] == address


def test_a_receipt_called_a_table_by_the_layout_model_stays_rows() -> None:
    found = arrange(receipt(), PAGE, [region(BlockType.TABLE, 30, 30, 460, 400)])
    assert rows_in(found.markdown or "") == EXPECTED
    assert {block.type for block in found.blocks} == {BlockType.TEXT}


def test_head_and_foot_of_a_receipt_are_not_left_out_as_running_lines() -> None:
    regions = [region(BlockType.HEADER, 30, 30, 460, 70), region(BlockType.FOOTER, 30, 310, 460, 350)]
    found = arrange(receipt(), PAGE, regions)
    assert rows_in(found.markdown or "") == EXPECTED
    assert not found.left_out


def test_items_in_three_columns_stay_rows_with_the_totals_below_them() -> None:
    items = [("Tea", "2", "4.40"), ("Soap", "1", "3.00"), ("Bread", "1", "3.00"), ("Milk", "2", "5.00")]
    top = 80 + len(HEAD) * PITCH
    table = [
        line(text, x, top + i * PITCH)
        for i, cells in enumerate(items)
        for text, x in zip(cells, (LEFT, 250.0, 390.0), strict=True)
    ]
    totals = pairs([("TOTAL", "15.40"), ("CASH", "20.00")], top + 4 * PITCH)
    found = arrange([*centred(HEAD, 40), *table, *totals], PAGE, [])
    assert rows_in(found.markdown or "")[3:] == [" ".join(cells) for cells in items] + ["TOTAL 15.40", "CASH 20.00"]


def test_a_narrow_page_of_a_book_is_no_slip() -> None:
    assert not is_receipt(measure(column(prose("a", 20), 40, 40, 400)))


def test_a_price_list_as_wide_as_a_page_is_no_slip() -> None:
    rows = [
        part
        for i in range(20)
        for part in (line(f"Part number {i}", 80, 80 + i * PITCH), line(f"{i}.50", 1000, 80 + i * PITCH))
    ]
    assert not is_receipt(measure(rows))


def test_a_page_without_lines_is_no_slip() -> None:
    assert not is_receipt(measure([]))


def test_amounts_are_told_from_other_numbers() -> None:
    amounts = ["8.20", "RM 1,200.00", "$3.50", "12.000", "1.234,56 €", "-0.90", "(2.00)", "22.00 SR", "TOTAL 8.20"]
    others = ["1234", "12:30", "12/03/2018", "03-9010-9849", "No.3", "44300", "ITEM", "v1.2"]
    wrong = [text for text in amounts if not ends_in_amount([*measure([line(text, 0, 0)]).pieces])]
    wrong += [text for text in others if ends_in_amount([*measure([line(text, 0, 0)]).pieces])]
    assert not wrong


def test_the_number_of_an_order_is_no_heading() -> None:
    numbered = [line("107", LEFT, 5), *receipt()]
    found = arrange(numbered, PAGE, [region(BlockType.TITLE, LEFT - 5, 0, LEFT + 80, 30)])
    assert rows_in(found.markdown or "") == ["107", *EXPECTED]
    assert all(block.type is not BlockType.TITLE for block in found.blocks)
