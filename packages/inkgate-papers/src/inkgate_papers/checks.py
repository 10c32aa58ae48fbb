"""Checks of papers: check digits of cards, containers, persons and taxpayers, sums, periods and ages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from stdnum import iso6346, luhn
from stdnum.cn import ric
from stdnum.exceptions import ValidationError

from inkgate.fields.checks import number_of
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import plain
from inkgate.fields.kinds.chinese import tax_number_holds
from inkgate_client.fields.values import Check, FieldValue

Fields = Mapping[str, FieldValue]
_PERIOD = re.compile(r"(\d{4}\W?\d{2}\W?\d{2})\s?\W{1,2}\s?(\d{4}\W?\d{2}\W?\d{2}|长期)")
_YEARS: Final = frozenset({5, 10, 20})
"""Years for which a Chinese identity card is valid (Law on Resident Identity Cards, article 5)."""
_BY_COUNT: Final = 2
"""Years by which a Chinese age may be above the difference of the years: 虚岁 counts from one, and from new year."""


def _card_check_digit(fields: Fields) -> Check | None:
    return _each_holds(fields, "bank_card", luhn.is_valid, "card_check_digit", "Luhn")


def _container_check_digit(fields: Fields) -> Check | None:
    return _each_holds(fields, "container", iso6346.is_valid, "container_check_digit", "ISO 6346")


def _each_holds(fields: Fields, kind: str, holds: Callable[[str], bool], code: str, detail: str) -> Check | None:
    """A check about those whose check digit is wrong, or about all. The detail has no numbers."""
    found = {path: field.value for path, field in fields.items() if field.kind == kind}
    values = {path: value for path, value in found.items() if isinstance(value, str)}
    wrong = tuple(path for path, value in values.items() if not holds(value))
    if not values:
        return None
    return Check(code, not wrong, wrong or tuple(values), f"{detail}: {len(values) - len(wrong)} of {len(values)} hold")


def _id_number(fields: Fields) -> tuple[str, str] | None:
    """Path and value of the first Chinese identity number."""
    found = ((path, field.value) for path, field in fields.items() if field.kind in {"cn_id", "cn_id_masked"})
    return next(((path, value) for path, value in found if isinstance(value, str) and "*" not in value), None)


def _id_check_digit(fields: Fields) -> Check | None:
    found = _id_number(fields)
    return None if found is None else Check("id_check_digit", _id_holds(found[1]), (found[0],), "GB 11643")


def _id_birth_date(fields: Fields) -> Check | None:
    """The date of birth in the number is the printed one."""
    found, born = _id_number(fields), _iso(fields, "/birth_date")
    if found is None or born is None:
        return None
    same = found[1][6:14] == f"{born:%Y%m%d}"
    return Check("id_birth_date", same, (found[0], "/birth_date"), "the same" if same else "they differ")


def _id_sex(fields: Fields) -> Check | None:
    """The last but one digit of the number is odd for men."""
    found, sex = _id_number(fields), fields.get("/sex")
    if found is None or sex is None or sex.value not in {"男", "女"}:
        return None
    fits = (int(found[1][16]) % 2 == 1) == (sex.value == "男")
    return Check("id_sex", fits, (found[0], "/sex"), "they fit" if fits else "they differ")


def _amount_plus_tax(fields: Fields) -> Check | None:
    """Amount and tax make the total, to the cent."""
    paths = ("/amount", "/tax", "/total")
    amount, tax, total = (number_of(fields.get(path)) for path in paths)
    if amount is None or tax is None or total is None:
        return None
    return Check("amount_plus_tax", amount + tax == total, paths, f"{amount} + {tax} and {total}")


def _tax_number_check_digits(fields: Fields) -> Check | None:
    found = {path: field.value for path, field in fields.items() if field.kind == "cn_tax_number"}
    numbers = {path: value for path, value in found.items() if isinstance(value, str)}
    wrong = tuple(path for path, value in numbers.items() if not tax_number_holds(value))
    if not numbers:
        return None
    return Check("tax_number_check_digits", not wrong, wrong or tuple(numbers), "GB 32100")


def _id_holds(number: str) -> bool:
    """Whether the check character of an identity number is right, and its date of birth one of the calendar. `number`:
    as `ChineseIds.json` has it.
    """
    try:
        ric.get_birth_date(number)
    except ValidationError:
        return False
    return ric.calc_check_digit(number) == number[-1]


def _id_validity_period(fields: Fields) -> Check | None:
    """The period ends 5, 10 or 20 years behind its beginning, or never."""
    field = fields.get("/valid_period")
    match = (
        _PERIOD.fullmatch(plain(str(field.value)).strip()) if field is not None and field.value is not None else None
    )
    if field is None or field.value is None:
        return None
    begins = _day(match[1]) if match else None
    if match is None or begins is None:
        return Check("id_validity_period", passed=False, paths=("/valid_period",), detail="no period of two dates")
    ends = None if match[2] == "长期" else _day(match[2])
    if match[2] == "长期":
        fits = True
    else:
        fits = ends is not None and ends.year - begins.year in _YEARS and (ends.month, ends.day) in _same_day(begins)
    return Check("id_validity_period", fits, ("/valid_period",), "it fits" if fits else "not of 5, 10 or 20 years")


def _same_day(begins: date) -> set[tuple[int, int]]:
    """The day of another year; the 29th of February is not in every one."""
    return (
        {(begins.month, begins.day), (2, 28), (3, 1)}
        if (begins.month, begins.day) == (2, 29)
        else {(begins.month, begins.day)}
    )


def _day(text: str) -> date | None:
    digits = re.sub(r"\D", "", text)
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    except ValueError:
        return None


def _age_of_dates(fields: Fields) -> Check | None:
    """The age is that of the dates of birth and death. Chinese ages may count from one."""
    born, died = _iso(fields, "/birth_date"), _iso(fields, "/death_date")
    age = fields.get("/age")
    if born is None or died is None or age is None or not isinstance(age.value, int):
        return None
    years = died.year - born.year - ((died.month, died.day) < (born.month, born.day))
    paths = ("/age", "/birth_date", "/death_date")
    return Check("age_of_dates", years <= age.value <= years + _BY_COUNT, paths, f"{years} by the dates")


def _death_after_birth(fields: Fields) -> Check | None:
    begins, ends = _iso(fields, "/birth_date"), _iso(fields, "/death_date")
    if begins is None or ends is None:
        return None
    detail = "in order" if begins <= ends else "the second is before the first"
    return Check("death_after_birth", begins <= ends, ("/birth_date", "/death_date"), detail)


def _iso(fields: Fields, path: str) -> date | None:
    field = fields.get(path)
    values = KINDS["date"].find(str(field.value)) if field is not None and field.kind == "date" and field.value else []
    found = values[0].readings[0] if values else None
    return found if isinstance(found, date) else None


CHECKS: Final[Mapping[str, Callable[[Fields], Check | None]]] = {
    "card_check_digit": _card_check_digit,
    "container_check_digit": _container_check_digit,
    "id_check_digit": _id_check_digit,
    "id_birth_date": _id_birth_date,
    "id_sex": _id_sex,
    "id_validity_period": _id_validity_period,
    "amount_plus_tax": _amount_plus_tax,
    "tax_number_check_digits": _tax_number_check_digits,
    "age_of_dates": _age_of_dates,
    "death_after_birth": _death_after_birth,
}
"""Checks by code."""
