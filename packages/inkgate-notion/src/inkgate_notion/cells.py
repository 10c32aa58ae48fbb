"""Values of a row as Notion's columns have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from inkgate_client.formats.text import one_line, printable
from inkgate_notion.calls import Json

LONGEST_TEXT: Final = 2000
"""Maximum length of one piece of rich text, in UTF-16 code units, as JavaScript counts."""
MAX_PIECES: Final = 10
"""Maximum pieces of a text. Notion allows 100, but 500 KB a request."""
_LONGEST_OPTION = 100
_LONGEST_SHORT = 200
_EXACT_INTEGERS = 2**53


class ValueKind(StrEnum):
    """What a value is, which decides the type of a column that is made for it."""

    TEXT = "text"
    NUMBER = "number"
    SHARE = "share"
    DATE = "date"
    CHOICE = "choice"
    TRUTH = "truth"
    FILE = "file"


COLUMN_FOR: Final[Mapping[ValueKind, Json]] = {
    ValueKind.TEXT: {"rich_text": {}},
    ValueKind.NUMBER: {"number": {"format": "number"}},
    ValueKind.SHARE: {"number": {"format": "percent"}},
    ValueKind.DATE: {"date": {}},
    ValueKind.CHOICE: {"select": {}},
    ValueKind.TRUTH: {"checkbox": {}},
    ValueKind.FILE: {"files": {}},
}


def type_for(kind: ValueKind) -> str:
    """The type of a column that is made for such values."""
    return next(iter(COLUMN_FOR[kind]))


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value, None if there is none. `text`: how it is written in a column of text."""

    kind: ValueKind
    value: str | float | bool | None = None

    @property
    def text(self) -> str:
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return "" if self.value is None else printable(str(self.value))


def rich_text(text: str, most: int = MAX_PIECES) -> list[Json]:
    """`text` as pieces of the length that Notion allows; what is longer than `most` of them ends with an ellipsis."""
    found = pieces(printable(text))
    if len(found) > most:
        found = found[:most]
        found[-1] = found[-1][: LONGEST_TEXT // 2 - 1] + "…"
    return [{"type": "text", "text": {"content": piece}} for piece in found]


def pieces(text: str) -> list[str]:
    """`text`, cut where it is longer than Notion allows: behind a space if there is one near."""
    cut: list[str] = []
    at = 0
    while at < len(text):
        end = at + LONGEST_TEXT
        while (over := units(text[at:end]) - LONGEST_TEXT) > 0:
            end = min(end, len(text)) - (over + 1) // 2
        if end < len(text) and (space := text.rfind(" ", end - LONGEST_TEXT // 10, end)) > at:
            end = space + 1
        cut.append(text[at:end])
        at = end
    return cut


def units(text: str) -> int:
    """Returns the text's length in UTF-16 code units, as Notion counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def shortened(text: str, most: int) -> str:
    """The beginning of `text`, at most so many code units long."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def cell(column_type: str, value: RowValue) -> Json:
    """The value of a page's property. Raises ValueError: a column of this type can't hold this value exactly."""
    if value.kind is ValueKind.FILE:
        raise ValueError("is no column of files")
    return {column_type: _CELLS[column_type](value)}


def empty_cell(column_type: str) -> Json:
    """The property without a value."""
    return cell(column_type, RowValue(ValueKind.TEXT))


def can_hold(column_type: str, kind: ValueKind) -> bool:
    """Whether values of this kind may be written into columns of this type."""
    return column_type == "files" if kind is ValueKind.FILE else column_type in _CELLS


def _number(value: RowValue) -> int | float | None:
    if value.value is None or isinstance(value.value, bool):
        return None if value.value is None else int(value.value)
    try:
        exact = Decimal(str(value.value))
    except InvalidOperation as error:
        raise ValueError("is not a number") from error
    if not exact.is_finite():
        raise ValueError("is not a number")
    if exact == exact.to_integral_value() and abs(exact) <= _EXACT_INTEGERS:
        return int(exact)
    if Decimal(repr(float(exact))) != exact:
        raise ValueError("has more digits than Notion's numbers")
    return float(exact)


def _date(value: RowValue) -> Json | None:
    if not value.text:
        return None
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return {"start": read(value.text).isoformat()}
        except ValueError:
            continue
    raise ValueError("is not a date")


def _option(text: str) -> Json:
    """Notion allows no commas in the names of options."""
    name = one_line(text.replace(",", " "))
    if not name:
        raise ValueError("has nothing but commas")
    if units(name) > _LONGEST_OPTION:
        raise ValueError(f"has more than {_LONGEST_OPTION} characters")
    return {"name": name}


def _select(value: RowValue) -> Json | None:
    return _option(value.text) if value.text.strip() else None


def _short(most: int) -> Callable[[RowValue], str | None]:
    def short(value: RowValue) -> str | None:
        text = one_line(value.text)
        if units(text) > most:
            raise ValueError(f"has more than {most} characters")
        return text or None

    return short


def _checked(value: RowValue) -> bool:
    if value.value is None or isinstance(value.value, bool):
        return bool(value.value)
    raise ValueError("is neither true nor false")


_CELLS: Final[Mapping[str, Callable[[RowValue], Any]]] = {
    "number": _number,
    "date": _date,
    "select": _select,
    "multi_select": lambda value: [_option(value.text)] if value.text.strip() else [],
    "checkbox": _checked,
    "rich_text": lambda value: rich_text(value.text),
    "title": lambda value: rich_text(one_line(value.text), 1),
    "url": _short(LONGEST_TEXT),
    "email": _short(_LONGEST_SHORT),
    "phone_number": _short(_LONGEST_SHORT),
}
"""How values are written, by the type of the column."""
