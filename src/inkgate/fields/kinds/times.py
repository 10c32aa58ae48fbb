"""Times of day: 18:29, 8:13:39 PM, 05:10:PM, 13 : 58, 18h29, 18时29分."""

from __future__ import annotations

import re
from datetime import time
from typing import cast

from inkgate.fields.kinds.base import JsonValue, ParsedValue, plain

_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])\s?(?:[:：]|h|时|時)\s?(?P<minute>[0-5]\d)(?:分)?"
    r"(?:\s?[:：]\s?(?P<second>[0-5]\d))?(?:\s?:?\s?(?P<half>[ap]\.?\s?m\b\.?))?(?![\d:])",
    re.IGNORECASE,
)


class Times:
    """A time of day; readings are `datetime.time`."""

    name = "time"

    def find(self, text: str) -> list[ParsedValue]:
        """As ValueKind.find."""
        return [value for match in _TIME.finditer(plain(text)) if (value := _value(match)) is not None]

    def json(self, value: ParsedValue) -> JsonValue:
        """`18:29` or `18:29:05`."""
        found = cast("time", value.readings[0])
        return found.strftime("%H:%M:%S" if found.second else "%H:%M")


def _value(match: re.Match[str]) -> ParsedValue | None:
    hour = int(match["hour"])
    half = (match["half"] or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    end = match.start() + len(match[0].rstrip())
    return ParsedValue((time(hour, int(match["minute"]), int(match["second"] or 0)),), match.start(), end)
