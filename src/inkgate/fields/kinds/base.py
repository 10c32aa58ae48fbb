"""What all kinds of values have in common."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from inkgate_client.types import JsonValue


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """A value in a text.

    Attributes:
        readings: what the text may mean, the likeliest first, in a form that compares equal for equal values; several
            where the text is ambiguous (03/04/2018).
        start, end: its place in the text.
        decimals: digits printed behind the decimal mark.
        needs_label: whether the text alone doesn't tell that it is of this kind.
        unit: the currency of an amount as ISO 4217 code, `%` of a percentage; empty if none is printed.
    """

    readings: tuple[Hashable, ...]
    start: int
    end: int
    unit: str = ""
    decimals: int = 0
    needs_label: bool = False

    @property
    def ambiguous(self) -> bool:
        """Whether the text alone doesn't tell what it means."""
        return len(self.readings) > 1

    def agrees(self, other: ParsedValue) -> bool:
        """Whether both may mean the same. A unit that only one of them has is no contradiction."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        return not set(self.readings).isdisjoint(other.readings)


class _Plain(dict[int, int]):
    """Digits of all scripts, and full-width marks, as ASCII."""

    def __missing__(self, code: int) -> int:
        digit = unicodedata.decimal(chr(code), None)
        found = ord("0") + digit if digit is not None else _MARKS.get(code, code)
        if len(self) < _MAX_STORED:
            self[code] = found
        return found


_MARKS = {0xFF00 + low: 0x20 + low for low in range(1, 0x5F)} | {0x3000: 0x20, 0x66B: ord("."), 0x66C: ord(",")}
_MAX_STORED = 20_000
_PLAIN = _Plain()


def plain(text: str) -> str:
    """The text with digits of all scripts and full-width letters and marks as ASCII, character by character."""
    return text if text.isascii() else text.translate(_PLAIN)


class ValueKind(Protocol):
    """A kind of value: how it is written, and when two are the same."""

    @property
    def name(self) -> str: ...

    def find(self, text: str) -> list[ParsedValue]:
        """All values of this kind in a line of text, left to right, without overlaps."""
        ...

    def json(self, value: ParsedValue) -> JsonValue:
        """The likeliest reading, normalised, for JSON."""
        ...


def parse(kind: ValueKind, text: str) -> ParsedValue | None:
    """The value that `text` is, as somebody may have typed it; None if it isn't one value and nothing else."""
    found = kind.find(text)
    if len(found) != 1:
        return None
    rest = text[: found[0].start] + text[found[0].end :]
    return None if any(character.isalnum() for character in rest) else found[0]


def evident(kind: ValueKind, text: str) -> list[ParsedValue]:
    """The values of the kind that need no label."""
    return [value for value in kind.find(text) if not value.needs_label]
