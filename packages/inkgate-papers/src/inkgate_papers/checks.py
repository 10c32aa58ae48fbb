"""Checks of papers: check digits of cards and containers, periods, ages, and the printed part against the zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from stdnum import iso6346, luhn

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import plain
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
    "id_validity_period": _id_validity_period,
    "age_of_dates": _age_of_dates,
    "death_after_birth": _death_after_birth,
}
"""Checks by code."""
