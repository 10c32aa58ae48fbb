"""Numbers of accounts and of tax payers: IBAN (ISO 13616) and numbers of VAT and like taxes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from stdnum import get_cc_module, iban, numdb
from stdnum.exceptions import InvalidChecksum, ValidationError

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate.fields.kinds.chinese import LENGTH, ChineseTaxNumbers, tax_number_holds
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


@dataclass(frozen=True, slots=True)
class _Form:
    """How a country writes its numbers, without its letters.

    Attributes:
        country, rules: of the check digits in stdnum; without `rules` there are none.
        pattern: of the number as printed.
        distinct: whether nothing else has this form: it is known without a label if its check digits hold, and behind a
            label even if they don't.
    """

    country: str
    rules: str
    pattern: re.Pattern[str]
    distinct: bool = False

    def holds(self, number: str) -> bool | None:
        """Whether the check digits of a number of letters and digits hold; None if there are none."""
        module = _rules(self.country, self.rules) if self.rules else None
        return None if module is None else module.is_valid(number.removeprefix("T") if self.country == "jp" else number)


def _form(country: str, rules: str, *written: str, distinct: bool = False) -> _Form:
    pattern = rf"(?<![A-Za-z0-9+/-])(?<!\d[.,])(?:{'|'.join(written)})(?![A-Za-z0-9]|[.,/-]\d)"
    return _Form(country, rules, re.compile(pattern), distinct)


_FORMS: Final = (
    _form("in", "gstin", r"\d{2} ?[A-Z]{5} ?\d{4} ?[A-Z] ?[A-Z0-9] ?Z ?[A-Z0-9]", distinct=True),
    _form("jp", "cn", r"T[ -]?\d{13}", r"T[ -]?\d(?:-\d{4}){3}", distinct=True),
    _form("no", "mva", r"\d{3} ?\d{3} ?\d{3} ?MVA", distinct=True),
    _form("nl", "vat", r"\d{4}[. ]?\d{2}[. ]?\d{3}[. ]?B[. ]?\d{2}"),
    _form("gb", "vat", r"\d{3} ?\d{4} ?\d{2}(?: ?\d{3})?", r"\d{3} ?\d{3} ?\d{3}"),
    _form("pt", "vat", r"\d{3}[ .]?\d{3}[ .]?\d{3}"),
    _form("be", "vat", r"[01]\d{3}[ .]?\d{3}[ .]?\d{3}"),
    _form("pl", "vat", r"\d{10}", r"\d{3}([ -])\d{3}\1\d{2}\1\d{2}", r"\d{3}([ -])\d{2}\2\d{2}\2\d{3}"),
    _form("it", "vat", r"\d{11}", r"\d{5} \d{6}", r"\d{3} \d{4} \d{4}"),
    _form("au", "abn", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
    _form("es", "vat", r"[A-Z][ -]?\d{7}[ -]?[A-Z0-9]", r"\d{8}[ -]?[A-Z]", r"[A-Z][ -]?\d{2}\.\d{3}\.\d{3}"),
    _form("my", "", r"[A-Z]\d{2}-\d{4}-\d{8}", r"00\d{10}"),
    _form("us", "", r"\d{2}-\d{7}"),
)
"""Forms of the countries whose numbers are printed without letters, or with other ones; of China see `chinese`."""
_UNKNOWN: Final = re.compile(r"(?<![A-Za-z0-9.,/+-])[A-Z0-9]{9,20}(?![A-Za-z0-9]|[.,/-]\d)")
_MIN_DIGITS: Final = 7
"""Digits that a number of any other country has at least."""


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
    """The number under which a country knows a company that pays VAT, GST or sales tax: with the country's letters in
    the EU, the United Kingdom, Switzerland (its UID) and Norway, else in the form that the country gives it. Numbers of
    mere digits are found only if their check digits hold; of others `vat_id_holds` tells.
    """

    name = "vat_id"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds tax numbers; `needs_label` are those that may be other numbers."""
        text = plain(text)
        values = [value for match in _VAT.finditer(text) for value in _vat_at(text, match.start(), match.end())]
        if sum(map(str.isdigit, text)) >= _MIN_DIGITS:
            values += sorted(_national_in(text), key=lambda each: (each.needs_label, each.start - each.end))
            values += _unknown_in(text)
        found, taken = [], bytearray(len(text))
        for value in values:
            if not any(taken[value.start : value.end]):
                taken[value.start : value.end] = b"\1" * (value.end - value.start)
                found.append(value)
        return sorted(found, key=lambda each: each.start)

    def json(self, value: ParsedValue) -> JsonValue:
        """Letters and digits."""
        return cast("str", value.readings[0])


def _vat_at(text: str, start: int, behind: int) -> Iterator[ParsedValue]:
    """The longest number that begins there, of those whose check digits hold if there are any."""
    country = text[start:behind]
    ends = range(min(len(text), behind + _MAX_CHARACTERS), behind, -1)
    whole = [end for end in ends if text[end - 1].isalnum() and not text[end : end + 1].isalnum()]
    numbers = {end: re.sub("[ .-]", "", text[behind:end]) for end in whole}
    formed = [end for end, body in numbers.items() if len(body) <= _MAX_NUMBER and _has_form(country, body)]
    if formed:
        end = next((end for end in formed if vat_id_holds(country + numbers[end])), formed[0])
        yield ParsedValue((country + numbers[end],), start, end)


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


def _national_in(text: str) -> Iterator[ParsedValue]:
    """Numbers without a country's letters. Two may overlap."""
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            number = re.sub("[ .-]", "", match[0])
            holds = form.holds(number)
            if holds is not False or form.distinct:
                needs_label = not (form.distinct and holds)
                yield ParsedValue((number,), match.start(), match.end(), needs_label=needs_label)
    for value in ChineseTaxNumbers().find(text):
        if len(cast("str", value.readings[0])) == LENGTH:
            yield replace(value, needs_label=True)


def _unknown_in(text: str) -> Iterator[ParsedValue]:
    """Numbers of other countries, and those of a known form that check digits contradict."""
    for match in _UNKNOWN.finditer(text):
        if sum(map(str.isdigit, match[0])) >= _MIN_DIGITS:
            yield ParsedValue((match[0],), match.start(), match.end(), needs_label=True)


def vat_id_holds(number: str) -> bool | None:
    """Whether the check digits hold; None for numbers without them, or whose rule is not known here."""
    if match := _VAT_NUMBER.fullmatch(number):
        module = _vat_module(match[1])
        return None if module is None else module.is_valid(match[2])
    if len(number) == LENGTH:
        return tax_number_holds(number)
    held = [form.holds(number) for form in _FORMS if form.pattern.fullmatch(number)]
    if True in held:
        return True
    return None if number.isdigit() or not held else False


def without_country(number: str) -> str:
    """The number without the country's letters: it may be printed with and without them."""
    match = _VAT_NUMBER.fullmatch(number)
    return match[2] if match else number


def _vat_module(country: str) -> NumberValidationModule | None:
    """The rules for VAT numbers that begin with these letters; the Swiss one without the name of the tax behind it."""
    return _rules(_OTHER_CODES.get(country, country), "uid" if country == "CHE" else "vat")


@cache
def _rules(country: str, name: str) -> NumberValidationModule | None:
    return get_cc_module(country, name)
