"""Numbers in the cells of tables, and what only looks like them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[-\u2212+])?"
    r"(?P<digits>\d{1,3}(?:[ \u00a0\u202f,.']\d{3})+|\d+)"
    r"(?:(?P<mark>[.,])(?P<rest>\d+))?"
    r"(?P<percent>\s?%)?(?P<close>\))?"
)
_MAX_DIGITS = 15
"""A spreadsheet keeps no more: longer numbers are identifiers."""
_FORMULA = re.compile("[\\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*[=+@\\-\u2212\uff1d\uff0b\uff0d\uff20]")
"""The signs may stand behind what can't be seen, and be fullwidth: spreadsheets skip the one and accept the other."""
_SYMBOL = r"[$\u00a2-\u00a5\u20a0-\u20cf\u5143\u5186]"
_NO_FORMULA = re.compile(
    r"[-\u2212+\s]*|\s*\+\d[\d\s()]*"  # dashes; a telephone number
    r"|(?!\s*(?:[-\u2212+]\D*){2})\s*[-\u2212+]?\s?"  # one sign
    rf"(?:{_SYMBOL}\s?|[A-Z]{{3}}\s(?=\d))?{_NUMBER.pattern}(?:\s?(?:{_SYMBOL}|[A-Z]{{3}}))?\s*"
)
"""What people write behind a sign: `-12.50 EUR`, `-$5`, `+49 30 1234567`, or a bare dash for nothing."""
_GROUPED = re.compile(r"\d{1,3}(?P<mark>[.,])\d{3}")


@dataclass(frozen=True, slots=True)
class CellNumber:
    """A number. `decimals`: digits that were printed behind the point. `percent`: printed as a percentage; `value` is
    then a hundredth of what is printed.
    """

    value: float
    decimals: int
    percent: bool = False
    grouped: bool = False


def is_number(text: str) -> bool:
    """Whether the text is a number in any notation."""
    return _NUMBER.fullmatch(text) is not None


def is_formula(text: str) -> bool:
    """Whether a spreadsheet might take the text for a formula. Numbers, amounts and bare dashes are none."""
    return _FORMULA.match(text) is not None and _NO_FORMULA.fullmatch(text) is None


def decimal_mark(texts: Iterable[str]) -> str:
    """The decimal mark of a table's numbers, `.` or `,`; empty if none shows it."""
    votes = {".": 0, ",": 0}
    for text in texts:
        found = _NUMBER.fullmatch(text.strip())
        if found is None:
            continue
        groups = set(re.findall(r"[.,]", found["digits"]))
        mark = found["mark"]
        if mark and (mark not in groups) and (groups or len(found["rest"]) != 3 or found["digits"] == "0"):
            votes[mark] += 1
        elif not mark and len(groups) == 1 and len(re.findall(r"[.,]", found["digits"])) > 1:
            votes["," if "." in groups else "."] += 1
    if votes["."] == votes[","]:
        return ""
    return "." if votes["."] > votes[","] else ","


def number_of(text: str, mark: str) -> CellNumber | None:
    """The number that `text` is; None if it is none, may be an identifier, or could be two numbers.

    `mark`: of the table, see `decimal_mark`. Without one, `1,234` is a thousand and more, and `1.234` could be both.
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["open"] and found["sign"]):
        return None
    digits, rest, printed = found["digits"], found["rest"] or "", found["mark"] or ""
    grouping = set(re.findall(r"[^\d]", digits))
    if len(grouping) > 1 or (printed and printed in grouping):
        return None
    if _GROUPED.fullmatch(digits) and not printed:
        group = grouping.pop()
        if group == "." and not mark:
            return None
        if group == mark:
            digits, rest = digits.split(group)
    elif (printed and mark and printed != mark) or (mark and mark in grouping):
        return None
    whole = re.sub(r"\D", "", digits)
    if len(whole) + len(rest) > _MAX_DIGITS or (whole.startswith("0") and len(whole) > 1):
        return None
    value = float(f"{whole}.{rest or 0}")
    negative = found["open"] or found["sign"] in {"-", "\u2212"}
    percent = found["percent"] is not None
    value = value / 100 if percent else value
    return CellNumber(-value if negative else value, len(rest), percent, whole != digits)
