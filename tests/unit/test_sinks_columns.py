"""Values as database columns: exactly, or not at all."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import types
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

from inkgate.jobs.sinks.columns import column_of

NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def convert(kind: TypeEngine[Any], value: object, dialect: str = "postgresql") -> object:
    column = column_of(kind, dialect)
    assert column is not None
    return column(value)


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        (types.Text(), "a\nb", "a\nb"),
        (types.Text(), 12.5, "12.5"),
        (types.Text(), True, "true"),
        (types.Text(), "\ud800", "\ufffd"),
        (types.String(3), "äöü", "äöü"),
        (types.Integer(), "42", 42),
        (types.Integer(), " -42 ", -42),
        (types.Integer(), 12.0, 12),
        (types.Integer(), 2**31 - 1, 2**31 - 1),
        (types.SmallInteger(), "-32768", -32768),
        (types.BigInteger(), 2**63 - 1, 2**63 - 1),
        (types.Numeric(5, 2), "123.45", Decimal("123.45")),
        (types.Numeric(5, 2), "123.4500", Decimal("123.4500")),
        (types.Numeric(5, 2), 0.1, Decimal("0.1")),
        (types.Numeric(5, 2), "0", Decimal(0)),
        (types.Numeric(2, 2), ".25", Decimal("0.25")),
        (types.Numeric(5, 0), 100.0, Decimal("100.0")),
        (types.Numeric(), "1" * 50 + ".5", Decimal("1" * 50 + ".5")),
        (types.Float(), "2.5", 2.5),
        (types.Boolean(), "TRUE", True),
        (types.Boolean(), False, False),
        (types.Date(), "2026-11-23", date(2026, 11, 23)),
        (types.Time(), "17:40", time(17, 40)),
        (types.DateTime(), "2026-11-23 12:00", datetime(2026, 11, 23, 12, 0)),  # noqa: DTZ001 - the column has none
        (types.DateTime(), NOON, NOON.replace(tzinfo=None)),
        (types.DateTime(), "2026-11-23T14:00:00+02:00", NOON.replace(tzinfo=None)),
        (types.DateTime(timezone=True), "2026-11-23T12:00:00Z", NOON),
        (types.Uuid(), "12345678123456781234567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (types.JSON(), {"a": [1, None, "\udfff"]}, {"a": [1, None, "\ufffd"]}),
        (types.Enum("cash", "card"), "cash", "cash"),
        (postgresql.DOMAIN("money_amount", types.Numeric(5, 2)), "1.50", Decimal("1.50")),
    ],
)
def test_value_fits(kind: TypeEngine[Any], value: object, bound: object) -> None:
    assert convert(kind, value) == bound


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (types.String(3), "abcd", "4 characters; the column holds 3"),
        (types.CHAR(3), "a ", "ends with a space"),
        (types.Text(), "a\0b", "NUL"),
        (types.Text(), ["a"], "list"),
        (types.Text(), {"a": 1}, "object"),
        (types.Integer(), "12.5", "whole number"),
        (types.Integer(), 12.5, "whole number"),
        (types.Integer(), True, "whole number"),
        (types.Integer(), "", "whole number"),
        (types.Integer(), "1e3", "whole number"),
        (types.Integer(), "١٢", "whole number"),
        (types.Integer(), 2**31, "range"),
        (types.SmallInteger(), "32768", "range"),
        (types.BigInteger(), "9" * 30, "range"),
        (types.Integer(), "9" * 100_000, "whole number"),
        (types.Numeric(5, 2), "1000", "range"),
        (types.Numeric(5, 2), "0.125", "3 digits after the point; the column holds 2"),
        (types.Numeric(5, 2), "12,50", "not a number"),
        (types.Numeric(5, 2), "$12.50", "not a number"),
        (types.Numeric(5, 2), "NaN", "not a number"),
        (types.Numeric(5, 2), "Infinity", "not a number"),
        (types.Numeric(5, 2), float("nan"), "not a number"),
        (types.Numeric(5, 2), "1e2", "not a number"),
        (types.Numeric(5, 2), "1_000", "not a number"),
        (types.Numeric(5, 2), False, "not a number"),
        (types.Float(), "1" * 150 + "0" * 190, "not a number"),
        (types.Float(), 10**400, "range"),
        (types.Boolean(), "yes", "neither"),
        (types.Boolean(), 1, "neither"),
        (types.Date(), "23.11.2026", "not a date"),
        (types.Date(), "2026-02-30", "does not exist"),
        (types.Date(), NOON, "not a date"),
        (types.Date(), "2026-W48-1", "not a date"),
        (types.Time(), "25:00", "does not exist"),
        (types.DateTime(timezone=True), "2026-11-23 12:00", "no time zone"),
        (types.DateTime(), "yesterday", "not a time"),
        (types.Uuid(), "12", "does not exist"),
        (types.JSON(), {"a": "\0"}, "NUL"),
        (types.JSON(), float("inf"), "not a number of JSON"),
        (types.Enum("cash", "card"), "cheque", "none of cash, card"),
    ],
)
def test_value_does_not_fit(kind: TypeEngine[Any], value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        convert(kind, value)


@pytest.mark.parametrize("kind", [types.LargeBinary(), types.NullType(), types.ARRAY(types.Text()), types.Interval()])
def test_type_is_not_supported(kind: TypeEngine[Any]) -> None:
    assert column_of(kind, "postgresql") is None


def test_sqlite_gets_decimals_as_text() -> None:
    assert (
        convert(types.Numeric(30, 10), "12345678901234567890.0123456789", "sqlite") == "12345678901234567890.0123456789"
    )
    assert convert(types.Integer(), 2**40, "sqlite") == 2**40


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**8), max_value=10**8))
def test_number_is_bound_as_it_is_or_refused(number: Decimal) -> None:
    fits = abs(number) < 10**4
    try:
        assert convert(types.Numeric(6, 2), f"{number:f}") == number
        assert fits
    except ValueError:
        assert not fits


_ANY = st.one_of(
    st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text()), st.dictionaries(st.text(), st.none())
)


@given(_ANY)
def test_any_value_is_bound_or_refused_with_a_reason(value: object) -> None:
    for kind in (types.String(5), types.SmallInteger(), types.Numeric(6, 2), types.Float(), types.Date(), types.JSON()):
        reason = "-"
        try:
            convert(kind, value)
        except ValueError as error:
            reason = str(error)
        assert 0 < len(reason) < 200
