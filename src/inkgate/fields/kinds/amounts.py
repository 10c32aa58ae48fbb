"""Numbers, amounts of money and percentages as people print them: 1,234.56, 1.234,56, RM 12.00, (3.50), 12,5 %."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, cast

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_CURRENCIES: Final = {
    "RM": "MYR",
    "MYR": "MYR",
    "US$": "USD",
    "USD": "USD",
    "S$": "SGD",
    "SGD": "SGD",
    "HK$": "HKD",
    "HKD": "HKD",
    "A$": "AUD",
    "AUD": "AUD",
    "C$": "CAD",
    "CAD": "CAD",
    "$": "",
    "EUR": "EUR",
    "€": "EUR",
    "GBP": "GBP",
    "£": "GBP",
    "CNY": "CNY",
    "RMB": "CNY",
    "元": "CNY",
    "圆": "CNY",
    "¥": "",
    "￥": "",
    "円": "JPY",
    "JPY": "JPY",
    "CHF": "CHF",
    "INR": "INR",
    "₹": "INR",
    "Rs": "INR",
    "IDR": "IDR",
    "Rp": "IDR",
    "THB": "THB",
    "฿": "THB",
    "₩": "KRW",
    "KRW": "KRW",
    "SEK": "SEK",
    "NOK": "NOK",
    "DKK": "DKK",
    "PLN": "PLN",
    "zł": "PLN",
    "BRL": "BRL",
    "R$": "BRL",
    "CZK": "CZK",
    "Kč": "CZK",
    "HUF": "HUF",
    "NZD": "NZD",
    "MXN": "MXN",
    "kr": "",
    "%": "%",
}
"""Signs and codes. The empty ones ($ and ¥) belong to several currencies: the document decides, not the sign."""

_SIGN = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_LAKH = r"\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d{1,2})?"
_BODY = rf"{_LAKH}|" r"\d{1,3}(?P<mark>[,.'’\s])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d{1,4})?|\d+[.,]\d+|\d+"
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<open>\()?(?P<minus>[-–−])?\s?(?P<before>{_SIGN})?\s?(?P<minus2>[-–−])?\s?"
    rf"(?P<body>{_BODY})(?P<tail>[-–−](?!\s?\d))?\s?(?P<after>{_SIGN})?(?P<close>\))?(?:(?!\w)|(?=(?:SR|ZRL?)\b))(?![.,]\d)"
)
"""Codes of taxes may follow without a space: 5.90SR."""
_MONEY_DECIMALS = 2
MAX_DIGITS = 18
"""Longer ones are numbers of accounts or barcodes. A Decimal holds 28 digits, JSON's integers 18."""
_CENTS = 3
"""Number of digits after a single point or comma that may be thousands or decimals."""


class Amounts:
    """A number with or without a currency. Readings are Decimals without trailing zeros."""

    def __init__(self, name: str = "money") -> None:
        self.name = name

    def find(self, text: str) -> list[ParsedValue]:
        found = []
        text = plain(text)
        for match in _AMOUNT.finditer(text):
            if sum(map(str.isdigit, match["body"])) > MAX_DIGITS:
                continue
            readings = _readings(match["body"])
            if match["minus"] or match["minus2"] or match["tail"] or (match["open"] and match["close"]):
                readings = tuple(-reading for reading in readings)
            unit = _CURRENCIES.get(match["before"] or match["after"] or "", "")
            start, end = match.span()
            while start < end and text[start].isspace():
                start += 1
            while end > start and text[end - 1].isspace():
                end -= 1
            found.append(ParsedValue(readings, start, end, unit, _decimals(match["body"])))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """A decimal as text, so that no digit is lost; money with at least two decimals."""
        number = cast("Decimal", value.readings[0])
        exponent = number.as_tuple().exponent
        return f"{number:.2f}" if self.name == "money" and int(exponent) > -_MONEY_DECIMALS else f"{number:f}"


def _readings(body: str) -> tuple[Decimal, ...]:
    """What the digits and marks may mean."""
    marks = [character for character in body if not character.isdigit()]
    digits = re.sub(r"\D", "", body)
    if not marks:
        return (_plain(body),)
    after = len(re.split(r"\D", body)[-1])
    last = marks[-1]
    decimals = Decimal(digits).scaleb(-after)
    if len(set(marks)) > 1 or (len(marks) == 1 and after != _CENTS):
        return (_plain(decimals),) if last in ".," else (_plain(digits),)
    if len(marks) > 1 or last not in ".,":
        return (_plain(digits),)
    # 9.000 and 1,234: either may be meant. A comma is more often of thousands, a point of decimals.
    both = (_plain(digits), _plain(decimals))
    return both if last == "," else (both[1], both[0])


def _plain(number: Decimal | str) -> Decimal:
    """Returns the number without trailing zeros, and with no exponent that makes 1E+1 of 10."""
    value = Decimal(number).normalize()
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value


def _decimals(body: str) -> int:
    """Digits behind the last point or comma, unless it separates thousands for sure."""
    parts = re.split(r"[.,]", body)
    return len(parts[-1]) if len(parts) > 1 and (len(parts[-1]) != _CENTS or len(parts) == 2) else 0
