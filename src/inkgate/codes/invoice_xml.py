"""Invoices as XML inside PDFs: Factur-X, ZUGFeRD and XRechnung (UN/CEFACT's Cross Industry Invoice, or UBL).

Files come from anybody: those with a document type declaration, whose entities may grow without bound, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final
from xml.etree import ElementTree as ET

NAMES: Final = frozenset({"factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml", "order-x.xml"})
"""Of the files, in lower case."""
MOST_BYTES: Final = 2_000_000
_LONGEST_VALUE: Final = 500
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_PARTY: Final = "{*}Party"
_CII: Final = {
    "number": "{*}ExchangedDocument/{*}ID",
    "date": "{*}ExchangedDocument/{*}IssueDateTime/{*}DateTimeString",
    "payee_name": "{*}SupplyChainTradeTransaction/{*}ApplicableHeaderTradeAgreement/{*}SellerTradeParty/{*}Name",
    "payer_name": "{*}SupplyChainTradeTransaction/{*}ApplicableHeaderTradeAgreement/{*}BuyerTradeParty/{*}Name",
}
_CII_SETTLEMENT: Final = "{*}SupplyChainTradeTransaction/{*}ApplicableHeaderTradeSettlement/"
_CII_SUMS: Final = _CII_SETTLEMENT + "{*}SpecifiedTradeSettlementHeaderMonetarySummation/"
_CII_OF_SETTLEMENT: Final = {
    "currency": "{*}InvoiceCurrencyCode",
    "reference": "{*}PaymentReference",
    "due_date": "{*}SpecifiedTradePaymentTerms/{*}DueDateDateTime/{*}DateTimeString",
    "iban": "{*}SpecifiedTradeSettlementPaymentMeans/{*}PayeePartyCreditorFinancialAccount/{*}IBANID",
}
_CII_OF_SUMS: Final = {"amount": "TaxBasisTotalAmount", "tax": "TaxTotalAmount", "total": "GrandTotalAmount"}
_UBL: Final = {
    "number": "{*}ID",
    "date": "{*}IssueDate",
    "due_date": "{*}DueDate",
    "currency": "{*}DocumentCurrencyCode",
    "payee_name": "{*}AccountingSupplierParty/{*}Party/{*}PartyLegalEntity/{*}RegistrationName",
    "payer_name": "{*}AccountingCustomerParty/{*}Party/{*}PartyLegalEntity/{*}RegistrationName",
    "vat_id": "{*}AccountingSupplierParty/{*}Party/{*}PartyTaxScheme/{*}CompanyID",
    "iban": "{*}PaymentMeans/{*}PayeeFinancialAccount/{*}ID",
    "reference": "{*}PaymentMeans/{*}PaymentID",
    "amount": "{*}LegalMonetaryTotal/{*}TaxExclusiveAmount",
    "tax": "{*}TaxTotal/{*}TaxAmount",
    "total": "{*}LegalMonetaryTotal/{*}TaxInclusiveAmount",
}
_DATES: Final = frozenset({"date", "due_date"})
_AMOUNTS: Final = frozenset({"amount", "tax", "total"})


def read_invoice_xml(data: bytes) -> Mapping[str, str]:
    """The values by name, as texts: dates in ISO 8601, amounts with a decimal point. Empty if it is no invoice."""
    # Other encodings than UTF-8 could hide a declaration.
    if len(data) > MOST_BYTES or b"\0" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return {}
    try:
        root = ET.fromstring(data)  # noqa: S314 - without declarations there are no entities to expand
    except (ET.ParseError, LookupError, ValueError):  # the latter two of encodings that it does not know
        return {}
    name = root.tag.rpartition("}")[2]
    found = _of_cii(root) if name == "CrossIndustryInvoice" else _of_ubl(root) if name == "Invoice" else {}
    values = {key: _value(key, text.strip()) for key, text in found.items() if text and len(text) <= _LONGEST_VALUE}
    return {key: value for key, value in values.items() if value}


def _of_cii(root: ET.Element) -> dict[str, str | None]:
    found = {name: root.findtext(path) for name, path in _CII.items()}
    found |= {name: root.findtext(_CII_SETTLEMENT + path) for name, path in _CII_OF_SETTLEMENT.items()}
    found |= {name: root.findtext(f"{_CII_SUMS}{{*}}{tag}") for name, tag in _CII_OF_SUMS.items()}
    seller = "{*}SupplyChainTradeTransaction/{*}ApplicableHeaderTradeAgreement/{*}SellerTradeParty/"
    for each in root.iterfind(seller + "{*}SpecifiedTaxRegistration/{*}ID"):
        if each.get("schemeID") == "VA":
            found["vat_id"] = each.text
    return found


def _of_ubl(root: ET.Element) -> dict[str, str | None]:
    found = {name: root.findtext(path) for name, path in _UBL.items()}
    for name, party in {"payee_name": "Supplier", "payer_name": "Customer"}.items():
        found[name] = found[name] or root.findtext(f"{{*}}Accounting{party}Party/{_PARTY}/{{*}}PartyName/{{*}}Name")
    return found


def _value(name: str, text: str) -> str:
    """The value in its form; empty if it has another."""
    if name in _DATES:
        day = _DAY.match(text)
        return "-".join(day.groups()) if day else ""
    if name in _AMOUNTS:
        try:
            amount = Decimal(text)
        except InvalidOperation:
            return ""
        return f"{amount:f}" if amount.is_finite() and len(text) <= 30 and "e" not in text.lower() else ""
    return " ".join(text.split())
