"""Figures of the evaluation against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.accuracy.manifest import TruthLine
from inkgate_bench.accuracy.metrics import (
    CharacterErrors,
    ReadLine,
    Token,
    character_errors,
    f1,
    line_recall,
    token_of,
)
from inkgate_client.types import Quad

TEXTS = st.text(alphabet=st.sampled_from("abcß漢字 \n.A1"), max_size=40)


def box(left: float, top: float, right: float, bottom: float) -> Quad:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


@pytest.mark.parametrize(
    ("truth", "read", "edits", "characters"),
    [
        ("abc def", "abc\ndef", 0, 6),  # white space doesn't count
        ("abcdef", "abXdef", 1, 6),
        ("abcdef", "abdef", 1, 6),
        ("ab", "abxyz", 2, 2),  # three edits, capped
        ("ﬁne", "fine", 0, 4),  # the ligature is two letters in NFKC
        ("１２", "12", 0, 2),
        ("ABC", "abc", 3, 3),
        ("first second", "second first", 10, 11),
        ("", "", 0, 0),
        ("", "x", 0, 0),
    ],
)
def test_character_errors_are_edits_in_reading_order(truth: str, read: str, edits: int, characters: int) -> None:
    found = character_errors(truth, read)
    assert (found.edits, found.characters) == (edits, characters)


def test_edits_beyond_the_truths_characters_are_kept_apart() -> None:
    found = character_errors("ab", "abxyz!")
    assert found == CharacterErrors(2, 2, excess=2)
    assert (found.rate, found.uncapped_rate) == (1.0, 2.0)
    assert character_errors("", "x").uncapped_rate == 0.0


def test_case_counts_unless_it_is_folded() -> None:
    assert character_errors("TOTAL 5", "Total 6").edits == 5
    assert character_errors("TOTAL 5", "Total 6", fold_case=True).edits == 1


def test_rate_is_edits_for_each_character() -> None:
    assert CharacterErrors(1, 4).rate == 0.25
    assert CharacterErrors(0, 0).rate == 0.0


@pytest.mark.parametrize(
    ("truth", "read", "expected"),
    [
        ("a b c", "c b a", 1.0),  # order-free
        ("Grand Total", "GRAND TOTAL", 1.0),  # case-free
        ("a a b", "a b b", 4 / 6),  # as multisets: a and b in common
        ("a b", "a b c d", 4 / 6),
        ("a b", "", 0.0),
        ("", "", 1.0),
        ("", "x", 0.0),
    ],
)
def test_f1_of_words(truth: str, read: str, expected: float) -> None:
    assert f1(truth, read) == pytest.approx(expected)


def test_chinese_is_compared_by_bigrams() -> None:
    # Truth: 春眠 眠不 不覺 覺曉; read: 春眠 眠不 不覚 覚曉. Two of four on each side.
    assert token_of("春眠不覺曉") is Token.BIGRAMS
    assert f1("春眠不覺曉", "春眠不覚曉") == pytest.approx(0.5)
    # Lines the other way round: only the pair across their border differs, one of three on each side.
    assert f1("春眠\n不覺", "不覺\n春眠") == pytest.approx(2 / 3)
    assert f1("春眠不\n覺曉", "春眠\n不覺曉") == 1.0  # cut elsewhere


def test_text_without_its_spaces_is_compared_by_bigrams() -> None:
    truth = "THANKYOUFOR\nSHOPPINGWITHUS\nTOTALAMOUNT"
    assert token_of(truth) is Token.BIGRAMS
    # The words "thank you for" count: only white space is missing from the truth.
    assert f1(truth, "Thank you for\nshopping with us\ntotal amount") == 1.0


@pytest.mark.parametrize(
    "truth",
    [
        "It was the best of times, it was the worst of times",
        "Die Geschwindigkeitsbegrenzung wurde aufgehoben",
        "1.5\n2.4\nmean\n12\n0.05",  # a table with a line for each cell
        "",
    ],
)
def test_text_with_its_spaces_is_compared_by_words(truth: str) -> None:
    assert token_of(truth) is Token.WORDS


def test_single_character_counts_as_a_token() -> None:
    assert f1("春", "春") == 1.0
    assert f1("春", "眠") == 0.0
    assert f1("春", "") == 0.0


@given(TEXTS, TEXTS)
def test_figures_are_shares(truth: str, read: str) -> None:
    assert 0 <= character_errors(truth, read).rate <= 1
    assert 0 <= f1(truth, read) <= 1


@given(TEXTS)
def test_a_text_read_as_it_is_has_perfect_figures(truth: str) -> None:
    assert character_errors(truth, truth).edits == 0
    assert f1(truth, truth) == 1


def test_line_is_found_where_it_is_covered_and_alike() -> None:
    truth = [TruthLine("Grand total", box(0, 0, 100, 10)), TruthLine("12.50", box(200, 0, 250, 10))]
    read = [ReadLine("GRAND TOTAL", box(2, 1, 98, 11)), ReadLine("12.50", box(200, 50, 250, 60))]
    assert line_recall(truth, read) == 0.5


def test_line_read_in_pieces_is_found() -> None:
    truth = [TruthLine("Grand total 12.50", box(0, 0, 170, 10))]
    pieces = [ReadLine("12.50", box(120, 0, 170, 10)), ReadLine("Grand total", box(0, 0, 110, 10))]
    assert line_recall(truth, pieces) == 1.0
    assert line_recall(truth, pieces[:1]) == 0.0  # covers less than half


def test_lines_read_as_one_are_both_found() -> None:
    truth = [TruthLine("Grand total", box(0, 0, 110, 10)), TruthLine("12.50", box(120, 0, 170, 10))]
    assert line_recall(truth, [ReadLine("Grand total 12.50", box(0, 0, 170, 10))]) == 1.0


def test_other_text_in_the_same_place_is_no_find() -> None:
    assert line_recall([TruthLine("Grand total", box(0, 0, 100, 10))], [ReadLine("§§ 77", box(0, 0, 100, 10))]) == 0.0


def test_line_below_that_overlaps_a_little_is_no_part() -> None:
    truth = [TruthLine("one", box(0, 0, 100, 10)), TruthLine("two", box(0, 10, 100, 20))]
    read = [ReadLine("one", box(0, 0, 100, 11)), ReadLine("two", box(0, 9, 100, 20))]
    assert line_recall(truth, read) == 1.0


def test_slanted_lines_are_compared_by_their_true_shape() -> None:
    # Their upright boxes overlap almost wholly, they themselves do not touch.
    slanted: Quad = ((0, 0), (100, 100), (95, 105), (-5, 5))
    beside: Quad = ((20, 0), (120, 100), (115, 105), (15, 5))
    truth = [TruthLine("slanted", slanted)]
    assert line_recall(truth, [ReadLine("slanted", slanted)]) == 1.0
    assert line_recall(truth, [ReadLine("slanted", beside)]) == 0.0


def test_page_without_true_lines_has_full_recall() -> None:
    assert line_recall([TruthLine(" ", box(0, 0, 1, 1))], []) == 1.0
