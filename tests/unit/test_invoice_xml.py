"""Invoices as XML inside PDFs. The files are made up, in the forms of Factur-X and UBL."""

from __future__ import annotations

from inkgate.codes.invoice_xml import MOST_BYTES, read_invoice_xml
from support.invoice_xml import CII, VALUES

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


def test_hostile_files_are_not_read() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]>' + UBL.replace("Harbour", "&y;")
    files = {
        "entities": bomb.encode(),
        "entities in UTF-16": bomb.encode("utf-16"),
        "too large": b" " * MOST_BYTES + UBL.encode(),
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
