"""Invoices: made-up ones in several languages, and the kinds and checks that they need."""

from __future__ import annotations

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds
from inkgate.fields.kinds.base import evident
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Check, Extraction, ExtractionStatus
from inkgate_client.types import PageResult
from support.receipts import page

INVOICE = DocumentTypes.load().named("invoice")
GERMAN = """
Hafen Werkzeuge GmbH|
Kaistraße 7, 20457 Hamburg|
Rechnung Nr. 2021-0042|Rechnungsdatum: 14.03.2021
Bestelldatum: 01.03.2021|Fällig bis: 28.03.2021
Nettobetrag|100,00 €
MwSt. 19 %|19,00 €
Gesamtbetrag|119,00 €
IBAN: DE89 3704 0044 0532 0130 00|
USt-IdNr. DE136695976|
"""
FRENCH = """
Facture n° 55012 du 02 Juillet 2015|
Date limite de paiement le 05 Juillet 2015|
Montant EUR HT|Montant TVA|Montant EUR TTC
Total facture|24.99|5.00|29.99
Somme à payer|29.99 € TTC
www.lumen.fr|
Lumen SAS au capital de 3.441.812 Euros|
N° de TVA intra communautaire: FR 604 219 388 61|
"""
ZERO_TAX = """
Quiet Cloud Services Invoice|
Invoice Number:|4218301
Invoice Date:|August 3, 2014
Service charges|$4.11
Tax|$0.00
Total for this invoice|$4.11
Service Provider: Quiet Cloud Services|
All prices are in US Dollars|
"""
DUTCH = """
Exclusief BTW|€ 593,36|Subtotaal|€ 717,97
BTW 21%|€ 124,61|Totaal|€ 717,97
Factuurnummer: 993548|Factuurdatum: 03-05-2021
"""


def extract(text: str, schema: FieldSchema = INVOICE) -> Extraction:
    pages = [page(text)]
    return answer(pages, schema, proposed(pages, schema))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            GERMAN,
            {
                "invoice_number": "2021-0042",
                "date": "2021-03-14",
                "due_date": "2021-03-28",
                "subtotal": "100.00",
                "tax": "19.00",
                "total": "119.00",
                "currency": "EUR",
                "iban": "DE89370400440532013000",
                "vat_id": "DE136695976",
                "merchant_name": "Hafen Werkzeuge GmbH",
            },
        ),
        (
            FRENCH,
            {
                "invoice_number": "55012",
                "date": "2015-07-02",
                "due_date": "2015-07-05",
                "subtotal": "24.99",
                "tax": "5.00",
                "total": "29.99",
                "currency": "EUR",
                "vat_id": "FR60421938861",
                "merchant_name": "Lumen SAS",
                "iban": None,
            },
        ),
        (
            ZERO_TAX,
            {
                "invoice_number": "4218301",
                "date": "2014-08-03",
                "total": "4.11",
                "currency": "USD",
                "merchant_name": "Quiet Cloud Services",
            },
        ),
        (DUTCH, {"subtotal": "593.36", "tax": "124.61", "total": "717.97", "invoice_number": "993548"}),
    ],
)
def test_invoices_in_several_languages(text: str, wanted: dict[str, str | None]) -> None:
    found = extract(text)
    assert {name: found.data[name] for name in wanted} == wanted
    named = "merchant_name" in wanted
    assert [check.code for check in found.checks if not check.passed] == ([] if named else ["required_missing"])


@pytest.mark.parametrize(
    ("kind", "text", "value", "holds"),
    [
        ("iban", "IBAN NL50 INGB 0683 2513 09 BIC INGBNL2A", "NL50INGB0683251309", True),
        ("iban", "NL51INGB0683251309", "NL51INGB0683251309", False),
        ("vat_id", "BTW NL810433941B01", "NL810433941B01", True),
        ("vat_id", "VAT BE 0403.170.701", "BE0403170701", True),
        ("vat_id", "VAT BE 0403.170.702", "BE0403170702", False),
        ("vat_id", "P.IVA IT00743110157", "IT00743110157", True),
        ("vat_id", "PL8567346215", "PL8567346215", True),
        ("vat_id", "UID ATU13585627", "ATU13585627", True),
    ],
)
def test_numbers_of_accounts_have_check_digits(kind: str, text: str, value: str, holds: bool) -> None:
    (found,) = KINDS[kind].find(text)
    assert KINDS[kind].json(found) == value
    assert (iban_holds(value) if kind == "iban" else vat_id_holds(value)) is holds


@pytest.mark.parametrize("text", ["NL50INGB06832513091", "XX50INGB0683251309", "DE89 3704  0044", "DE12345678"])
def test_what_is_longer_shorter_or_of_no_country_is_no_account(text: str) -> None:
    assert KINDS["iban"].find(text) == []
    assert evident(KINDS["vat_id"], text) == []


def checks(text: str, **more: list[str]) -> dict[str, Check]:
    return {check.code: check for check in extract(text, FieldSchema.of({**INVOICE.source, **more}, "invoice")).checks}


def test_a_wrong_check_digit_and_a_day_in_the_future_are_told() -> None:
    found = checks(GERMAN.replace("0130 00", "0130 01").replace("14.03.2021", "14.03.2098"))
    assert not found["iban_check_digits"].passed
    assert not found["date_in_future"].passed
    assert found["vat_id_check_digits"].passed
    assert checks(GERMAN)["date_in_future"].passed


def test_amounts_in_two_currencies_are_told() -> None:
    assert checks(GERMAN)["currency_consistent"].passed
    assert not checks(GERMAN.replace("119,00 €", "119,00 USD"))["currency_consistent"].passed


def test_required_fields_that_were_not_found_are_told() -> None:
    required = {"required": ["iban", "total"], "x-checks": ["required_missing"]}
    assert checks(GERMAN, **required)["required_missing"].passed
    failed = checks(FRENCH, **required)["required_missing"]
    assert (failed.passed, failed.paths) == (False, ("/iban",))


@pytest.mark.parametrize("name", ["receipt", "invoice"])
@pytest.mark.parametrize("text", ["", "A cat on a sofa", "PASSPORT\nSurname|LEE\nGiven names|AMY"])
def test_a_blank_page_a_photo_and_a_document_of_another_type_have_no_values(name: str, text: str) -> None:
    pages, schema = [page(text) if text else PageResult(0)], DocumentTypes.load().named(name)
    found = answer(pages, schema, proposed(pages, schema))
    assert [value for value in found.data.values() if value] == []
    assert found.status is ExtractionStatus.NEEDS_REVIEW


def test_long_invoices_are_read_in_bounded_work() -> None:
    rows = "\n".join(f"Item {i}|{i}.50|{i}.50|DE89 3704 0044 0532 0130 {i % 90:02d}" for i in range(1250))
    assert extract(f"{GERMAN}{rows}").data["total"] is not None
