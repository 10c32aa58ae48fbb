"""Machine-readable zones of passports, identity cards and visas (ICAO Doc 9303, parts 3 to 7).

Letters and digits that OCR confuses are told apart by their position: a date has digits, a country letters. A digit
never becomes another digit, so a wrong number stays wrong, and its check digit says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Final

from inkgate_client.concurrency import pause
from inkgate_client.types import PageResult

_TO_DIGITS: Final = str.maketrans("OQDILZSBG", "000112586")
_CONFUSIONS: Final = {"O": "0", "Q": "0", "D": "0", "I": "1", "Z": "2", "S": "5", "B": "8"}
"""Letters in a number that may be digits. Not L and G: a check digit is the same with 1 and 6 instead."""
_TO_LETTERS: Final = str.maketrans("012568", "OIZSGB")
_FILLERS: Final = str.maketrans({"«": "<<", "‹": "<", "≤": "<", "＜": "<", "Λ": "<", " ": None})
_K_FOR_FILLERS = re.compile(r"<[K<]{2,}$")
"""OCR reads fillers as K; no check digit covers names."""
_AMONG_FILLERS = re.compile(r"(?<=<)[^A-Z0-9<](?=<|$)")
"""A letter of another alphabet among fillers is one of them."""
_LINE = re.compile(r"[A-Z0-9<]+")
_WEIGHTS: Final = (7, 3, 1)
_SLACK: Final = 2
"""Fillers at the end of a line that OCR may miss or add."""
_CENTURIES: Final = (2000, 1900)
_LONGEST: Final = 100
"""Maximum length in characters: longer lines are none of a zone."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """A form of the zone: its lines' length and number, and the places (line, start, end) of its parts."""

    name: str
    length: int
    lines: int
    parts: Mapping[str, tuple[int, int, int]]
    composite: tuple[tuple[int, int, int], ...]


_TD3 = _Layout(
    "TD3",
    44,
    2,
    {
        "issuing_country": (0, 2, 5),
        "names": (0, 5, 44),
        "number": (1, 0, 9),
        "number_check": (1, 9, 10),
        "nationality": (1, 10, 13),
        "birth": (1, 13, 19),
        "birth_check": (1, 19, 20),
        "sex": (1, 20, 21),
        "expiry": (1, 21, 27),
        "expiry_check": (1, 27, 28),
        "personal": (1, 28, 42),
        "personal_check": (1, 42, 43),
        "composite_check": (1, 43, 44),
    },
    ((1, 0, 10), (1, 13, 20), (1, 21, 43)),
)
_TD2 = _Layout(
    "TD2",
    36,
    2,
    {
        "issuing_country": (0, 2, 5),
        "names": (0, 5, 36),
        "number": (1, 0, 9),
        "number_check": (1, 9, 10),
        "nationality": (1, 10, 13),
        "birth": (1, 13, 19),
        "birth_check": (1, 19, 20),
        "sex": (1, 20, 21),
        "expiry": (1, 21, 27),
        "expiry_check": (1, 27, 28),
        "composite_check": (1, 35, 36),
    },
    ((1, 0, 10), (1, 13, 20), (1, 21, 35)),
)
_TD1 = _Layout(
    "TD1",
    30,
    3,
    {
        "issuing_country": (0, 2, 5),
        "number": (0, 5, 14),
        "number_check": (0, 14, 15),
        "birth": (1, 0, 6),
        "birth_check": (1, 6, 7),
        "sex": (1, 7, 8),
        "expiry": (1, 8, 14),
        "expiry_check": (1, 14, 15),
        "nationality": (1, 15, 18),
        "composite_check": (1, 29, 30),
        "names": (2, 0, 30),
    },
    ((0, 5, 30), (1, 0, 7), (1, 8, 15), (1, 18, 29)),
)
_LAYOUTS: Final = (_TD3, _TD2, _TD1)
_FIRST: Final = {"TD3": "PV", "TD2": "ACIPV", "TD1": "ACI"}
"""Letters with which the first line begins. Visas have the layout of a passport or of TD2, and no composite digit."""


