"""Identifiers that show what they are: numbers of bank cards and containers, telephones, addresses of the Internet."""

from __future__ import annotations

import re
from typing import Final, cast

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate.fields.kinds.dates import Dates
from inkgate_client.types import JsonValue

_CARD = re.compile(r"(?<!\w)\d(?:(?:  ?|-)?\d){11,18}(?!\w)")
_CONTAINER = re.compile(r"(?<![A-Z0-9])([A-Z0158]{3}[UJZ])[ -]?([0-9OIQSBZ]{6})[ /-]?([0-9OIQSBZ])(?![A-Z0-9])")
_OWNER: Final = str.maketrans("0158", "OISB")
_SERIAL: Final = str.maketrans("OQISBZ", "001582")
_MAX_CONFUSIONS: Final = 2
"""Letters of a container's serial number that OCR may have read for digits. More are a word."""
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}\s?@\s?[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}", re.ASCII)
_WEB = re.compile(
    r"(?<![\w@.-])(?:(?:https?://(?:www\.)?|www\.)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,5}"
    r"|(?:[a-z0-9-]{2,63}\.){1,3}(?:com|cn|net|org|de|eu|io|fr|nl|es|it|ch|at|uk|jp|info|biz|edu|gov)(?![\w@]|\.\w))"
    r"(?:/[\w./%~-]{0,200})?",
    re.IGNORECASE | re.ASCII,
)
_PHONE = re.compile(
    r"(?<![\w.@/-])\+?\(?\d{1,12}\)?(?:(?:[ .-]{1,2}|(?<=\)))\(?\d{1,9}\)?){0,6}(?![\w@/])",
)
_TRUNK_PREFIX = re.compile(r"(?<=\d)\s?\(0\)")
_EXTENSION = re.compile(r"-(\d{1,4})$")
_LONGEST_WITH_TRUNK: Final = 12
"""Digits of a national number; what follows behind a hyphen is an extension."""
_MIN_PHONE, _MAX_PHONE = 7, 15
"""Digits of a telephone number (E.164: 15 at most)."""


class CardNumbers:
    """A bank card's number of 12 to 19 digits (ISO/IEC 7812). Its check digit need not hold."""

    name = "bank_card"

    def find(self, text: str) -> list[ParsedValue]:
        found = _CARD.finditer(plain(text))
        return [ParsedValue((re.sub(r"\D", "", each[0]),), each.start(), each.end()) for each in found]

    def json(self, value: ParsedValue) -> JsonValue:
        """The digits."""
        return cast("str", value.readings[0])


class ContainerNumbers:
    """A freight container's number (ISO 6346): four letters and seven digits. The last, a check digit, need not
    hold.

    Letters and digits that OCR confuses are told apart by their place; a digit never becomes another digit.
    """

    name = "container"

    def find(self, text: str) -> list[ParsedValue]:
        found = []
        for match in _CONTAINER.finditer(plain(text)):
            serial = match[2] + match[3]
            if sum(map(str.isalpha, serial)) <= _MAX_CONFUSIONS:
                number = match[1].translate(_OWNER) + serial.translate(_SERIAL)
                found.append(ParsedValue((number,), match.start(), match.end()))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """Letters and digits."""
        return cast("str", value.readings[0])


class MailAddresses:
    """An e-mail address, in lower case."""

    name = "email"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds mail addresses. A space beside the @ is a misreading."""
        found = _MAIL.finditer(plain(text))
        return [ParsedValue((re.sub(r"\s", "", each[0]).lower(),), each.start(), each.end()) for each in found]

    def json(self, value: ParsedValue) -> JsonValue:
        """The address."""
        return cast("str", value.readings[0])


class WebAddresses:
    """The address of a website, in lower case, with `http`, `www` or a usual domain."""

    name = "web"

    def find(self, text: str) -> list[ParsedValue]:
        found = _WEB.finditer(plain(text))
        return [ParsedValue((each[0].lower().rstrip("/."),), each.start(), each.end()) for each in found]

    def json(self, value: ParsedValue) -> JsonValue:
        """The address."""
        return cast("str", value.readings[0])


class PhoneNumbers:
    """A telephone number: its digits, with a plus at the beginning if one is printed."""

    name = "phone_number"

    def find(self, text: str) -> list[ParsedValue]:
        """Finds telephone numbers. Dates are none."""
        text = plain(text)
        days = [(day.start, day.end) for day in Dates().find(text)]
        found = []
        for match in _PHONE.finditer(text):
            number = re.sub(r"[^\d+]", "", _TRUNK_PREFIX.sub("", match[0]))
            if (
                not number.startswith("+")
                and len(number) > _LONGEST_WITH_TRUNK
                and (own := _EXTENSION.search(match[0]))
            ):
                number = number[: -len(own[1])]
            is_day = any(start < match.end() and match.start() < end for start, end in days)
            if not is_day and _MIN_PHONE <= len(number.lstrip("+")) <= _MAX_PHONE:
                found.append(ParsedValue((number,), match.start(), match.end()))
        return found

    def json(self, value: ParsedValue) -> JsonValue:
        """The digits."""
        return cast("str", value.readings[0])
