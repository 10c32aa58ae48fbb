"""Words and their positions on the line."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.lines import words_of
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced

QUAD = np.array([[0, 0], [100, 0], [100, 20], [0, 20]], np.float32)


def evenly(text: str) -> RecognizedText:
    """A reading whose characters all have the same width."""
    count = len(text)
    confidences = np.linspace(0.5, 1.0, count, dtype=np.float32)
    return RecognizedText(text, confidences, ((np.arange(count) + 0.5) / count).astype(np.float32))


def test_words_are_parted_at_spaces_and_unspaced_scripts_at_each_character() -> None:
    cases = [
        ("Total 12.50", ["Total", "12.50"]),
        ("  two  words ", ["two", "words"]),
        ("中文字", ["中", "文", "字"]),
        ("共3 items，好", ["共", "3", "items", "，", "好"]),
        ("中　文", ["中", "文"]),
        ("", []),
        ("   ", []),
    ]
    wrong = [
        (text, found)
        for text, words in cases
        if (found := [word.text for word in words_of(evenly(text), QUAD)]) != words
    ]
    assert wrong == []


def test_words_share_the_line_between_them() -> None:
    first, second = words_of(evenly("abcd fghij"), QUAD)
    assert np.array(first.quad) == pytest.approx(np.array([(0, 0), (40, 0), (40, 20), (0, 20)]))
    assert np.array(second.quad) == pytest.approx(np.array([(50, 0), (100, 0), (100, 20), (50, 20)]))


def test_words_of_a_slanted_line_follow_its_slant() -> None:
    slanted = np.array([[0, 0], [100, 50], [90, 70], [-10, 20]], np.float32)
    first, second = words_of(evenly("abcd fghij"), slanted)
    assert first.quad[1] == pytest.approx((40, 20))
    assert second.quad[0] == pytest.approx((50, 25))
    assert second.quad[3] == pytest.approx((40, 45))


def test_a_words_confidence_is_the_mean_of_its_characters() -> None:
    reading = RecognizedText(
        "ab c", np.array([0.6, 0.8, 0.1, 0.9], np.float32), np.array([0.1, 0.3, 0.5, 0.7], np.float32)
    )
    assert [word.confidence for word in words_of(reading, QUAD)] == pytest.approx([0.7, 0.9])


def test_a_single_character_takes_the_whole_line() -> None:
    (word,) = words_of(evenly("7"), QUAD)
    assert np.array(word.quad) == pytest.approx(np.array([(0, 0), (100, 0), (100, 20), (0, 20)]))


@pytest.mark.parametrize(("characters", "expected"), [("中あアｱ，〇𠀀", True), ("aé1ж한α", False)])
def test_scripts_without_spaces(characters: str, expected: bool) -> None:
    assert {unspaced(character) for character in characters} == {expected}