@dataclass(frozen=True, slots=True)
class Mrz:
    """A zone.

    Attributes:
        layout: `TD1`, `TD2`, `TD3`.
        values: `surname`, `given_names`, `number`, `nationality`, `issuing_country`, `birth_date` and `expiry_date`
            (ISO 8601), `sex` (`M`, `F`), `personal_number`; without those that are empty or can't be read.
        checks: whether the check digits hold: of `number`, `birth_date`, `expiry_date`, `personal_number`, and all
            (`composite`).
        page: index of the page.
        lines: indexes of the zone's lines.
    """

    layout: str
    values: Mapping[str, str]
    checks: Mapping[str, bool]
    page: int
    lines: tuple[int, ...]

    @property
    def valid(self) -> bool:
        """Whether all check digits hold."""
        return all(self.checks.values())


def find_mrz(pages: Sequence[PageResult]) -> Mrz | None:
    """The first zone all of whose check digits hold, else the one with the most that do; None without any."""
    found = [zone for page in pages for zone in _zones(page)]
    best = max(found, key=lambda zone: sum(zone.checks.values()), default=None)
    return best if best is not None and any(best.checks.values()) else None


def _zones(page: PageResult) -> Iterator[Mrz]:
    cleaned = [(index, _cleaned(line.text)) for index, line in enumerate(page.lines) if len(line.text) <= _LONGEST]
    candidates = [(index, text) for index, text in cleaned if text]
    for layout in _LAYOUTS:
        fitting = [(at, fitted) for at, text in candidates if (fitted := _fitted(text, layout.length))]
        for start in range(len(fitting) - layout.lines + 1):
            pause()
            zone = fitting[start : start + layout.lines]
            near = all(second - first <= _SLACK for (first, _), (second, _) in pairwise(zone))
            texts = [text for _, text in zone]
            texts[0] = texts[0][0].translate(_TO_LETTERS) + texts[0][1:]
            if near and texts[0][0] in _FIRST[layout.name]:
                yield _read(layout, texts, page.index, tuple(at for at, _ in zone))


def _cleaned(text: str) -> str:
    """The line in the zone's alphabet; empty if it is none of a zone."""
    line = _AMONG_FILLERS.sub("<", text.translate(_FILLERS).upper())
    return line if "<" in line and _LINE.fullmatch(line) else ""


def _fitted(line: str, length: int) -> str:
    """The line with as many fillers at its end as it needs; empty if it isn't of this length."""
    if len(line) == length:
        return line
    if not 0 < abs(len(line) - length) <= _SLACK:
        return ""
    if len(line) > length:
        return line[:length] if set(line[length:]) == {"<"} else ""
    return line.ljust(length, "<") if line.endswith("<<") else ""


def _read(layout: _Layout, lines: Sequence[str], page: int, indexes: tuple[int, ...]) -> Mrz:
    parts = {name: lines[line][start:end] for name, (line, start, end) in layout.parts.items()}
    for name in ("birth", "expiry", "number_check", "birth_check", "expiry_check", "composite_check"):
        parts[name] = parts[name].translate(_TO_DIGITS)
    for name in ("issuing_country", "nationality", "names"):
        parts[name] = parts[name].translate(_TO_LETTERS)
    names = parts["names"]
    parts["names"] = _K_FOR_FILLERS.sub("", names).ljust(len(names), "<")
    visa = lines[0].startswith("V")
    if not _holds(parts["number"], parts["number_check"]):
        found = [each for each in _confusions(parts["number"]) if _holds(each, parts["number_check"])]
        found = [each for each in found if visa or _composite_holds(layout, {**parts, "number": each}, lines)]
        parts["number"] = found[0] if len(found) == 1 else parts["number"]
    number, check = _long_number(layout, parts, lines)
    checks = {
        "number": _holds(number, check),
        "birth_date": _holds(parts["birth"], parts["birth_check"]),
        "expiry_date": _holds(parts["expiry"], parts["expiry_check"]),
    }
    if visa:
        parts.pop("personal", None)  # data without a check digit
    elif "personal" in parts:
        empty = not parts["personal"].strip("<")
        check_digit = parts["personal_check"].translate(_TO_DIGITS)
        checks["personal_number"] = (empty and check_digit in "<0") or _holds(parts["personal"], check_digit)
    if not visa:
        checks["composite"] = _composite_holds(layout, parts, lines)
    return Mrz(layout.name, _values({**parts, "number": number}), checks, page, indexes)


