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
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus
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


LETTER = """Blue Lantern Trading Ltd|
12 Mill Lane|
Leeds LS1 4AB|
{issuer}|
Invoice number|A-10023
Invoice date|2021-03-10
Bill to|
North Harbour Ltd|
5 Quay Street|
Hull HU1 2AA|
{customer}|
Consulting|100.00
Net|100.00
VAT 20%|20.00
Total|120.00"""


def tax_number(issuer: str, customer: str = "") -> tuple[str | None, FieldStatus]:
    field = extract(page(LETTER.format(issuer=issuer, customer=customer))).fields["/vat_id"]
    assert field.value is None or isinstance(field.value, str)
    return field.value, field.status


def test_the_issuers_tax_number_is_known_by_label_form_and_check_digits() -> None:
    numbers = {
        "NIP: 856-734-62-15": "8567346215",
        "C.I.F. B58378431": "B58378431",
        "Contribuinte n.º 501 964 843": "501964843",
        "Partita IVA e C.F. 00743110157": "00743110157",
        "GSTIN/UIN: 27AAPFU0939F1ZV": "27AAPFU0939F1ZV",
        "Tel 02 9876 5432 · ABN 83 914 571 673": "83914571673",
        "登録番号 T5835678256246": "T5835678256246",
        "统一社会信用代码：91110000600037341L": "91110000600037341L",
        "VAT Registration No. 980 7806 84": "980780684",
        "CHE-107.787.577 TVA": "CHE107787577",
        "Foretaksregisteret 995 525 828 MVA": "995525828MVA",
        "Momsreg.nr SE123456789701": "SE123456789701",
        "DIČ: CZ25123891": "CZ25123891",
        "TVA FR 40 303 265 045 - SIREN 303 265 045": "FR40303265045",
        "PL8567346215 / NIP 856-734-62-15": "PL8567346215",
    }
    found = {text: tax_number(text) for text in numbers}
    assert found == {text: (number, FieldStatus.FOUND) for text, number in numbers.items()}


def test_other_numbers_are_no_tax_numbers() -> None:
    others = [
        "Order no 123456789",
        "Our account 00743110157",
        "Phone 07431 101577",
        "Company No. 123456789",
        "St.-Nr. 123456789",
        "SIREN 303 265 045",
        "SIRET 303 265 045 00022",
        "123456789",
        "GB82 WEST 1234 5698 7654 32",
    ]
    assert {text: tax_number(text)[0] for text in others} == dict.fromkeys(others)


def test_a_tax_number_without_right_check_digits_is_not_sure() -> None:
    doubtful = {
        "GSTIN 27AAPFU0939F1ZX": FieldStatus.INVALID,
        "USt-IdNr. DE136695975": FieldStatus.INVALID,
        "NIP 8567346216": FieldStatus.UNCERTAIN,
        "Tax ID 91-1144442": FieldStatus.UNCERTAIN,
        "SST No. W10-1808-32000000": FieldStatus.UNCERTAIN,
        "GST Reg No M90312345A": FieldStatus.UNCERTAIN,
    }
    assert {text: tax_number(text)[1] for text in doubtful} == doubtful


@pytest.mark.parametrize("customer", ["VAT No GB 123 4567 82", "NIP 5260001246", "GSTIN 27AAPFU0939F1ZV"])
def test_a_tax_number_in_the_customers_block_is_the_customers(customer: str) -> None:
    assert tax_number("VAT Reg No 980 7806 84", customer) == ("980780684", FieldStatus.FOUND)
    assert tax_number("Tel 0113 496 0000", customer) == (None, FieldStatus.NOT_FOUND)


def test_a_tax_number_that_a_label_calls_the_customers_is_not_the_issuers() -> None:
    numbers = "Ihre USt-IdNr.: DE129273398|\nUSt-IdNr. DE136695976"
    assert tax_number(numbers) == ("DE136695976", FieldStatus.FOUND)
    at_its_side = "Rechnung an:\nNord GmbH\nUSt-IdNr.: DE129273398\nMuster AG USt-IdNr. DE136695976"
    field = extract(page(f"Muster AG|\n{at_its_side}\nRechnungsnummer|10023\nGesamtbetrag|119,00 €")).fields["/vat_id"]
    assert (field.value, field.status, field.alternatives) == ("DE136695976", FieldStatus.FOUND, ())
    assert tax_number("Your VAT no: GB 123 4567 82") == (None, FieldStatus.NOT_FOUND)


