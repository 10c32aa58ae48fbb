"""Receipts' fields, on made-up receipts."""

from collections.abc import Sequence

import pytest

from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.reader import read_trade
from inkgate_client.types import PageResult
from support.receipts import RECEIPT, page


def best(pages: Sequence[PageResult]) -> dict[str, FieldCandidate]:
    return {name: found[0] for name, found in read_trade(PrintedPages.of(pages), "receipt").items()}


def read(text: str) -> dict[str, str]:
    return {name: found.text for name, found in best([page(text)]).items()}


def test_the_fields_of_a_receipt() -> None:
    assert read(RECEIPT) == {
        "merchant_name": "LITTLE HARBOUR TRADING SDN BHD",
        "merchant_address": "NO. 7, JALAN PASIR 3/1, TAMAN SELATAN, 81100 JOHOR BAHRU",
        "phone": "07-123 4567",
        "date": "03/04/2018",
        "time": "18:29",
        "subtotal": "28.50",
        "tax": "1.71",
        "total": "30.20",
    }


def test_each_field_names_the_lines_it_was_read_from() -> None:
    result = page(RECEIPT)
    for name, found in best([result]).items():
        printed = " ".join(result.lines[index].text for index in found.lines)
        assert found.text in printed, name
    assert best([result])["total"].label == "GRAND TOTAL"


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ("TOTAL|10.00\nCASH|20.00\nCHANGE|10.00", "10.00"),
        ("AMOUNT DUE|12.40\nVISA|12.40", "12.40"),
        ("TOTAL EXCL GST|94.34\nGST|5.66\nTOTAL INCL GST|100.00\nCASH|100.00", "100.00"),
        ("TOTAL|13.00\nGST INCLUDED IN TOTAL|0.74", "13.00"),
        ("SUBTOTAL|9.00\nTOTAL SAVINGS|3.00\nNETT TOTAL|6.00", "6.00"),
        ("合计|￥77.10", "￥77.10"),
        ("Summe|EUR 12,80\nGegeben|EUR 20,00", "EUR 12,80"),
        ("ONLY ITEM|4.20", "4.20"),
    ],
)
def test_totals(rows: str, total: str) -> None:
    assert read(rows)["total"] == total


def test_a_page_without_fields_has_none() -> None:
    assert (
        read("Call me Ishmael. Some years ago, never mind how long\nprecisely, having little or no money in my purse")
        == {}
    )
    assert best([PageResult(0)]) == {}
    assert best([]) == {}


def test_a_name_goes_on_over_rows_and_ends_before_its_number() -> None:
    assert read("WEST EASTERN|\nSTATIONERY SDN BHD (1070687-M)|\n12 JALAN SATU|\nTOTAL|RM 4.00")["merchant_name"] == (
        "WEST EASTERN STATIONERY SDN BHD"
    )
