"""Numbers of accounts and of tax payers: IBAN (ISO 13616) and VAT identification numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from stdnum import get_cc_module, iban, numdb
from stdnum.exceptions import InvalidChecksum, ValidationError

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

if TYPE_CHECKING:
    from stdnum.util import NumberValidationModule

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_LENGTHS = re.compile(r"(\d+)!")
"""Lengths of the parts of an account number, as SWIFT's registry notes them: `8!n10!n`."""
_BEFORE_ACCOUNT: Final = 4
"""Characters of an IBAN before the account number: the country's letters and two check digits."""
_VAT_COUNTRIES: Final = "AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|GB|XI|CHE|NO"
"""Letters with which VAT numbers begin in the EU, the United Kingdom, Switzerland and Norway."""
_VAT = re.compile(rf"(?<![A-Za-z0-9])({_VAT_COUNTRIES})(?=[ .-]?[A-Z0-9])")
_VAT_NUMBER = re.compile(rf"({_VAT_COUNTRIES})([A-Z0-9]+)")
_OTHER_CODES: Final = {"EL": "gr", "XI": "gb", "CHE": "ch"}
"""ISO 3166 codes of countries whose VAT numbers begin with other letters."""
_MAX_NUMBER: Final = 13
"""Letters and digits behind the country's letters."""
_MAX_CHARACTERS: Final = 24
"""Characters behind the country's letters, spaces and dots too."""


class Ibans:
    """An International Bank Account Number. Its check digits need not hold: `iban_holds` tells."""

    name = "iban"

    def find(self, text: str) -> list[ParsedValue]:
        text, found = plain(text), []
        for match in _IBAN.finditer(text):
            length = _iban_length(match[0][:2])
            end = _end_of(match[0], length) + match.start()
            if length and end > match.start():
                number = re.sub("[ -]", "", text[match.start() : end])
                found.append(ParsedValue((number,), match.start(), end))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """Letters and digits."""
        return cast("str", value.readings[0])


@cache
def _iban_length(country: str) -> int:
    """Letters and digits of a country's IBANs; 0 if it has none."""
    (_, properties), *_ = numdb.get("iban").info(country)
    parts = _LENGTHS.findall(properties.get("bban", ""))
    return _BEFORE_ACCOUNT + sum(map(int, parts)) if parts else 0


def _end_of(text: str, length: int) -> int:
    """Returns where that many letters and digits end; 0 if there are fewer, or a word goes on."""
    count = 0
    for at, character in enumerate(text):
        count += character.isalnum()
        if count == length:
            return 0 if text[at + 1 : at + 2].isalnum() else at + 1
    return 0


def iban_holds(number: str) -> bool:
    """Whether the check digits hold, those too that some countries have inside of the account number."""
    return iban.is_valid(number)


class VatIds:
    """A VAT identification number of the EU, the United Kingdom, Switzerland (its UID) or Norway. `vat_id_holds` tells
    of its check digits.
    """

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
            if len(number) <= _MAX_NUMBER and _has_form(country, number):
                yield ParsedValue((country + number,), start, end)
                return


def _has_form(country: str, body: str) -> bool:
    """Whether the characters behind the country's letters are those of a VAT number, but for the check digits."""
    module = _vat_module(country)
    if module is None or not re.fullmatch("[A-Z0-9]+", body):
        return False
    try:
        module.validate(body)
    except InvalidChecksum:
        return True
    except ValidationError:
        return False
    return True


def vat_id_holds(number: str) -> bool | None:
    """Whether the check digits hold; None for countries whose rule is not known here."""
    match = _VAT_NUMBER.fullmatch(number)
    module = _vat_module(match[1]) if match else None
    return None if match is None or module is None else module.is_valid(match[2])


@cache
def _vat_module(country: str) -> NumberValidationModule | None:
    """The rules for VAT numbers that begin with these letters; the Swiss one without the name of the tax behind it."""
    return get_cc_module(_OTHER_CODES.get(country, country), "uid" if country == "CHE" else "vat")
