"""Times of day: 18:29, 8:13:39 PM, 05:10:PM, 13 : 58, 18h29, 18时29分, 下午2时."""

from __future__ import annotations

import re
from datetime import time
from typing import cast

from inkgate.fields.kinds.base import ParsedValue, plain
from inkgate_client.types import JsonValue

_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])\s?(?:[:：]|h|时|時)\s?(?P<minute>[0-5]\d)(?:分)?"
    r"(?:\s?[:：]\s?(?P<second>[0-5]\d))?(?:\s?:?\s?(?P<half>[ap]\.?\s?m\b\.?))?(?![\d:])",
    re.IGNORECASE,
)

_CHINESE = re.compile(
    r"(?<![\d:.])(?P<part>凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)\s?(?P<hour>[01]?\d|2[0-3])\s?(?:[时時点點]|[:：](?=\d\d))"
    r"(?:(?P<half>半)|(?P<minute>[0-5]?\d)分?)?整?(?![\d:])"
)
"""Times with the part of the day, which tells whether an hour is after noon."""
_AFTER_NOON = frozenset({"下午", "傍晚", "晚上"})


class Times:
    """A time of day; readings are `datetime.time`."""

    name = "time"

    def find(self, text: str) -> list[ParsedValue]:
        text = plain(text)
        chinese = [_of_part(match) for match in _CHINESE.finditer(text)]
        others = (value for match in _TIME.finditer(text) if (value := _value(match)) is not None)
        found = [each for each in others if not any(part.start <= each.start < part.end for part in chinese)]
        return sorted([*chinese, *found], key=lambda value: value.start)

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


def _of_part(match: re.Match[str]) -> ParsedValue:
    hour, minute = int(match["hour"]), 30 if match["half"] else int(match["minute"] or 0)
    late = (match["part"] in _AFTER_NOON and hour < 12) or (match["part"] == "中午" and hour < 3)
    return ParsedValue((time(hour + 12 if late else hour, minute),), match.start(), match.end())
