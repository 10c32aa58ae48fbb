"""What a code says, where its content follows a standard: values by name, as texts.

Contents come from anybody: what doesn't fit the standard is no content of it, and nothing is repaired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from stdnum import iban
from stdnum.ch import uid

from inkgate.codes.days import iso_day
from inkgate.codes.papers import boarding_pass, id_card

Values = Mapping[str, str]
_LONGEST_VALUE: Final = 500
"""The largest length of a value, in characters."""
_INVOICE_TYPES: Final = {
    "01": "增值税专用发票",
    "04": "增值税普通发票",
    "08": "增值税电子专用发票",
    "10": "增值税电子普通发票",
    "11": "增值税普通发票（卷票）",
    "14": "增值税电子普通发票（通行费）",
    "31": "电子发票（增值税专用发票）",
    "32": "电子发票（普通发票）",
}
_FULLY_DIGITAL: Final = frozenset({"31", "32"})
"""Types of invoice whose amount includes the tax; that of the others doesn't."""

_BILLING: Final = "//S1/"


def content_of(text: str) -> tuple[str, Values]:
    """The name of the standard and the values; empty if the text follows none that is known."""
    for name, read in _STANDARDS.items():
        values = read(text)
        if values is not None:
            shortened = {key: value[:_LONGEST_VALUE] for key, value in values.items() if value}
            return name, shortened
    return "", {}


def _cn_vat_invoice(text: str) -> Values | None:
    """The code of a Chinese VAT invoice: `01,<type>,<code>,<number>,<amount>,<yyyymmdd>,<check code>,<crc>,`."""
    parts = [part.strip() for part in text.strip().split(",")]
    if len(parts) < 7 or parts[0] != "01" or parts[1] not in _INVOICE_TYPES:
        return None
    _, kind, code, number, amount, day, check = parts[:7]
    issued, money = iso_day(day), _amount(amount)
    if not number.isdigit() or (code and not code.isdigit()) or not issued or money is None:
        return None
    sum_name = "total" if kind in _FULLY_DIGITAL else "amount"
    values = {"invoice_type": _INVOICE_TYPES[kind], "code": code, "number": number, sum_name: money, "date": issued}
    return {**values, "check_code": check if check.isdigit() else ""}


def _epc_payment(text: str) -> Values | None:
    """A SEPA credit transfer (EPC069-12, version 3.1)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) < 7 or lines[0] != "BCD" or lines[1] not in {"001", "002"} or lines[3] != "SCT":
        return None
    lines += [""] * (12 - len(lines))
    account = "".join(lines[6].split())
    if not iban.is_valid(account):
        return None
    amount = _amount(lines[7][3:]) if lines[7].startswith("EUR") else None
    return {
        "bic": lines[4].strip(),
        "payee_name": lines[5].strip(),
        "iban": iban.compact(account).upper(),
        "total": amount or "",
        "currency": "EUR" if amount else "",
        "purpose": lines[8].strip(),
        "reference": lines[9].strip() or lines[10].strip(),
    }


def _swiss_payment(text: str) -> Values | None:
    """A Swiss QR-bill (SIX Implementation Guidelines, version 2.3). Its lines are numbered as there."""
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    if len(lines) < 31 or lines[0] != "SPC" or lines[1][:2] != "02" or not iban.is_valid(lines[3]):
        return None
    return {
        "iban": iban.compact(lines[3]),
        "payee_name": lines[5],
        "payee_address": _address(lines[4:11]),
        "total": _amount(lines[18]) or "",
        "currency": lines[19] if lines[19] in {"CHF", "EUR"} else "",
        "payer_name": lines[21],
        "payer_address": _address(lines[20:27]),
        "reference": lines[28],
        "message": lines[29],
        **_billing_information(lines[31] if len(lines) > 31 else ""),
    }


def _address(party: list[str]) -> str:
    """The address of a party: type of address, name, street, number, postcode, town, country. Combined addresses (K)
    have two lines for the first four.
    """
    form, _, street, number, postcode, town, country = party
    first = (street, number) if form == "K" else (f"{street} {number}".strip(), f"{postcode} {town}".strip())
    return ", ".join(part for part in (*first, country) if part)


def _billing_information(text: str) -> Values:
    """What the biller adds (Swico's syntax, S1, version 1.2): pairs of a tag and a value, with slashes between."""
    if not text.startswith(_BILLING):
        return {}
    parts = [re.sub(r"\\(.)", r"\1", part) for part in re.split(r"(?<!\\)/", text.removeprefix(_BILLING))]
    values = dict(zip(parts[::2], parts[1::2], strict=False))
    tax_payer = f"CHE{values.get('30', '')}"
    return {
        "number": values.get("10", ""),
        "date": iso_day(f"20{values.get('11', '')}"),
        "vat_id": tax_payer if uid.is_valid(tax_payer) else "",
    }


_STANDARDS: Final[Mapping[str, Callable[[str], Values | None]]] = {
    "cn_vat_invoice": _cn_vat_invoice,
    "epc_payment": _epc_payment,
    "swiss_payment": _swiss_payment,
    "id_card": id_card,
    "boarding_pass": boarding_pass,
}


def _amount(text: str) -> str | None:
    """The amount with two decimals."""
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,2})?", text, re.ASCII):
        return None
    try:
        return f"{Decimal(text):.2f}"
    except InvalidOperation:
        return None
