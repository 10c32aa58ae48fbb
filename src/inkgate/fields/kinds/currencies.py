"""Currencies as documents name them: EUR, €, US Dollars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_SIGNS: Final[Mapping[str, tuple[str, ...]]] = {
    "US$": ("USD",), "US Dollars": ("USD",), "US Dollar": ("USD",),
    "$": ("USD", "CAD", "AUD", "SGD", "HKD", "MXN", "NZD"),
    "€": ("EUR",), "Euros": ("EUR",), "Euro": ("EUR",), "£": ("GBP",), "¥": ("CNY", "JPY"), "￥": ("CNY", "JPY"),
    "元": ("CNY",), "人民币": ("CNY",), "円": ("JPY",), "RM": ("MYR",), "RMB": ("CNY",), "Rs.": ("INR",),
    "Rs": ("INR",), "₹": ("INR",), "Rp": ("IDR",), "฿": ("THB",), "₩": ("KRW",), "원": ("KRW",), "zł": ("PLN",),
    "R$": ("BRL",), "S$": ("SGD",), "HK$": ("HKD",), "A$": ("AUD",), "C$": ("CAD",), "Fr.": ("CHF",), "Kč": ("CZK",),
    "kr": ("SEK", "NOK", "DKK"), "kr.": ("SEK", "NOK", "DKK"),
}  # fmt: skip
_CODES: Final = (
    "USD EUR GBP CNY JPY MYR SGD HKD AUD CAD CHF INR IDR THB KRW SEK NOK DKK PLN BRL CZK HUF RON BGN TRY ZAR MXN NZD"
)
_FRANCS: Final = r"Fr\.(?=\s?-?\d[\d'’ ]*\.[\d–-]|\s*[)\]]?\s*$)"
"""Francs stand before an amount, or end a label: Fr. is Friday, too."""
_LISTED: Final = "|".join(
    _FRANCS if each == "Fr." else re.escape(each) for each in sorted([*_SIGNS, *_CODES.split()], key=len, reverse=True)
)
_FIRST: Final = re.escape("".join(sorted({each[0] for each in (*_SIGNS, *_CODES.split())})))
_CURRENCY: Final = re.compile(rf"(?<![^\W\d_])(?=[{_FIRST}])(?:{_LISTED})(?![^\W\d_])")


class Currencies:
    """A currency by its code, sign or name. Its readings are codes of ISO 4217; `$`, `¥` and `kr` may be of several."""

    name = "currency"

    def find(self, text: str) -> list[ParsedValue]:
        found = _CURRENCY.finditer(plain(text))
        return [ParsedValue(_SIGNS.get(each[0], (each[0],)), each.start(), each.end()) for each in found]

    def json(self, value: ParsedValue) -> JsonValue:
        """The code."""
        return cast("str", value.readings[0])
