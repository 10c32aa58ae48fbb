"""Numbers of accounts and of tax payers: IBAN (ISO 13616) and VAT identification numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_IBAN_LENGTHS: Final = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
    "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SA": 24, "SE": 24, "SI": 19,
    "SK": 24, "TR": 26, "AE": 23,
}  # fmt: skip
"""Letters and digits of an IBAN (SWIFT's registry), for the countries whose papers are met most."""
_VAT_FORMS: Final = {
    "AT": r"U\d{8}", "BE": r"[01]\d{9}", "BG": r"\d{9,10}", "CY": r"\d{8}[A-Z]", "CZ": r"\d{8,10}", "DE": r"\d{9}",
    "DK": r"\d{8}", "EE": r"\d{9}", "EL": r"\d{9}", "ES": r"[A-Z0-9]\d{7}[A-Z0-9]", "FI": r"\d{8}",
    "FR": r"[A-Z0-9]{2}\d{9}", "GB": r"\d{9}(?:\d{3})?", "HR": r"\d{11}", "HU": r"\d{8}",
    "IE": r"\d[A-Z0-9]\d{5}[A-Z]{1,2}",
    "IT": r"\d{11}", "LT": r"\d{9}(?:\d{3})?", "LU": r"\d{8}", "LV": r"\d{11}", "MT": r"\d{8}", "NL": r"\d{9}B\d{2}",
    "PL": r"\d{10}", "PT": r"\d{9}", "RO": r"\d{2,10}", "SE": r"\d{12}", "SI": r"\d{8}", "SK": r"\d{10}",
}  # fmt: skip
"""What follows the country's letters (EU's VIES)."""
_VAT = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(_VAT_FORMS)})(?=[ .-]?[A-Z0-9])")
_MAX_CHARACTERS: Final = 24
"""Characters behind the country's letters, spaces and dots too."""


class Ibans:
    """An International Bank Account Number. Its check digits need not hold: `iban_holds` tells."""

    name = "iban"

    def find(self, text: str) -> list[ParsedValue]:
        found = []
        for match in _IBAN.finditer(plain(text)):
            length = _IBAN_LENGTHS.get(match[0][:2])
            end = match.end() if length is None else _end_of(match[0], length) + match.start()
            number = re.sub("[ -]", "", plain(text)[match.start() : end])
            # Of other countries, only the check digits tell that it is none of the many other numbers.
            if end > match.start() and (iban_holds(number) if length is None else len(number) == length):
                found.append(ParsedValue((number,), match.start(), end))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """Letters and digits."""
        return cast("str", value.readings[0])


def _end_of(text: str, length: int) -> int:
    """Returns where that many letters and digits end; 0 if there are fewer, or a word goes on."""
    count = 0
    for at, character in enumerate(text):
        count += character.isalnum()
        if count == length:
            return 0 if text[at + 1 : at + 2].isalnum() else at + 1
    return 0


def iban_holds(number: str) -> bool:
    """Whether the check digits hold (ISO 7064, mod 97-10)."""
    return int("".join(str(int(each, 36)) for each in number[4:] + number[:4])) % 97 == 1


class VatIds:
    """A VAT identification number of the EU or the United Kingdom. `vat_id_holds` tells of its check digits."""

    name = "vat_id"

    def find(self, text: str) -> list[ParsedValue]:
        text = plain(text)
        return [value for match in _VAT.finditer(text) for value in _vat_at(text, match.start(), match.end())]

    def json(self, value: ParsedValue) -> JsonValue:
        """Letters and digits."""
        return cast("str", value.readings[0])


def _vat_at(text: str, start: int, behind: int) -> Iterator[ParsedValue]:
    """The longest number that begins there."""
    country = text[start:behind]
    for end in range(min(len(text), behind + _MAX_CHARACTERS), behind, -1):
        if text[end - 1].isalnum() and not text[end : end + 1].isalnum():
            number = re.sub("[ .-]", "", text[behind:end])
            if re.fullmatch(_VAT_FORMS[country], number):
                yield ParsedValue((country + number,), start, end)
                return


def vat_id_holds(number: str) -> bool | None:
    """Whether the check digits hold; None for countries whose rule is not known here."""
    rule = _VAT_RULES.get(number[:2])
    body = number[2:]
    return None if rule is None or not any(map(str.isdigit, body)) else rule(body)


def _weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _of_france(body: str) -> bool:
    """Older numbers have two check digits; newer ones with letters are not checked."""
    return not body[:2].isdigit() or int(body[:2]) == (12 + 3 * (int(body[2:]) % 97)) % 97


def _of_netherlands(body: str) -> bool:
    """The tax number's own digit, or since 2020 mod 97 over the whole."""
    own = _weighted(body, (9, 8, 7, 6, 5, 4, 3, 2)) % 11 == int(body[8])
    return own or int("".join(str(int(each, 36)) for each in "NL" + body)) % 97 == 1


def _of_germany(body: str) -> bool:
    """ISO 7064, mod 11, 10."""
    product = 10
    for digit in body[:8]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(body[8])


def _of_italy(body: str) -> bool:
    total = sum(int(digit) if at % 2 == 0 else sum(divmod(2 * int(digit), 10)) for at, digit in enumerate(body))
    return total % 10 == 0


def _of_poland(body: str) -> bool:
    return _weighted(body, (6, 5, 7, 2, 3, 4, 5, 6, 7)) % 11 == int(body[9])


def _of_portugal(body: str) -> bool:
    rest = _weighted(body, (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return int(body[8]) == (0 if rest < 2 else 11 - rest)


_VAT_RULES: Final[Mapping[str, Callable[[str], bool]]] = {
    "BE": lambda body: 97 - int(body[:8]) % 97 == int(body[8:]),
    "DE": _of_germany,
    "DK": lambda body: _weighted(body, (2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0,
    "FI": lambda body: _weighted(body, (7, 9, 10, 5, 8, 4, 2, 1)) % 11 == 0,
    "FR": _of_france,
    "IT": _of_italy,
    "LU": lambda body: int(body[:6]) % 89 == int(body[6:]),
    "NL": _of_netherlands,
    "PL": _of_poland,
    "PT": _of_portugal,
}
