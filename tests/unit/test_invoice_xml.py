"""Invoices as XML inside PDFs. The files are made up, in the forms of Factur-X and UBL."""

from __future__ import annotations

from inkgate.codes.invoice_xml import MAX_BYTES, read_invoice_xml
from support.invoice_xml import CII, VALUES, as_zugferd_1

UBL = """<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:c="urn:c" xmlns:a="urn:a">
 <c:ID>7</c:ID><c:IssueDate>2026-03-02</c:IssueDate><c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode>
 <a:AccountingSupplierParty><a:Party><a:PartyName><c:Name>Harbour</c:Name></a:PartyName></a:Party></a:AccountingSupplierParty>
 <a:LegalMonetaryTotal><c:TaxExclusiveAmount>1e9</c:TaxExclusiveAmount><c:TaxInclusiveAmount>5.95</c:TaxInclusiveAmount>
 </a:LegalMonetaryTotal></Invoice>"""


def test_both_forms_are_read_by_name() -> None:
    assert read_invoice_xml(CII.encode()) == VALUES
    assert read_invoice_xml(UBL.encode()) == {
        "number": "7",
        "date": "2026-03-02",
        "currency": "EUR",
        "payee_name": "Harbour",
        "total": "5.95",
    }


def test_a_credit_note_of_ubl_has_the_values_of_an_invoice() -> None:
    tax = "<c:CompanyID>{}</c:CompanyID><a:TaxScheme><c:ID>{}</c:ID></a:TaxScheme>"
    party = (
        "<a:Party><a:PartyName><c:Name>Trade name</c:Name></a:PartyName>{}"
        "<a:PartyLegalEntity><c:RegistrationName>{}</c:RegistrationName></a:PartyLegalEntity></a:Party>"
    )
    schemes = "".join(
        f"<a:PartyTaxScheme>{tax.format(*each)}</a:PartyTaxScheme>"
        for each in (("12/345", "FC"), ("DE136695976", "VAT"))
    )
    others = schemes.replace("136695976", "100")
    parties = (
        f"<a:AccountingSupplierParty>{party.format(schemes, 'Harbour GmbH')}</a:AccountingSupplierParty>"
        f"<a:AccountingCustomerParty>{party.format(others, 'Ann')}</a:AccountingCustomerParty>"
        "<a:PaymentMeans><c:PaymentDueDate>2026-04-01</c:PaymentDueDate><c:PaymentID>G-7</c:PaymentID>"
        "<a:PayeeFinancialAccount><c:ID>DE89370400440532013000</c:ID></a:PayeeFinancialAccount></a:PaymentMeans>"
    )
    start, end = UBL.index("<a:AccountingSupplierParty>"), UBL.index("<a:LegalMonetaryTotal>")
    credit = f"{UBL[:start]}{parties}{UBL[end:]}".replace("Invoice>", "CreditNote>").replace("<Invoice", "<CreditNote")
    assert read_invoice_xml(credit.encode()) == {
        "number": "7",
        "date": "2026-03-02",
        "due_date": "2026-04-01",
        "currency": "EUR",
        "payee_name": "Harbour GmbH",
        "payer_name": "Ann",
        "vat_id": "DE136695976",
        "payer_vat_id": "DE100",
        "iban": "DE89370400440532013000",
        "reference": "G-7",
        "total": "5.95",
    }
    assert read_invoice_xml(credit.replace("urn:oasis:names:specification:ubl", "urn:other").encode()) == {}


def test_only_amounts_in_the_currency_of_the_invoice_count() -> None:
    taxes = {
        (("CZK", "475.00"), ("EUR", "19.00")): "19.00",
        (("EUR", "19.00"), ("CZK", "475.00")): "19.00",
        (("", "19.00"), ("CZK", "475.00")): "19.00",
        (("USD", "21.00"), ("CZK", "475.00"), ("EUR", "19.00")): "19.00",
        (("CZK", "475.00"),): None,
        (("EUR", "19.00"),): "19.00",
        (("", "19.00"),): "19.00",
    }
    printed = '<ram:TaxTotalAmount currencyID="EUR">19.00</ram:TaxTotalAmount>'
    ubl = UBL.replace("<a:LegalMonetaryTotal>", "{taxes}<a:LegalMonetaryTotal>")
    wrong = []
    for amounts, wanted in taxes.items():
        cii_taxes, ubl_taxes = (
            "".join(
                form.format(f' currencyID="{currency}"' if currency else "", amount) for currency, amount in amounts
            )
            for form in (
                "<ram:TaxTotalAmount{}>{}</ram:TaxTotalAmount>",
                "<a:TaxTotal><c:TaxAmount{}>{}</c:TaxAmount></a:TaxTotal>",
            )
        )
        forms = {
            "CII": CII.replace(printed, cii_taxes),
            "ZUGFeRD 1": as_zugferd_1(CII.replace(printed, cii_taxes)),
            "UBL": ubl.replace("{taxes}", ubl_taxes),
        }
        for name, text in forms.items():
            found = read_invoice_xml(text.encode())
            if found.get("tax") != wanted or found["currency"] != "EUR":
                wrong.append((name, amounts, found))
    assert wrong == []


def test_two_currencies_and_none_of_the_invoice_tell_nothing() -> None:
    two = CII.replace("<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>", "").replace(
        "<ram:GrandTotalAmount>119.00", '<ram:GrandTotalAmount currencyID="EUR">119.00'
    )
    other = '<ram:TaxTotalAmount currencyID="CZK">475.00</ram:TaxTotalAmount><ram:GrandTotalAmount currency'
    found = read_invoice_xml(two.replace("<ram:GrandTotalAmount currency", other).encode())
    assert (found.get("tax"), found["total"]) == (None, "119.00")


def test_the_first_version_of_zugferd_is_read() -> None:
    assert read_invoice_xml(as_zugferd_1(CII).encode()) == VALUES


def test_hostile_files_are_not_read() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]>' + UBL.replace("Harbour", "&y;")
    files = {
        "entities": bomb.encode(),
        "entities in UTF-16": bomb.encode("utf-16"),
        "too large": b" " * MAX_BYTES + UBL.encode(),
        "no XML": b"%PDF-1.7",
        "cut off": UBL[:200].encode(),
        "another root": b"<a/>",
        "nothing": b"",
    }
    assert {name: read_invoice_xml(data) for name, data in files.items()} == {name: {} for name in files}
    assert read_invoice_xml(UBL.replace("2026-03-02", "yesterday").encode()).get("date") is None
    for encoding in ("none", "shift_jis", "base64", "idna"):
        assert read_invoice_xml(f'<?xml version="1.0" encoding="{encoding}"?>{UBL}'.encode()) == {}, encoding
    deep = b"<Invoice>" + b"<a>" * 300_000 + b"</a>" * 300_000 + b"</Invoice>"
    assert read_invoice_xml(deep) == {}
