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
