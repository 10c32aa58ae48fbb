"""Dates: 2018-03-30, 30/03/18, 30 MAR 2018, March 30, 2018, 2018年3月30日, 20180330."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_MONTHS = {
    1: "jan january januar janvier janv enero janeiro gennaio januari ene gen styczeń stycznia sty leden ledna",
    2: "feb february februar fevrier février fevr févr febrero fevereiro febbraio februari fev fév fbr"
    " luty lutego lut únor února",
    3: "mar march maerz märz mars marzo março maart mrz mrt marzec marca březen března",
    4: "apr april avril abril aprile avr abr kwiecień kwietnia kwi duben dubna",
    5: "may mai mayo maio maggio mei mag maj maja květen května",
    6: "jun june juni juin junio junho giugno giu czerwiec czerwca cze červen června",
    7: "jul july juli juillet juil julio julho luglio lug ju1 lipiec lipca lip červenec července",
    8: "aug august août aout agosto augustus ago sierpień sierpnia sie srpen srpna augusti",
    9: "sep sept september septembre septiembre setembro settembre set wrzesień września wrz září",
    10: "oct october oktober octobre octubre outubro ottobre okt out ott październik października paź říjen října",
    11: "nov november novembre noviembre novembro listopad listopada lis listopadu",
    12: "dec december dezember décembre decembre diciembre dezembro dicembre dez déc dic des"
    " grudzień grudnia gru prosinec prosince",
}
"""`ju1` is how OCR reads Jul before a digit."""
_MONTH_OF = {name: number for number, names in _MONTHS.items() for name in names.split()}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_YEAR = r"(?P<year>(?:19|20)\d\d|'?\d\d)"
_FULL_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_HAN = r"\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces: 日期2024-03-29."""
_BEFORE, _BEHIND = (
    rf"(?:(?<![^\W{_HAN}])(?<![/.-])|(?<=\d{{3}}/)|(?<=-\d\d/)|(?<=/\d\d/)(?=\d\d?[.\s-]|\d{{4}}-|\d\d?/\d\d?/\d{{4}}))",
    rf"(?![^\WT{_HAN}]|T(?!\d)|/(?!\w{{4}}))(?![.-]\d)",
)
"""A slash parts the date from a number beside it: 80101911/26.06.2025."""
_WRITTEN = (
    rf"{_FULL_YEAR}\s?(?P<mark>[-/.])\s?(?P<month>0?[1-9]|1[0-2])\s?(?P=mark)\s?{_DAY}(?=T\d|\b|[{_HAN}])",
    rf"{_DAY}(?:st|nd|rd|th|\.)?\s?[-/.,]?\s?(?P<name>{_MONTH})\.?\s?[-/.,']?\s?{_YEAR}",
    # Between day and year stands a mark or a space: "Mar 2018" is not the 20th of March 2018.
    rf"(?P<name>{_MONTH})\.?\s?[-/.]?\s?{_DAY}(?:st|nd|rd|th)?(?:\s?[-/.,']\s?|\s){_YEAR}",
    rf"{_DAY}(?:st|nd|rd|th)\s?day\s?of\s?(?P<name>{_MONTH})\.?,?\s?{_FULL_YEAR}",
    # Passports in two languages: 02 SEP/SEPT 1993.
    rf"{_DAY}\s?(?P<name>{_MONTH})\s?/\s?(?:{_MONTH})\s?{_YEAR}",
    rf"{_DAY}\s?de\s?(?P<name>{_MONTH})\s?(?:de|del)?\s?{_FULL_YEAR}",
)
_PATTERNS = (
    *(re.compile(_BEFORE + written + _BEHIND, re.IGNORECASE) for written in _WRITTEN),
    re.compile(rf"{_FULL_YEAR}\s?年\s?(?P<month>1[0-2]|0?[1-9])\s?月\s?{_DAY}\s?[日号號]"),
    re.compile(
        rf"(?:令和|(?<![A-Za-z])R)\s?(?P<reiwa>[1-3]?\d|元)\s?年\s?(?P<month>1[0-2]|0?[1-9])\s?月\s?{_DAY}\s?日"
    ),
    # French passports have nothing but spaces: alone on a line, day first.
    re.compile(rf"^\s?(?P<day>0[1-9]|[12]\d|3[01])\s(?P<month>0[1-9]|1[0-2])\s{_FULL_YEAR}\s?$"),
    re.compile(r"(?<!\d)(?P<year>20\d\d|19\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)"),
)
_NUMBERS = re.compile(
    rf"{_BEFORE}(?P<a>\d{{1,2}})\s?(?:,(?=/))?(?P<mark>[-/.])\s?(?P<b>\d{{1,2}})\s?(?P=mark)\s?"
    r"(?P<year>(?:19|20)\d\d|\d\d(?!/))(?!\w|/(?!\w{4}))(?![.-]\d)"
)
_TOWN = re.compile(rf"[{_HAN}](?<![日付期])")
_NUMBERED = re.compile(r"\d{4}/$")
_REIWA = 2018
"""The year before the first of the era Reiwa."""
_MIN_DIGITS = 2
"""Digits of a date: 1. 2. 令和元年 has two."""
_CENTURY = 70
"""Years of two digits below this are of the 2000s."""


class Dates:
    """A day. Its readings are `datetime.date`; numbers that may be day or month are read day first."""

    name = "date"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds dates. A time behind a date does not belong to it."""
        found: list[ParsedValue] = []
        if sum(map(str.isdigit, text)) < _MIN_DIGITS:
            return found
        for value in sorted(_all(plain(text)), key=lambda value: (value.start, -value.end)):
            if not found or value.start >= found[-1].end:
                found.append(value)
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """ISO 8601."""
        return str(value.readings[0])


def _all(text: str) -> Iterator[ParsedValue]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            part = match.groupdict()
            month = int(part["month"]) if "month" in part else _MONTH_OF[part["name"].lower()]
            days = _days(part.get("year") or _of_reiwa(part["reiwa"]), [(month, int(part["day"]))])
            if days and _stands_alone(text, match):
                yield ParsedValue(days, match.start(), match.end())
    for match in _NUMBERS.finditer(text):
        first, second = int(match["a"]), int(match["b"])
        days = _days(match["year"], [(second, first), (first, second)])
        if days and _stands_alone(text, match) and not _is_address(text, match):
            yield ParsedValue(days, match.start(), match.end())


def _is_address(text: str, match: re.Match[str]) -> bool:
    """Whether the numbers are of a block and a house in Japan: 東京都港区中央6-11-28."""
    before = text[max(0, match.start() - 1) : match.start()]
    return match["mark"] == "-" and len(match["year"]) == 2 and _TOWN.match(before) is not None


def _of_reiwa(year: str) -> str:
    """The year of a Japanese era's year; the first is written 元."""
    return str(_REIWA + (1 if year == "元" else int(year)))


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Whether a slash beside the date parts it from another value: then its year has four digits, or it has points."""
    if match.groupdict().get("mark") == "." and _NUMBERED.search(text[: match.start()]):
        return True
    beside = text[max(0, match.start() - 1) : match.start()] + text[match.end() : match.end() + 1]
    return "/" not in beside or len(match.groupdict().get("year") or "") == len("2025")


def _days(year: str, months_and_days: list[tuple[int, int]]) -> tuple[date, ...]:
    """The days that exist, each once."""
    number = int(year.lstrip("'"))
    if number < 100:
        number += 2000 if number < _CENTURY else 1900
    days: list[date] = []
    for month, day in months_and_days:
        try:
            found = date(number, month, day)
        except ValueError:
            continue
        if found not in days:
            days.append(found)
    return tuple(days)
