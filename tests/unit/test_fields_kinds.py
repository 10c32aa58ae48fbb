"""Dates, amounts and times as people print them."""

from datetime import date, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse

DATES, TIMES, MONEY = KINDS["date"], KINDS["time"], KINDS["money"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("25/12/2018 8:13:39 PM", "2018-12-25"),
        ("18-11-18 13 : 58 SH01", "2018-11-18"),
        ("22 MAR 2018 18:24", "2018-03-22"),
        ("March 9, 2018", "2018-03-09"),
        ("9. März 2018", "2018-03-09"),
        ("9 de marzo de 2018", "2018-03-09"),
        ("2018年3月9日", "2018-03-09"),
        ("20180330", "2018-03-30"),
        ("Jul03'12", "2012-07-03"),
        ("Ju103'12 02:34PM", "2012-07-03"),
        ("Ju119 ' 14", "2014-07-19"),
        ("02,/22/2014", "2014-02-22"),
        ("DATE: 2018-03-23", "2018-03-23"),
        ("2018/03/30T10:00", "2018-03-30"),
        ("02/28/2019", "2019-02-28"),
        ("1.1.99", "1999-01-01"),
    ],
)
def test_dates(text: str, day: str) -> None:
    (found,) = DATES.find(text)
    assert DATES.json(found) == day


@pytest.mark.parametrize(
    "text",
    ["31/02/2018", "1.2.3.4", "TEL 07-355 2616", "00/00/0000", "12/2018", "2018.13.01", "1/2/3/4", "中央6-11-28"],
)
def test_what_is_no_date(text: str) -> None:
    assert DATES.find(text) == []


def test_a_date_that_may_be_read_twice_has_both_readings_day_first() -> None:
    found = parse(DATES, "03/04/2018")
    assert found is not None
    assert found.readings == (date(2018, 4, 3), date(2018, 3, 4))
    other = parse(DATES, "March 4, 2018")
    assert other is not None
    assert found.agrees(other)


@given(
    st.dates(date(1970, 1, 1), date(2069, 12, 31)),
    st.sampled_from(["%d/%m/%Y", "%Y-%m-%d", "%d.%m.%y", "%d %b %Y", "%B %d, %Y"]),
)
def test_every_day_is_found_as_it_is_printed(day: date, form: str) -> None:
    found = parse(DATES, day.strftime(form))
    assert found is not None
    assert day in found.readings


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("RM 30.91", "30.91", "MYR"),
        ("$6.90", "6.90", ""),
        ("1,234.56", "1234.56", ""),
        ("1.234,56 €", "1234.56", "EUR"),
        ("1 234,56", "1234.56", ""),
        ("12'345.00 CHF", "12345.00", "CHF"),
        ("(3.50)", "-3.50", ""),
        ("-0.01", "-0.01", ""),
        ("12.00-", "-12.00", ""),
        ("717,97", "717.97", ""),
        ("S$ 12", "12.00", "SGD"),
        ("100.00元", "100.00", "CNY"),
        ("TOTAL(RM):9.00", "9.00", ""),
        ("1,234,567", "1234567.00", ""),
    ],
)
def test_amounts(text: str, amount: str, unit: str) -> None:
    (found,) = MONEY.find(text)
    assert (MONEY.json(found), found.unit) == (amount, unit)


@pytest.mark.parametrize("text", ["INVOICE #:OR18", "1.2.3", "ABC123DEF", "v2.0.1"])
def test_what_is_no_amount(text: str) -> None:
    assert MONEY.find(text) == []


def test_three_digits_behind_one_mark_may_be_thousands_or_decimals() -> None:
    (point,), (comma,) = MONEY.find("9.000"), MONEY.find("1,234")
    assert point.readings == (Decimal(9), Decimal(9000))
    assert comma.readings == (Decimal(1234), Decimal("1.234"))


@given(st.decimals(0, 10**9, places=2))
def test_every_amount_is_found_in_each_notation(amount: Decimal) -> None:
    plain = f"{amount:,.2f}"
    for text in (plain, plain.replace(",", " "), plain.replace(",", "'"), plain.translate(str.maketrans(",.", ".,"))):
        found = parse(MONEY, f"{text} EUR")
        assert found is not None, text
        assert found.readings == (amount,), text
        assert found.unit == "EUR"


@given(st.text(max_size=60))
def test_any_text_is_searched_without_an_error_and_places_are_true(text: str) -> None:
    for kind in KINDS.values():
        at = 0
        for found in kind.find(text):
            assert at <= found.start < found.end <= len(text)
            at = found.end
            assert found.readings
            kind.json(found)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("18:29", time(18, 29)),
        ("8:13:39 PM", time(20, 13, 39)),
        ("Time : 05:10:PM", time(17, 10)),
        ("13 : 58", time(13, 58)),
        ("12:05 a.m.", time(0, 5)),
        ("18时29分", time(18, 29)),
    ],
)
def test_times(text: str, moment: time) -> None:
    (found,) = TIMES.find(text)
    assert found.readings == (moment,)


def test_what_is_no_time() -> None:
    assert TIMES.find("25:00 13:00 PM 1:2:3 10:99") == []


def test_a_value_with_words_around_it_is_not_that_value_alone() -> None:
    assert parse(MONEY, "about 3.50") is None
    assert parse(MONEY, "3.50 4.50") is None
    assert parse(MONEY, " 3.50 !") is not None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("¥12,340をお支払い", ["12340"]), ("合計は62,181です", ["62181"]), ("3てん", []), ("3か月", []), ("7がつ", [])],
)
def test_numbers_before_hiragana_are_amounts_if_they_are_written_as_such(text: str, numbers: list[str]) -> None:
    assert [str(value.readings[0]) for value in MONEY.find(text)] == numbers
