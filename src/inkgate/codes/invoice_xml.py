"""Invoices as XML inside PDFs: Factur-X, ZUGFeRD 1 and 2, and XRechnung (UN/CEFACT's Cross Industry Invoice, or an
invoice or credit note of UBL).

Files come from anybody: those with a document type declaration, whose entities may grow without bound, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from inkgate.codes.days import iso_day

NAMES: Final = frozenset({"factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml"})
"""Names that the standards give the file, in lower case."""
MAX_BYTES: Final = 2_000_000
_LONGEST_VALUE: Final = 500
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_CII_DOCUMENT: Final = {"number": "{*}ID", "date": "{*}IssueDateTime/{*}DateTimeString"}
_VAT_OF_CII: Final = "{*}SpecifiedTaxRegistration/{*}ID[@schemeID='VA']"
_CII_OF_AGREEMENT: Final = {
    "payee_name": "{*}SellerTradeParty/{*}Name",
    "vat_id": f"{{*}}SellerTradeParty/{_VAT_OF_CII}",
    "payer_name": "{*}BuyerTradeParty/{*}Name",
    "payer_vat_id": f"{{*}}BuyerTradeParty/{_VAT_OF_CII}",
}
_CII_OF_SETTLEMENT: Final = {
    "currency": "{*}InvoiceCurrencyCode",
    "reference": "{*}PaymentReference",
    "due_date": "{*}SpecifiedTradePaymentTerms/{*}DueDateDateTime/{*}DateTimeString",
    "iban": "{*}SpecifiedTradeSettlementPaymentMeans/{*}PayeePartyCreditorFinancialAccount/{*}IBANID",
}
_CII_OF_SUMS: Final = {"amount": "TaxBasisTotalAmount", "tax": "TaxTotalAmount", "total": "GrandTotalAmount"}


class _Names(NamedTuple):
    """How a version of the Cross Industry Invoice calls its parts."""

    document: str
    transaction: str
    agreement: str
    settlement: str
    sums: str


_CII: Final = {
    "CrossIndustryInvoice": _Names(
        "ExchangedDocument",
        "SupplyChainTradeTransaction",
        "ApplicableHeaderTradeAgreement",
        "ApplicableHeaderTradeSettlement",
        "SpecifiedTradeSettlementHeaderMonetarySummation",
    ),
    "CrossIndustryDocument": _Names(  # ZUGFeRD 1
        "HeaderExchangedDocument",
        "SpecifiedSupplyChainTradeTransaction",
        "ApplicableSupplyChainTradeAgreement",
        "ApplicableSupplyChainTradeSettlement",
        "SpecifiedTradeSettlementMonetarySummation",
    ),
}
"""Element names by the name of the root."""
_SUPPLIER: Final = "{*}AccountingSupplierParty/{*}Party/"
_CUSTOMER: Final = "{*}AccountingCustomerParty/{*}Party/"
_NAMES_OF_UBL: Final = ("{*}PartyLegalEntity/{*}RegistrationName", "{*}PartyName/{*}Name")
_VAT_OF_UBL: Final = "{*}PartyTaxScheme/{*}TaxScheme[{*}ID='VAT']/../{*}CompanyID"
_UBL: Final[Mapping[str, tuple[str, ...]]] = {
    "number": ("{*}ID",),
    "date": ("{*}IssueDate",),
    "due_date": ("{*}DueDate", "{*}PaymentMeans/{*}PaymentDueDate"),
    "currency": ("{*}DocumentCurrencyCode",),
    "payee_name": tuple(f"{_SUPPLIER}{path}" for path in _NAMES_OF_UBL),
    "payer_name": tuple(f"{_CUSTOMER}{path}" for path in _NAMES_OF_UBL),
    "vat_id": (f"{_SUPPLIER}{_VAT_OF_UBL}",),
    "payer_vat_id": (f"{_CUSTOMER}{_VAT_OF_UBL}",),
    "iban": ("{*}PaymentMeans/{*}PayeeFinancialAccount/{*}ID",),
    "reference": ("{*}PaymentMeans/{*}PaymentID",),
}
"""Where an invoice or a credit note has each value; the first place that has one counts."""
_UBL_ROOT = re.compile(r"\{urn:oasis:names:specification:ubl:[^}]*\}(?:Invoice|CreditNote)")
_UBL_SUMS: Final = {
    "amount": "{*}LegalMonetaryTotal/{*}TaxExclusiveAmount",
    "tax": "{*}TaxTotal/{*}TaxAmount",
    "total": "{*}LegalMonetaryTotal/{*}TaxInclusiveAmount",
}
_DATES: Final = frozenset({"date", "due_date"})
_AMOUNTS: Final = frozenset({"amount", "tax", "total"})


def read_invoice_xml(data: bytes) -> Mapping[str, str]:
    """The values by name, as texts: dates in ISO 8601, amounts with a decimal point. Empty if it is no invoice."""
    # Other encodings than UTF-8 could hide a declaration.
    if len(data) > MAX_BYTES or b"\0" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return {}
    try:
        root = ET.fromstring(data)  # noqa: S314 - without declarations there are no entities to expand
    except (ET.ParseError, LookupError, ValueError):  # the latter two of encodings that it does not know
        return {}
    name = root.tag.rpartition("}")[2]
    found = _of_cii(root, _CII[name]) if name in _CII else _of_ubl(root) if _UBL_ROOT.fullmatch(root.tag) else {}
    values = {key: _value(key, text.strip()) for key, text in found.items() if text and len(text) <= _LONGEST_VALUE}
    return {key: value for key, value in values.items() if value}


def _of_cii(root: ET.Element, names: _Names) -> dict[str, str | None]:
    transaction = f"{{*}}{names.transaction}/{{*}}"
    parts = (
        (_CII_DOCUMENT, f"{{*}}{names.document}/"),
        (_CII_OF_AGREEMENT, f"{transaction}{names.agreement}/"),
        (_CII_OF_SETTLEMENT, f"{transaction}{names.settlement}/"),
    )
    found = {name: root.findtext(start + path) for paths, start in parts for name, path in paths.items()}
    sums = f"{transaction}{names.settlement}/{{*}}{names.sums}/{{*}}"
    found |= {name: _amount(root, sums + tag, found["currency"]) for name, tag in _CII_OF_SUMS.items()}
    return found


def _of_ubl(root: ET.Element) -> dict[str, str | None]:
    found = {name: next(filter(None, map(root.findtext, paths)), None) for name, paths in _UBL.items()}
    return found | {name: _amount(root, path, found["currency"]) for name, path in _UBL_SUMS.items()}


def _amount(root: ET.Element, path: str, currency: str | None) -> str | None:
    """The amount in the currency of the invoice: the tax may also be told in that of the tax office."""
    code = (currency or "").strip()
    found = {each.get("currencyID", code): each.text for each in root.iterfind(path)}
    return next(iter(found.values())) if not code and len(found) == 1 else found.get(code)


def _value(name: str, text: str) -> str:
    """The value in its form; empty if it has another."""
    if name in _DATES:
        day = _DAY.match(text)
        return iso_day("".join(day.groups())) if day else ""
    if name in _AMOUNTS:
        try:
            amount = Decimal(text)
        except InvalidOperation:
            return ""
        return f"{amount:f}" if amount.is_finite() and len(text) <= 30 and "e" not in text.lower() else ""
    return " ".join(text.split())
