"""Weights, volumes and months: 18,450.00 KGS, 28.5 CBM, 08/29."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final, cast

from inkgate.fields.kinds.amounts import Amounts
from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_UNITS: Final[Mapping[str, Mapping[str, str]]] = {
    "weight": {
        **dict.fromkeys(("kgs", "kg", "kilos", "kilograms", "千克", "公斤"), "kg"),
        **dict.fromkeys(("mts", "mt", "tons", "tonnes", "ton", "吨"), "t"),
        **dict.fromkeys(("lbs", "lb", "pounds"), "lb"),
    },
    "volume": {
        **dict.fromkeys(("cbm", "m3", "m³", "cubic meters", "cubic metres", "立方米"), "m3"),
        **dict.fromkeys(("cft", "cuft", "cu.ft", "ft3"), "ft3"),
    },
}
_BODY = r"(?<![\w.,])\d{1,3}(?:[,' ]\d{3}){1,4}(?:\.\d{1,4})?|(?<![\w.,])\d{1,12}(?:[.,]\d{1,4})?"
_MONTH = re.compile(r"(?<![\d/-])(?P<month>0[1-9]|1[0-2])\s?[/-]\s?(?P<year>20\d\d|\d\d)(?![\d/-])")


class Measures:
    """A number with a unit. Its readings are Decimals, its unit is `kg`, `t`, `lb`, `m3` or `ft3`."""

    def __init__(self, name: str) -> None:
        """`name`: `weight` or `volume`."""
        self.name = name
        self._units = _UNITS[name]
        units = "|".join(sorted(map(re.escape, self._units), key=len, reverse=True))
        self._pattern = re.compile(rf"(?P<body>{_BODY})\s{{0,2}}(?P<unit>{units})(?![A-Za-z])", re.IGNORECASE)

    def find(self, text: str) -> list[ParsedValue]:
        found = []
        for match in self._pattern.finditer(plain(text)):
            numbers = Amounts("number").find(match["body"])
            if len(numbers) == 1:
                unit = self._units[match["unit"].lower()]
                found.append(replace(numbers[0], start=match.start(), end=match.end(), unit=unit))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """`18450 kg`."""
        return f"{cast('Decimal', value.readings[0]):f} {value.unit}"


class Months:
    """A month, as on bank cards: 08/29. Its reading is (year, month)."""

    name = "month"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds months of expiry. Years of two digits are of the 2000s."""
        found = _MONTH.finditer(plain(text))
        return [
            ParsedValue(((2000 + int(each["year"]) % 100, int(each["month"])),), each.start(), each.end())
            for each in found
        ]

    def json(self, value: ParsedValue) -> JsonValue:
        """`2029-08`."""
        year, month = cast("tuple[int, int]", value.readings[0])
        return f"{year}-{month:02}"
