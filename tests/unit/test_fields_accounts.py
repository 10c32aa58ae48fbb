"""IBANs, VAT numbers, and what invoices say in one row. The numbers are published examples or made up."""

from __future__ import annotations

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds
from inkgate.fields.kinds.base import evident
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction, FieldStatus
from support.receipts import page

INVOICE = DocumentTypes.load().named("invoice")


def found(kind: str, text: str) -> list[object]:
    return [value.readings[0] for value in evident(KINDS[kind], text)]


def read(text: str) -> Extraction:
    pages = [page(text)]
    return answer(pages, INVOICE, proposed(pages, INVOICE), 0.8)


def test_ibans_end_where_their_country_says_and_check_digits_tell() -> None:
    texts = {
        "IBAN DE89 3704 0044 0532 0130 00 BIC COBADEFFXXX": ["DE89370400440532013000"],
        "GB82WEST12345698765432": ["GB82WEST12345698765432"],
        "BR18 0036 0305 0000 1000 9795 493C 1 2": ["BR1800360305000010009795493C1"],
        "NL91ABNA0417164300, FR1420041010050500013M02606": ["NL91ABNA0417164300", "FR1420041010050500013M02606"],
        "DE89 3704 0044 0532 0130 0": [],
        "IN22ABCDE1234567890": [],  # of no country with IBANs
        "order AB12345678901234567": [],
    }
    assert {text: found("iban", text) for text in texts} == texts
    number = "DE89370400440532013000"
    assert iban_holds(number)
    wrong = [at for at in range(4, 22) if iban_holds(f"{number[:at]}{(int(number[at]) + 1) % 10}{number[at + 1 :]}")]
    assert wrong == []


def test_vat_numbers_are_found_with_spaces_and_checked() -> None:
    texts = {
        "N° de TVA: FR 404 833 030 46 RCS": ["FR40483303046"],
        "BTW NL123456782B90.": ["NL123456782B90"],
        "USt-IdNr. DE 136695976 Tel 5": ["DE136695976"],
        "DEPARTMENT 123456789": [],
        "DE12": [],
        "CHE-107.787.577 MWST, CHE-107.787.578": ["CHE107787577", "CHE107787578"],
        "Org. NO 974 760 673 MVA": ["NO974760673MVA"],
        "INVOICE NO 974 760 673": [],
        "XI980780684 GB 980 7806 84": ["XI980780684", "GB980780684"],
    }
    assert {text: found("vat_id", text) for text in texts} == texts
    right = [
        "FR40303265045",
        "DE136695976",
        "IT00743110157",
        "BE0202239951",
        "PL8567346215",
        "PT501964843",
        "LU15027442",
        "ATU13585627",
        "EL094259216",
        "SE123456789701",
        "CHE107787577",
    ]
    assert [number for number in right if vat_id_holds(number) is not True] == []
    assert [number for number in right if vat_id_holds(number[:-1] + str((int(number[-1]) + 1) % 10))] == []
    assert vat_id_holds("US123456789") is None


def test_tax_numbers_without_a_countrys_letters_have_check_digits_and_need_a_label() -> None:
    numbers = {
        "NIP: 856-734-62-15": "8567346215",
        "NIF B58378431": "B58378431",
        "N.I.F. 54362315-K": "54362315K",
        "NIPC 501 964 843": "501964843",
        "P. IVA 00743110157": "00743110157",
        "A.B.N. 83 914 571 673": "83914571673",
        "VAT Reg No 980 7806 84": "980780684",
        "BTW-nr. 0403.170.701": "0403170701",
        "税号：91110000600037341L": "91110000600037341L",
        "NIP: 856-734-62-16": None,
        "A.B.N. 83 914 571 674": None,
        "Tel +48 22 123 45 67": None,
    }
    values = {text: KINDS["vat_id"].find(text) for text in numbers}
    assert {text: (found[0].readings[0] if found else None) for text, found in values.items()} == numbers
    assert all(value.needs_label for found in values.values() for value in found)
    assert [number for number in numbers.values() if number and vat_id_holds(number) is not True] == []


def test_forms_that_nothing_else_has_need_no_label() -> None:
    texts = {
        "27AAPFU0939F1ZV": ["27AAPFU0939F1ZV"],
        "27AAPFU0939F1ZX": [],
        "T5835678256246 T5835678256247": ["T5835678256246"],
        "T-5835678256246": ["T5835678256246"],
        "995 525 828 MVA": ["995525828MVA"],
        "RO 18547290 12": ["RO18547290"],
        "FR 40 303 265 045": ["FR40303265045"],
        "BE 0403.170.701": ["BE0403170701"],
        "order 123456789": [],
        "W10-1808-32000000": [],
        "91-1144442": [],
    }
    assert {text: found("vat_id", text) for text in texts} == texts
    assert vat_id_holds("27AAPFU0939F1ZX") is False
    assert vat_id_holds("T5835678256247") is False
    assert vat_id_holds("911144442") is None  # an American number has no check digits
    assert vat_id_holds("W10180832000000") is None


def test_a_schema_of_ones_own_gets_tax_numbers_by_label_and_lists_those_that_need_none() -> None:
    pages = [page("Lieferant|\nOrder 123456789|\nVAT registration|980 7806 84\nOther|DE136695976")]
    properties = {
        "tax": {"type": "string", "x-kind": "vat_id", "x-labels": {"en": ["vat registration"]}},
        "all": {"type": "array", "items": {"type": "string", "x-kind": "vat_id"}},
        "unnamed": {"type": "string", "x-kind": "vat_id", "x-labels": {"en": ["unnamed"]}},
    }
    schema = FieldSchema.of({"type": "object", "properties": properties})
    data = answer(pages, schema, proposed(pages, schema)).data
    assert data == {"tax": "980780684", "all": [], "unnamed": "DE136695976"}


def test_a_french_head_names_number_and_date_and_a_row_of_sums_the_tax() -> None:
    invoice = read("""
Martin SARL|
Facture n°562044 du 02 Juillet 2015|
Date limite de paiement le 05 Juillet 2015|29.99 € TTC
|Montant EUR HT|Montant TVA|Montant EUR TTC
Total facture|24.99|5.00|29.99
N° de TVA: FR 403 032 650 45|
""")
    assert {
        name: invoice.data[name] for name in ("invoice_number", "date", "due_date", "subtotal", "tax", "total")
    } == {
        "invoice_number": "562044",
        "date": "2015-07-02",
        "due_date": "2015-07-05",
        "subtotal": "24.99",
        "tax": "5.00",
        "total": "29.99",
    }
    assert invoice.data["vat_id"] == "FR40303265045"
    assert {check.code: check.passed for check in invoice.checks}["vat_id_check_digits"]


def test_a_subtotal_with_the_tax_in_it_gives_way_to_the_amount_without() -> None:
    invoice = read("""
Factuurnummer: 7|
Exclusief BTW|€ 593,36|Subtotaal|€ 717,97
BTW 21%|€ 124,61|
Totaal|€ 717,97|
IBAN NL50INGB0683251308|
""")
    assert (invoice.data["subtotal"], invoice.data["tax"], invoice.data["total"]) == ("593.36", "124.61", "717.97")
    assert invoice.fields["/iban"].status is FieldStatus.INVALID
