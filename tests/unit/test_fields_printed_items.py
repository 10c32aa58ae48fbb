"""Items of receipts without tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction, FieldStatus
from inkgate_client.types import Line, PageResult

RECEIPT = DocumentTypes.load().named("receipt")


def page(text: str, slope: float = 0.0) -> PageResult:
    """A page of rows; cells are separated by |, and the last cell of several stands at the right edge."""
    lines = []
    for at, row in enumerate(text.strip().splitlines()):
        cells = [cell.strip() for cell in row.split("|")]
        for column, content in enumerate(cells):
            width = 12.0 * len(content)
            left = 700 - width if column and column == len(cells) - 1 else 40 + 260.0 * column
            top, right = 30.0 * at + slope * left, left + width
            end = 30.0 * at + slope * right
            quad = ((left, top), (right, end), (right, end + 20), (left, top + 20))
            if content:
                lines.append(Line(content, quad, 0.98))
    return PageResult(0, lines=tuple(lines))


def found(text: str, schema: FieldSchema = RECEIPT, slope: float = 0.0) -> Extraction:
    pages = [page(text, slope)]
    return answer(pages, schema, proposed(pages, schema))


def rows(extraction: Extraction) -> list[tuple[Any, ...]]:
    items: Any = extraction.data["items"]
    return [tuple(item[name] for name in ("description", "quantity", "unit_price", "amount")) for item in items]


def sums(extraction: Extraction) -> list[bool]:
    return [check.passed for check in extraction.checks if check.code == "sum_of_items"]


def test_rows_between_the_head_of_the_page_and_the_sum_are_items() -> None:
    text = """
    HARBOUR CAFE
    Tel: 020 7946 0958
    3 Jan 2024 14:11
    2 Flat White | 7.00
    oat milk
    1 Carrot Cake | 4.50
    1 Tip Top Soda | 3.00
    Subtotal | 14.50
    VAT | 1.45
    Total | 15.95
    Cash | 20.00
    """
    wanted = [
        ("Flat White oat milk", "2", None, "7.00"),
        ("Carrot Cake", "1", None, "4.50"),
        ("Tip Top Soda", "1", None, "3.00"),
    ]
    for slope in (0.0, 0.02, -0.02):
        extraction = found(text, slope=slope)
        assert rows(extraction) == wanted
        assert sums(extraction) == [True]
        assert extraction.fields["/items/0/amount"].confidence > 0.9  # type: ignore[operator]


def test_names_may_stand_above_their_amounts() -> None:
    text = """
    Description | Qty | Total
    Milo (B)
    2 X | 2.80 | 5.60 SR
    Take Away
    2 X | 0.20 | 0.40 SR
    Total QTY: 4
    Total | 6.00
    """
    assert rows(found(text)) == [("Milo (B)", "2", "2.80", "5.60"), ("Take Away", "2", "0.20", "0.40")]


def test_counts_with_prices_and_weights_belong_to_the_item_they_make() -> None:
    text = """
    BANANAS | 0.57
    3 @ 0.19
    CHEESE | 4.20
    0.350 kg @ 12.00/kg
    TEA (2 @1.50) | 3.00
    TOTAL | 7.77
    """
    assert rows(found(text)) == [
        ("BANANAS", "3", "0.19", "0.57"),
        ("CHEESE", "0.35", "12.00", "4.20"),
        ("TEA", "2", "1.50", "3.00"),
    ]


def test_discounts_lower_the_sum_with_or_without_their_sign() -> None:
    for printed, value in (("-2.00", "-2.00"), ("2.00-", "-2.00"), ("2.00", "2.00")):
        extraction = found(f"SOAP | 5.00\nTOWEL | 7.00\nDiscount | {printed}\nTotal | 10.00")
        assert rows(extraction)[-1] == ("Discount", None, None, value)
        assert sums(extraction) == [True]


def test_items_that_do_not_add_up_need_review() -> None:
    extraction = found("SOAP | 5.00\nTOWEL | 7.00\nTotal | 13.00")
    assert sums(extraction) == [False]
    assert extraction.fields["/items/1/amount"].status is FieldStatus.INVALID
    assert extraction.status.value == "needs_review"


def test_numbers_that_are_part_of_a_name_stay_there() -> None:
    text = """
    100 PLUS | 2.50
    COLA | 2.00
    MILK | 3.00
    Total | 7.50
    """
    assert rows(found(text))[0] == ("100 PLUS", None, None, "2.50")


def test_amounts_without_items_give_none() -> None:
    assert rows(found("GRAND HOTEL\nSubtotal | 57.00\nTaxes total | 4.56\nGrand Total | 61.56")) == []
    assert rows(found("Balance of the year | 57.00\nBalance of the month | 4.56")) == []


def test_own_schemas_get_items_by_the_names_of_their_properties() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    schema = FieldSchema.of({"properties": {"total": {"type": "number"}, "lines": {"type": "array", "items": item}}})
    extraction = found("SOAP | 5.00\nTOWEL | 7.00\nTotal | 12.00", schema)
    assert extraction.data["lines"] == [{"name": "SOAP", "price": 5.0}, {"name": "TOWEL", "price": 7.0}]


def test_rows_of_very_long_lines_cost_no_more_than_short_ones() -> None:
    # Square work on these would take minutes.
    long = f"1{' ' * 100_000}"
    extraction = found(f"{long}!| 7.00\n1 Carrot Cake | 4.50\nTotal | 11.50")
    assert rows(extraction)[-1] == ("Carrot Cake", "1", None, "4.50")


def test_a_document_of_many_pages_has_the_items_of_each_page() -> None:
    pages = [replace(page(f"Tea {at} | 1.50\n1 Cake | 2.00\nTotal | 3.50"), index=at) for at in range(30)]
    extraction = answer(pages, RECEIPT, proposed(pages, RECEIPT))
    items: Any = extraction.data["items"]
    assert [item["description"] for item in items[::2]] == [f"Tea {at}" for at in range(30)]
    assert extraction.fields["/items/58/amount"].sources[0].page == 29
