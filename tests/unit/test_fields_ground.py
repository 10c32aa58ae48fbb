"""Values are grounded where they stand, and nowhere else."""

import pytest

from inkgate.fields.folded import FoldedPage
from inkgate.fields.ground import ground_text, ground_value
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate_client.fields.values import Match, Source
from inkgate_client.types import Line, PageResult, Quad, Word

DATES, MONEY = KINDS["date"], KINDS["money"]


def quad(left: float, top: float, right: float, bottom: float) -> Quad:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def line(text: str, left: float, top: float, confidence: float = 0.9) -> Line:
    """A line with its words, 10 pixels a character."""
    words, at = [], left
    for word in text.split(" "):
        words.append(Word(word, quad(at, top, at + 10 * len(word), top + 20), confidence))
        at += 10 * (len(word) + 1)
    return Line(text, quad(left, top, at - 10, top + 20), confidence, tuple(words))


RECEIPT = FoldedPage.of(
    PageResult(
        0,
        lines=(
            line("BOOK TA K (TAMAN DAYA) SDN BHD", 50, 80),
            line("NO.53 55,57 & 59, JALAN SAGU 18,", 50, 120),
            line("81100 JOHOR BAHRU", 50, 150),
            line("Date: 25/12/2018 8:13", 50, 200),
            line("1", 50, 240),
            line("CLAY", 100, 240),
            line("9.00", 400, 240),
            line("TOTAL", 50, 300),
            line("RM 9.00", 400, 302, 0.8),
            line("CASH", 50, 340),
            line("10.00", 400, 340),
        ),
    )
)


def money(text: str, *labels: str) -> list[Source]:
    value = parse(MONEY, text)
    assert value is not None
    return ground_value([RECEIPT], value, MONEY, labels)


def test_an_amount_is_found_where_its_label_stands_first() -> None:
    best, other = money("9.00", "total")
    assert (best.text, best.label, best.confidence, best.match) == ("RM 9.00", "TOTAL", 0.8, Match.VALUE)
    assert best.box == (400.0, 302.0, 470.0, 322.0)
    assert (other.text, other.label) == ("9.00", "")


def test_the_box_is_that_of_the_value_s_words() -> None:
    value = parse(DATES, "2018-12-25")
    assert value is not None
    (source,) = ground_value([RECEIPT], value, DATES, ["date"])
    assert (source.text, source.label) == ("25/12/2018", "Date:")
    assert source.box == (110.0, 200.0, 210.0, 220.0)


@pytest.mark.parametrize("text", ["8.00", "19.00", "90.00", "1.00"])
def test_another_amount_is_not_found(text: str) -> None:
    assert money(text, "total") == []


def test_an_amount_of_another_currency_is_not_found() -> None:
    assert [source.text for source in money("USD 9.00")] == ["9.00"]


def test_a_date_with_one_digit_changed_is_not_found() -> None:
    for text in ("26/12/2018", "25/11/2018", "25/12/2019"):
        value = parse(DATES, text)
        assert value is not None
        assert ground_value([RECEIPT], value, DATES) == []


def test_text_is_found_over_lines_whatever_its_case_and_punctuation() -> None:
    (source,) = ground_text([RECEIPT], "No. 53, 55, 57 & 59 Jalan Sagu 18, 81100 Johor Bahru")
    assert source.lines == (1, 2)
    assert source.match is Match.EXACT
    assert source.box == (50.0, 120.0, 370.0, 170.0)


def test_text_may_differ_in_letters_but_not_in_digits() -> None:
    (source,) = ground_text([RECEIPT], "NO.53 55,57 & 59, JALAN SAGV 18, 81100 JOHOR BAHRU")
    assert source.match is Match.SIMILAR
    assert ground_text([RECEIPT], "NO.53 55,57 & 59, JALAN SAGU 13, 81100 JOHOR BAHRU") == []


@pytest.mark.parametrize("text", ["", " .,", "HO", "MYDIN MOHAMED HOLDINGS", "JOHORE BARU BHD"])
def test_text_that_is_not_there_is_not_found(text: str) -> None:
    assert ground_text([RECEIPT], text) == []


def test_a_very_short_text_must_be_a_word() -> None:
    assert len(ground_text([RECEIPT], "BHD")) == 1
    assert ground_text([RECEIPT], "OOK") == []


def test_an_empty_page_has_nothing() -> None:
    page = FoldedPage.of(PageResult(0))
    assert ground_text([page], "anything") == []


def test_rows_are_read_left_to_right_whatever_the_order_of_the_lines() -> None:
    page = FoldedPage.of(PageResult(3, lines=(line("right", 300, 102), line("left", 10, 100), line("top", 10, 10))))
    assert page.text == "topleftright"
    (source,) = ground_text([page], "left right")
    assert (source.page, source.lines) == (3, (1, 0))
