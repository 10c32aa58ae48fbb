"""Calibration: which blocks and pages are right, and the curve of confidence against the share that is."""

from __future__ import annotations

import pytest

from inkgate_bench.accuracy.calibration import (
    JudgedPart,
    calibration_curve,
    is_left_unread,
    judge_blocks,
    judge_page,
    words_f1,
    words_of,
)

FIRST = "The quick brown fox jumps over the lazy dog and runs."
SECOND = "Pack my box with five dozen liquor jugs, said the man."
TRUTH = f"{FIRST}\n{SECOND}"


def verdicts(*blocks: str, truth: str = TRUTH) -> list[tuple[bool, bool]]:
    return [(part.text_right, part.right) for part in judge_blocks(truth, [(block, 0.9) for block in blocks])]


def test_blocks_in_their_places_are_right() -> None:
    assert verdicts(FIRST, SECOND) == [(True, True), (True, True)]
    assert verdicts(FIRST.upper(), SECOND.replace("jugs", "jogs")) == [(True, True), (True, True)]


def test_one_of_two_blocks_in_the_wrong_order_is_wrong_though_its_text_is_right() -> None:
    found = verdicts(SECOND, FIRST)
    assert [text for text, _ in found] == [True, True]
    assert [right for _, right in found].count(True) <= 1


def test_misread_and_invented_blocks_are_wrong() -> None:
    assert verdicts(FIRST, "Qx zzwy jjk pppq.", SECOND) == [(True, True), (False, False), (True, True)]
    assert verdicts("Tho qvick hrown fax jumpz ovor tbe lazv dcg", SECOND)[0] == (False, False)


def test_what_is_missing_between_blocks_is_not_held_against_them() -> None:
    assert verdicts(FIRST, SECOND, truth=f"{FIRST}\nA short line.\n{SECOND}")[1] == (True, True)


def test_blocks_without_text_or_confidence_are_not_judged() -> None:
    assert judge_blocks(TRUTH, [("", 0.5), (FIRST, None), (SECOND, 0.7)]) == (JudgedPart(0.7, True, True),)
    assert judge_blocks(TRUTH, []) == ()
    assert judge_blocks("", [("invented", 0.9)]) == (JudgedPart(0.9, False, False),)


def test_pages_are_right_up_to_five_percent_of_errors() -> None:
    assert judge_page(TRUTH, TRUTH, 0.99) == JudgedPart(0.99, True, True)
    assert judge_page(TRUTH, f"{SECOND}\n{FIRST}", 0.99) == JudgedPart(0.99, True, False)
    assert judge_page(TRUTH, FIRST, 0.99) == JudgedPart(0.99, False, False)
    assert judge_page(TRUTH, TRUTH, None) is None
    assert judge_page("", "", 0.5) == JudgedPart(0.5, True, True)


def test_the_curve_has_a_bin_for_each_confidence_met() -> None:
    parts = [JudgedPart(1.0, True, True), JudgedPart(0.99, True, False), JudgedPart(0.2, False, False)]
    curve = calibration_curve(parts)
    assert curve.count == 3
    assert [(each.low, each.high, each.count) for each in curve.bins] == [(0.0, 0.5, 1), (0.98, 1.0, 2)]
    assert (curve.bins[1].text_right, curve.bins[1].right) == (1.0, 0.5)
    assert curve.error == pytest.approx((2 * abs(0.995 - 0.5) + 0.2) / 3)


def test_nothing_judged_gives_an_empty_curve() -> None:
    assert (calibration_curve([]).bins, calibration_curve([]).error) == ((), None)


def test_words_are_compared_without_case_order_and_punctuation_but_that_of_numbers() -> None:
    cases = {
        "\u201cHello,\u201d he said \u2014 don\u2019t!": ["hello", "he", "said", "don't"],
        "pay 1,284.50 \u20ac (No.7)": ["pay", "1,284.50", "no", "7"],
        "2x at 10:58, U.price RM5": ["2", "x", "at", "10:58", "u", "price", "rm", "5"],
        "ef-\nficient e-mail": ["ef", "ficient", "e", "mail"],
        "\u6771\u4eac tower\u3002": ["\u6771", "\u4eac", "tower"],
        "\ufb01ne Stra\u00dfe": ["fine", "strasse"],
        "-- * ...": [],
    }
    assert {text: list(words_of(text)) for text in cases} == cases
    assert words_f1("one two three", "THREE, two one.") == 1.0
    assert words_f1("1,284.50", "4,517.83") == 0.0
    assert words_f1("", "") == 1.0
    assert words_f1("one two", "") == 0.0


def test_a_truth_without_spaces_is_compared_by_pairs_of_letters() -> None:
    read = "Pancake Parlour\nBourke Street, Melbourne\nThank you for visiting\nand come again tomorrow morning" * 2
    truth = read.replace(" ", "").replace(",", "").lower()
    assert words_f1(truth, read) == 1.0
    assert words_f1(truth, read[: len(read) // 2]) < 0.8
    assert words_f1("Acrobat\nEdge\nChromium", "Edge\nChromium\nAcrobat") == 1.0


def test_a_text_is_left_unread_only_where_it_lacks_words_that_others_of_the_truth_don_t_replace() -> None:
    truth = " ".join(f"word{number}" for number in range(40))
    assert is_left_unread(truth, " ".join(truth.split()[:30]))
    assert is_left_unread(truth, "")
    assert not is_left_unread(truth, truth)
    assert not is_left_unread(truth, truth.replace("1", "l"))