def test_of_two_tax_numbers_of_the_issuer_neither_is_sure() -> None:
    numbers = "USt-IdNr.: DE129273398\nUSt-IdNr. DE136695976"
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


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Hofmeister Medien AG. Amtsgericht Kiel", ["Hofmeister Medien AG", "Amtsgericht Kiel"]),
        ("Central S.L.U.. Inscrita en Madrid", ["Central S.L.U.", "Inscrita en Madrid"]),
        ("Nazwa: Nowak Sp. j.", ["Nowak Sp. j."]),
        ("Please make cheques payable to Clearview Ltd", ["Clearview Ltd"]),
        ("Copyright 2024 Nord Ltd", ["Nord Ltd"]),
        ("Krüger e.K. (377 038 605)", ["Krüger e.K."]),
        ("Eastfield Co., Ltd.", ["Eastfield Co., Ltd."]),
        ("Inc. Village of Garden City", ["Inc. Village of Garden City"]),
        ("Copyright Clearance Center", ["Copyright Clearance Center"]),
        ("The Shop: Books & More", ["The Shop: Books & More"]),
        ("Hotel Paragon", ["Hotel Paragon"]),
        ("Studio 54321", ["Studio 54321"]),
        ("Fred's Diner (24/7)", ["Fred's Diner (24/7)"]),
    ],
)
def test_names_are_cut_from_labels_and_sentences_only(line: str, parts: list[str]) -> None:
    assert [each.text for each in lines_on(PrintedPages.of([page(line)]))] == parts


def test_words_of_a_name_that_were_read_apart_are_one_group() -> None:
    apart = lines_on(PrintedPages.of([page("Nord\nTrading Ltd")]))
    assert [each.group for each in apart] == [0, 0]


@pytest.mark.parametrize("name", ["Transport Ltd", "Details Ltd"])
def test_a_name_that_is_like_a_label_is_found(name: str) -> None:
    text = (
        f"{name}|INVOICE\n12 Mill Lane\nLeeds LS1 4AB\nInvoice number: 26008761\nInvoice date: 2018-07-10\nTotal|180.00"
    )
    assert extract(page(text)).data["merchant_name"] == name


NORTH = """Northwind Analytics Ltd|INVOICE
4 Harbour Street
Bristol BS1 5TY

Brightwater Foods Ltd
12 Mill Lane
Leeds LS1 4AB
VAT no. GB 980 7806 84

Invoice number: 4711
Invoice date: 12 March 2024

Description|Amount
Consulting|1,000.00
Travel|150.00

Net|1,150.00
VAT 20%|230.00
Total|1,380.00

Please pay within 30 days.
Northwind Analytics Ltd VAT no. GB 100 0395 95"""


def test_an_address_and_a_tax_number_are_those_of_the_name() -> None:
    data = extract(page(NORTH)).data
    assert data["merchant_name"] == "Northwind Analytics Ltd"
    assert data["merchant_address"] == "4 Harbour Street Bristol BS1 5TY"
    assert data["vat_id"] == "GB100039595"


def test_a_tax_number_beside_another_name_needs_review() -> None:
    rows = NORTH.replace("Northwind Analytics Ltd|INVOICE\n4 Harbour Street\nBristol BS1 5TY\n", "").splitlines()
    rows = [row for row in rows[:-1] if "VAT no" not in row]
    foot = "Northwind Analytics Ltd, 4 Harbour Street, Bristol BS1 5TY, VAT no. GB 980 7806 84"
    found = extract(page("\n".join([*rows, "", foot])))
    assert found.data["vat_id"] == "GB980780684"
    assert found.data["merchant_name"] == "Northwind Analytics Ltd" or found.status is ExtractionStatus.NEEDS_REVIEW
    named = {check.code: check.passed for check in found.checks}
    assert named["issuer_consistent"] is (found.data["merchant_name"] == "Northwind Analytics Ltd")


@pytest.mark.parametrize(
    "line",
    [
        "VAT no. GB 100 0395 95, info@northwind.co.uk",
        "Company No. 01234567 VAT no. GB 100 0395 95",
        "VAT no. GB 100 0395 95, please quote as reference",
        "Northwind Ltd VAT no. GB 100 0395 95",
    ],
)
def test_words_beside_a_tax_number_are_no_other_company(line: str) -> None:
    rows = [line if "GB 100" in row else row for row in NORTH.splitlines()]
    found = extract(page("\n".join(rows)))
    assert found.data["vat_id"] == "GB100039595"
    assert "issuer_consistent" not in [check.code for check in found.checks if not check.passed]
