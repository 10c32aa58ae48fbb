"""What Chinese papers print: numbers of identity cards (GB 11643) and of taxpayers (GB 32100), and 大写金额."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, cast

from stdnum.cn import uscc

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_ID = re.compile(r"(?<![0-9A-Za-z])(?:[0-9] ?){17}[0-9Xx](?![0-9A-Za-z])")
_MASKED = re.compile(r"(?<![0-9A-Za-z*])[0-9]{1,14} {0,2}\*{1,14} {0,2}[0-9]{0,4}[0-9Xx](?![0-9A-Za-z*])")
LENGTH, _MIN_FIRST = 18, 6
"""Characters of an identity number, and of the region that its unmasked beginning has at least."""


class ChineseIds:
    """A resident's identity number of 18 characters. Its check character need not hold."""

    name = "cn_id"

    def find(self, text: str) -> list[ParsedValue]:
        found = _ID.finditer(plain(text))
        return [ParsedValue((match[0].replace(" ", "").upper(),), match.start(), match.end()) for match in found]

    def json(self, value: ParsedValue) -> JsonValue:
        """The number without spaces."""
        return cast("str", value.readings[0])


class MaskedIds(ChineseIds):
    """An identity number, whole or with asterisks for some of its digits, as tickets have it."""

    name = "cn_id_masked"

    def find(self, text: str) -> list[ParsedValue]:
        masked = _MASKED.finditer(plain(text))
        found = [ParsedValue((whole_mask(each[0]),), each.start(), each.end()) for each in masked]
        return sorted([*super().find(text), *found], key=lambda value: value.start)


def whole_mask(text: str) -> str:
    """A masked number with as many asterisks as it lacks digits of 18, if it has its ends: OCR joins asterisks."""
    text = text.replace(" ", "").upper()
    first, last = text.partition("*")[0], text.rpartition("*")[2]
    missing = LENGTH - len(first) - len(last)
    return f"{first}{'*' * missing}{last}" if len(first) >= _MIN_FIRST and missing > 0 else text


_TAX_NUMBER = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Z]{18}|[0-9]{15}|[0-9A-Z]{20}|[0-9A-Z]{17})(?![0-9A-Za-z])")
_NO_SUCH_LETTERS: Final = str.maketrans("IOSZ", "1052")
"""GB 32100 leaves out these letters (and V), because they are confused with digits."""


class ChineseTaxNumbers:
    """A taxpayer's number: the unified social credit code of 18 characters (GB 32100), or one of the older numbers of
    15, 17 or 20. Its check character need not hold: `tax_number_holds` tells.
    """

    name = "cn_tax_number"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds tax numbers. Letters that no such number has are read as the digits that they resemble."""
        found = _TAX_NUMBER.finditer(plain(text))
        numbers = ((match, match[0].translate(_NO_SUCH_LETTERS)) for match in found)
        return [
            ParsedValue((number,), match.start(), match.end())
            for match, number in numbers
            if sum(map(str.isdigit, number)) >= _MIN_DIGITS
        ]

    def json(self, value: ParsedValue) -> JsonValue:
        """The number."""
        return cast("str", value.readings[0])


_MIN_DIGITS: Final = 8
"""The six digits of a place and two more: words of capitals are no numbers."""


def tax_number_holds(number: str) -> bool:
    """Whether the check character of a unified social credit code is right; older numbers have none."""
    if len(number) != LENGTH:
        return True
    try:
        return uscc.calc_check_digit(number) == number[-1]
    except ValueError:  # a letter that no such code has
        return False


_DIGITS: Final = {
    **{digit: value for value, digit in enumerate("零壹贰叁肆伍陆柒捌玖")},
    **{digit: value for value, digit in enumerate("〇一二三四五六七八九")},
    "貳": 2,
    "參": 3,
    "陸": 6,
    "两": 2,
}
_UNITS: Final = {"拾": 10, "十": 10, "佰": 100, "百": 100, "仟": 1000, "千": 1000}
_GROUPS: Final = {"亿": 10**8, "億": 10**8, "万": 10**4, "萬": 10**4}
_FRACTIONS: Final = {"角": Decimal("0.1"), "分": Decimal("0.01")}
_NUMERALS = "".join({*_DIGITS, *_UNITS, *_GROUPS})
_WORDS = re.compile(rf"[{_NUMERALS}]+[圆元圓](?:[{_NUMERALS}]+角)?(?:[{_NUMERALS}]+分)?[整正]?")


class ChineseAmounts:
    """An amount in words; its reading is a Decimal: 壹仟贰佰叁拾元肆角伍分 is 1230.45."""

    name = "cn_amount_words"

    def find(self, text: str) -> list[ParsedValue]:
        found = ((match, amount_of_words(match[0])) for match in _WORDS.finditer(text))
        return [
            ParsedValue((amount,), match.start(), match.end(), "CNY", 2)
            for match, amount in found
            if amount is not None
        ]

    def json(self, value: ParsedValue) -> JsonValue:
        """The amount with two decimals."""
        return f"{cast('Decimal', value.readings[0]):.2f}"


def amount_of_words(words: str) -> Decimal | None:
    """The amount; None if the words are none."""
    whole, mark, rest = words.rstrip("整正").translate(str.maketrans("圆圓", "元元")).partition("元")
    if not mark or (units := _whole(whole)) is None:
        return None
    amount = Decimal(units)
    for sign, worth in _FRACTIONS.items():
        digits, found, behind = rest.partition(sign)
        if found:
            digit = _DIGITS.get(digits.lstrip("零〇")) if digits else None
            if digit is None:
                return None
            amount, rest = amount + digit * worth, behind
    return None if rest.strip("零〇") else amount


def _whole(words: str) -> int | None:
    """Yuan: groups of 万 and 亿 of up to four digits."""
    total = group = 0
    digit: int | None = None
    for word in words:
        if word in _DIGITS:
            digit = _DIGITS[word]
        elif word in _UNITS:
            group += (1 if digit is None else digit) * _UNITS[word]
            digit = None
        else:
            group += digit or 0
            total, group, digit = (
                (total + group) * _GROUPS[word] if _GROUPS[word] > 10**4 else total + group * 10**4,
                0,
                None,
            )
    return total + group + (digit or 0) if words else None
