"""Values of documents as values of database columns: exactly, or not at all.

A value that does not fit its column's type is an error. Nothing is cut off, rounded or left out.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import types
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.types import TypeEngine

from inkgate_client.codec import encodable

ColumnValue = Callable[[object], object]
"""Turns a value, never None, into one that can be bound. Raises ValueError saying why it doesn't fit."""

T = TypeVar("T")

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,200}(\.[0-9]{0,200})?|\.[0-9]{1,200})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATETIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_MAX_SHOWN = 60


def column_of(kind: TypeEngine[object], dialect: str) -> ColumnValue | None:
    """How values become values of a reflected type; None if the type is not supported. `dialect`: SQLAlchemy's name."""
    if isinstance(kind, DOMAIN):
        return column_of(kind.data_type, dialect)
    return next((make(kind, dialect) for each, make in _KINDS if isinstance(kind, each)), None)


def shown(value: object) -> str:
    """The value, quoted and shortened, for messages."""
    text = str(value)
    return f"`{text[:_MAX_SHOWN]}...`" if len(text) > _MAX_SHOWN else f"`{text}`"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str | int | float | Decimal):
        text = encodable(str(value))
        if "\0" in text:
            raise ValueError("it has a NUL character, which the column can't hold")
        return text
    raise ValueError(f"{shown(value)} is a list or an object, not text")


def _text_of(length: int | None, *, padded: bool) -> ColumnValue:
    def column(value: object) -> str:
        text = _text(value)
        if length is not None and len(text) > length:
            raise ValueError(f"it has {len(text):,} characters; the column holds {length:,}")
        if padded and text.endswith(" "):
            raise ValueError("it ends with a space, which a column of fixed length forgets")
        return text

    return column


def _one_of(names: Sequence[str]) -> ColumnValue:
    def column(value: object) -> str:
        text = _text(value)
        if text not in names:
            raise ValueError(f"{shown(text)} is none of {', '.join(names)}")
        return text

    return column


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise ValueError(f"{shown(value)} is neither true nor false")


def _bits(kind: types.Integer, dialect: str) -> int:
    if isinstance(kind, types.BigInteger) or dialect == "sqlite":  # SQLite's integers all have 64
        return 64
    return 16 if isinstance(kind, types.SmallInteger) else 32


def _integer_of(bits: int) -> ColumnValue:
    most = 2 ** (bits - 1)

    def column(value: object) -> int:
        number: int | None = None
        if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            number = int(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        if number is None:
            raise ValueError(f"{shown(value)} is not a whole number")
        if not -most <= number < most:
            raise ValueError(f"{shown(value)} is outside of the column's range")
        return number

    return column


def _decimal(value: object) -> Decimal:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    raise ValueError(f"{shown(value)} is not a number")


def _numeric_of(precision: int | None, scale: int | None, *, as_text: bool) -> ColumnValue:
    def column(value: object) -> Decimal | str:
        number = _decimal(value)
        _, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)  # noqa: S101 - it is finite
        significant = len("".join(map(str, digits)).rstrip("0"))
        places = max(0, -exponent - (len(digits) - significant)) if any(digits) else 0
        if precision is not None:
            if places > (scale or 0):
                raise ValueError(f"{shown(value)} has {places} digits after the point; the column holds {scale or 0}")
            if number.adjusted() >= precision - (scale or 0) and any(digits):
                raise ValueError(f"{shown(value)} is outside of the column's range")
        # SQLAlchemy would bind a float for SQLite.
        return f"{number:f}" if as_text else number

    return column


def _float(value: object) -> float:
    number = float(_decimal(value))
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is outside of the column's range")
    return number


def _date(value: object) -> date:
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        return _checked(date.fromisoformat, value)
    raise ValueError(f"{shown(value)} is not a date such as 2026-11-23")


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and (_DATETIME.fullmatch(value.strip()) or _DATE.fullmatch(value.strip())):
        return _checked(datetime.fromisoformat, value)
    raise ValueError(f"{shown(value)} is not a time such as 2026-11-23T17:40:00")


def _zoned(value: object) -> datetime:
    moment = _moment(value)
    if moment.tzinfo is None:
        raise ValueError(f"{shown(value)} has no time zone, which the column needs")
    return moment


def _unzoned(value: object) -> datetime:
    moment = _moment(value)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _time(value: object) -> time:
    if isinstance(value, str) and _TIME.fullmatch(value.strip()):
        return _checked(time.fromisoformat, value)
    raise ValueError(f"{shown(value)} is not a time of day such as 17:40")


def _uuid(value: object) -> uuid.UUID:
    if isinstance(value, str):
        return _checked(uuid.UUID, value)
    raise ValueError(f"{shown(value)} is not a UUID")


def _checked(parse: Callable[[str], T], value: str) -> T:
    try:
        return parse(value.strip())
    except ValueError:
        raise ValueError(f"{shown(value)} does not exist") from None


def _json_of(dialect: str) -> ColumnValue:
    def column(value: object) -> object:
        plain = _plain(value)
        if dialect == "postgresql" and _has_nul(plain):
            raise ValueError("it has a NUL character, which the column can't hold")
        return plain

    return column


def _plain(value: object) -> object:
    """The value as JSON has it."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {encodable(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown(value)} is not a number of JSON")
    return value.isoformat() if isinstance(value, datetime) else value


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(name) or _has_nul(item) for name, item in value.items())
    return isinstance(value, list) and any(_has_nul(item) for item in value)


_KINDS: tuple[tuple[type[TypeEngine[Any]], Callable[[Any, str], ColumnValue]], ...] = (
    (types.Enum, lambda kind, _: _one_of(kind.enums)),
    (types.JSON, lambda _, dialect: _json_of(dialect)),
    (types.String, lambda kind, _: _text_of(kind.length, padded=isinstance(kind, types.CHAR))),
    (types.Boolean, lambda *_: _boolean),
    (types.Integer, lambda kind, dialect: _integer_of(_bits(kind, dialect))),
    (types.Float, lambda *_: _float),
    (types.Numeric, lambda kind, dialect: _numeric_of(kind.precision, kind.scale, as_text=dialect == "sqlite")),
    (types.DateTime, lambda kind, _: _zoned if kind.timezone else _unzoned),
    (types.Date, lambda *_: _date),
    (types.Time, lambda *_: _time),
    (types.Uuid, lambda *_: _uuid),
)
"""Subclasses before their base classes."""
