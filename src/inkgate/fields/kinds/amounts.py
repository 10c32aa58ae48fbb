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
    "人民币": "CNY",
    "元": "CNY",
    "美元": "USD",
    "欧元": "EUR",
    "港元": "HKD",
    "日元": "JPY",
    "圆": "CNY",
    "¥": "",
    "￥": "",
    "円": "JPY",
    "JPY": "JPY",
    "CHF": "CHF",
    "SFr.": "CHF",
    "Fr.": "CHF",
    "INR": "INR",
    "₹": "INR",
    "Rs": "INR",
    "Rs.": "INR",
    "IDR": "IDR",
    "Rp": "IDR",
    "THB": "THB",
    "฿": "THB",
    "₩": "KRW",
    "원": "KRW",
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
    "kr.": "",
    "%": "%",
}
"""Signs and codes. The empty ones ($ and ¥) belong to several currencies: the document decides, not the sign."""

_SIGN = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_LAKH = r"\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d{1,2})?"
_BODY = rf"{_LAKH}|" r"\d{1,3}(?P<mark>[,.'’\s])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d{1,4})?|\d+[.,]\d+|\d+"
_CJK = "\u3040-\u30ff\u3400-\u9fff"
_AMOUNT = re.compile(
    rf"(?:(?<![^\W{_CJK}])|(?<=[a-z])(?=(?:RM|USD|EUR|GBP|CHF)\s?\d))(?<![.,])(?P<open>(?<![{_CJK}])\()?"
    rf"(?P<minus>[-–−])?\s?(?P<before>{_SIGN})?\s?(?P<minus2>[-–−])?\s?"
    rf"(?P<body>{_BODY})(?P<tail>[-–−](?!\s?\d))?\s?(?P<after>{_SIGN})?(?P<tail2>[-–−](?!\s?\d))?(?(open)(?P<close>\))?)"
    rf"(?:(?!\w)|(?=(?:SR|ZRL?)\b)|(?<=[元円圆])(?=[{_CJK}])|(?<=\d)(?=[をはでのとも]))(?![.,]\d)"
)
"""Codes of taxes may follow without a space: 5.90SR. A word may stand before a currency without one: TotalRM15.40.
Before an amount Chinese and Japanese words may stand without a space, and behind its currency: 合計は12,340円です.
Behind it some particles may, if it has a currency or a comma: ¥12,340を.
Brackets behind such a word are a remark: 捌拾元整（80.00）."""
_OF_WORD = re.compile(rf"[{_CJK}]")
_YEN = re.compile("[¥￥元円圆]")
"""A dash behind amounts in these currencies ends them: ¥70,445-."""
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
            sign, (start, end) = match["before"] or match["after"] or "", match.span()
            before, behind = _OF_WORD.match(text, start - 1, start), _OF_WORD.match(text, end, end + 1)
            if not sign and match["body"].isdigit() and (before or behind):
                continue  # 令和5
            if _is_negative(match, sign):
                readings = tuple(-reading for reading in readings)
            while start < end and text[start].isspace():
                start += 1
            while end > start and text[end - 1].isspace():
                end -= 1
            found.append(ParsedValue(readings, start, end, _CURRENCIES.get(sign, ""), _decimals(match["body"])))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """A decimal as text, so that no digit is lost; money with at least two decimals."""
        number = cast("Decimal", value.readings[0])
        exponent = number.as_tuple().exponent
        return f"{number:.2f}" if self.name == "money" and int(exponent) > -_MONEY_DECIMALS else f"{number:f}"


def _is_negative(match: re.Match[str], sign: str) -> bool:
    """Whether an amount has a minus before or behind it, or stands in brackets."""
    ends = match["tail"] or match["tail2"]
    if ends and _YEN.fullmatch(sign) and _decimals(match["body"]) in {0, _CENTS}:
        ends = None
    return bool(match["minus"] or match["minus2"] or ends or (match["open"] and match["close"]))


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