def _confusions(number: str) -> list[str]:
    """The number with one letter as the digit that looks like it."""
    places = (at for at, letter in enumerate(number) if letter in _CONFUSIONS)
    return [number[:at] + _CONFUSIONS[number[at]] + number[at + 1 :] for at in places]


def _long_number(layout: _Layout, parts: Mapping[str, str], lines: Sequence[str]) -> tuple[str, str]:
    """The number and its check digit. Those of a TD1 card that are longer than nine go on in the optional data."""
    rest = lines[0][15:30].partition("<")[0] if layout.name == "TD1" else ""
    if parts["number_check"] != "<" or len(rest) < 2:
        return parts["number"], parts["number_check"]
    return parts["number"] + rest[:-1], rest[-1]


def _composite_holds(layout: _Layout, parts: Mapping[str, str], lines: Sequence[str]) -> bool:
    joined = _joined(layout, parts, lines)
    text = "".join(joined[line][start:end] for line, start, end in layout.composite)
    return _holds(text, parts["composite_check"])


def _joined(layout: _Layout, parts: Mapping[str, str], lines: Sequence[str]) -> list[str]:
    """The lines with the parts put back."""
    joined = list(lines)
    for name, (line, start, end) in layout.parts.items():
        joined[line] = joined[line][:start] + parts[name] + joined[line][end:]
    return joined


def _values(parts: Mapping[str, str]) -> dict[str, str]:
    surname, _, given = parts["names"].partition("<<")
    expiry = _expiry(parts["expiry"])
    found = {
        "surname": _words(surname),
        "given_names": _words(given),
        "number": parts["number"].strip("<"),
        "nationality": parts["nationality"].strip("<"),
        "issuing_country": parts["issuing_country"].strip("<"),
        "birth_date": _birth(parts["birth"], expiry),
        "expiry_date": expiry,
        "sex": parts["sex"] if parts["sex"] in {"M", "F"} else "",
        "personal_number": parts.get("personal", "").strip("<"),
    }
    return {name: value for name, value in found.items() if value}


def _words(text: str) -> str:
    return " ".join(text.replace("<", " ").split())


def _birth(text: str, expiry: str) -> str:
    """The date of birth: the latest that is neither in the future nor behind the paper's expiry."""
    latest = min(_today().isoformat(), expiry or "9")
    return next((day for century in _CENTURIES if (day := _date(text, century)) and day <= latest), "")


def _expiry(text: str) -> str:
    """The date of expiry: that of the century in which it is nearest to today, since papers last some ten years."""
    days = (day for century in _CENTURIES if (day := _date(text, century)))
    return min(days, key=lambda day: abs(date.fromisoformat(day) - _today()), default="")


def _today() -> date:
    return datetime.now(UTC).date()


def _date(text: str, century: int) -> str:
    """YYMMDD as ISO 8601; empty if it is no date."""
    if not text.isdigit() or not text.isascii():
        return ""
    try:
        return date(century + int(text[:2]), int(text[2:4]), int(text[4:])).isoformat()
    except ValueError:
        return ""


def _holds(text: str, digit: str) -> bool:
    """Whether the check digit is the text's."""
    total = sum(_value(letter) * _WEIGHTS[at % 3] for at, letter in enumerate(text))
    return digit.isdigit() and total % 10 == int(digit)


def _value(letter: str) -> int:
    return 0 if letter == "<" else int(letter, 36)
