"""Invoices and receipts by measures: sets of sums, days and months, parties."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.hypotheses import Likely, SumSet, sets_of
from inkgate.fields.trade.parties import NAMES, lines_on, measures
from inkgate.fields.trade.reader import MEASURED, forests, read_trade
from inkgate.runtimes.trees import BoostedTrees
from inkgate_client.fields.values import Extraction, FieldStatus
from inkgate_client.types import PageResult
from support.receipts import page

INVOICE = DocumentTypes.load().named("invoice")


def extract(of: PageResult) -> Extraction:
    return answer([of], INVOICE, proposed([of], INVOICE))


def best(likely: Likely) -> SumSet:
    sets = list(sets_of(likely))
    score = np.array([each.measures for each in sets]) @ forests().sums["invoice"]
    return sets[int(score.argmax())]


@pytest.mark.parametrize(
    ("likely", "wanted"),
    [
        # Labels alone would take the net amount for the total.
        (Likely({10000: 0.6, 11900: 0.5}, {10000: 0.5}, {1900: 0.9}, {}), (11900, 10000, 1900)),
        # A discount of ten lies between.
        (Likely({10900: 0.9, 11900: 0.4}, {10000: 0.8}, {1900: 0.8}, {1000: 0.9}), (10900, 10000, 1900)),
        # Two taxes, whose sum is not printed.
        (
            Likely({13000: 0.8}, {12000: 0.8}, {700: 0.6, 300: 0.6}, {}, ((700, 0.9), (300, 0.9))),
            (13000, 12000, 1000),
        ),
        (Likely({500: 0.9}, {}, {}, {}), (500, None, None)),
    ],
)
def test_the_set_that_adds_up_is_likelier(likely: Likely, wanted: tuple[int | None, ...]) -> None:
    found = best(likely)
    assert (found.total, found.net, found.tax) == wanted


def test_trees_give_the_probability_of_the_leaf_that_a_row_falls_into() -> None:
    trees = BoostedTrees.of(
        {
            "features": [1, 0, 0],
            "limits": [2.5, 0.0, 0.0],
            "left": [1, 1, 2],
            "right": [2, 1, 2],
            "values": [0.0, -1.0, 3.0],
            "roots": [0],
            "start": 0.5,
            "depth": 1,
        }
    )
    found = trees.probabilities(np.array([[9.0, 2.5], [0.0, 2.6]]))
    assert found == pytest.approx([1 / (1 + np.exp(0.5)), 1 / (1 + np.exp(-3.5))])


def test_every_field_has_trees_and_a_curve_that_never_falls() -> None:
    assert set(forests().trees) == set(MEASURED)
    for name, curve in forests().curves.items():
        assert all(low[0] <= high[0] and low[1] <= high[1] for low, high in pairwise(curve)), name


@pytest.mark.parametrize(
    ("rows", "day", "status"),
    [
        # Another date of the paper begins with the month.
        ("Invoice date|03/10/2016\nDue date|03/25/2016", "2016-03-10", FieldStatus.FOUND),
        ("Invoice date|03/10/2016\nDue date|25/10/2016", "2016-10-03", FieldStatus.FOUND),
        # Only its currency tells.
        ("Invoice date|03/10/2016\nTotal EUR|119.00", "2016-10-03", FieldStatus.FOUND),
        # Nothing tells: day first, and flagged.
        ("Invoice date|03/10/2016", "2016-10-03", FieldStatus.UNCERTAIN),
    ],
)
def test_a_day_that_may_be_a_month_is_read_as_the_document_tells(rows: str, day: str, status: FieldStatus) -> None:
    text = f"Blue Lantern Trading|\n12 Mill Lane|\nInvoice number|A-10023\n{rows}\nConsulting|119.00\nTotal|119.00"
    field = extract(page(text)).fields["/date"]
    assert (field.value, field.status) == (day, status)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # A number of five digits behind two letters is no American postcode.
        ("Invoice No 10023\nInvoice date|03/10/2016", {"date": "2016-10-03", "invoice_number": "10023"}),
        ("Invoice No 2016/10023\nInvoice date|13/10/2016", {"invoice_number": "2016/10023"}),
        ("Rechnung Nr 10023\nRechnungsdatum|25.11.2016\nFällig am|05.12.2016", {"due_date": "2016-12-05"}),
        # What is due is due after the invoice, not in the past.
        ("Invoice No 10023\nInvoice date|2026-03-10\nPayment due|05/12/2026", {"due_date": "2026-12-05"}),
        ("Invoice No 10023\nDate|03/10/2016\n1 Main St\nAustin, TX 78701", {"date": "2016-03-10"}),
    ],
)
def test_heads_that_are_easily_misread(rows: str, wanted: dict[str, str]) -> None:
    data = extract(page(f"Blue Lantern Trading|\n{rows}\nConsulting|119.00\nTotal|119.00")).data
    assert {name: data[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("amounts", "total"), [("Tea|400\nCake|600\nTotal|1000", "1000.00"), ("Tea|4.500\nVAT|0.225\nTotal|4.725", "4.725")]
)
def test_amounts_may_have_no_decimals_or_three(amounts: str, total: str) -> None:
    data = extract(page(f"Blue Lantern Trading|\nInvoice No 10023\nInvoice date|13/10/2016\n{amounts}")).data
    assert (data["total"], data["merchant_name"]) == (total, "Blue Lantern Trading")


def test_of_two_tax_numbers_neither_is_sure() -> None:
    numbers = "Rechnung an:\nNord GmbH\nUSt-IdNr.: DE129273398\nMuster AG USt-IdNr. DE136695976"
    field = extract(page(f"Muster AG|\n{numbers}\nRechnungsnummer|10023\nGesamtbetrag|119,00 €")).fields["/vat_id"]
    assert field.status is FieldStatus.UNCERTAIN
    assert {field.text, *field.alternatives} == {"DE129273398", "DE136695976"}


def test_a_line_with_a_name_and_an_address_is_two() -> None:
    for text in ("Nord GmbH | Hafenstrasse 5 | 20457 Hamburg", "Nord GmbH, Hafenstrasse 5, 20457 Hamburg"):
        lines = lines_on(PrintedPages.of([page(f"{text}|\nTotal|1.00")]))
        assert lines[0].text == "Nord GmbH"
        assert lines[1].text.startswith("Hafenstrasse 5")
    labelled = lines_on(PrintedPages.of([page("Seller: Nord GmbH|\nTotal|1.00")]))[0]
    assert (labelled.text, labelled.label) == ("Nord GmbH", "Seller")


def test_a_number_of_registration_is_no_part_of_a_name() -> None:
    lines = lines_on(PrintedPages.of([page("STATIONERY SDN BHD (1070687-M)|\nTotal|1.00")]))
    assert lines[0].text == "STATIONERY SDN BHD"


def test_a_page_without_lines_has_no_measures() -> None:
    empty = PrintedPages.of([])
    assert measures(empty, lines_on(empty)).shape == (0, len(NAMES))
    assert read_trade(empty) == {}
