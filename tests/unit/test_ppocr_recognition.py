"""The columns of the recognition model, decoded; and lines too long for one call."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.ppocr.recognition import RecognizedText, decode_line, join_pieces, padded_width, pieces_of


def reading_of(labels: list[str], spaces: dict[int, float] | None = None, confidence: float = 0.9) -> RecognizedText:
    """`labels` decoded, with the probability of a space at some columns."""
    probabilities = np.zeros(len(labels), np.float32)
    for column, probability in (spaces or {}).items():
        probabilities[column] = probability
    return decode_line(labels, np.full(len(labels), confidence, np.float32), probabilities, 1 / len(labels))


def test_repeats_count_once_unless_something_stands_between() -> None:
    assert reading_of(["", "h", "h", "", "o", "", "o", "o", ""]).text == "hoo"


def test_nothing_reads_as_nothing() -> None:
    for labels in (["", "", ""], [""]):
        reading = reading_of(labels)
        assert (reading.text, reading.confidence, len(reading.positions)) == ("", 0.0, 0)


def test_characters_stand_in_the_middle_of_their_columns() -> None:
    reading = reading_of(["a", "a", "", "b", "", "", "", ""])
    assert reading.positions == pytest.approx([1 / 8, 3.5 / 8])


def test_confidence_leaves_spaces_out() -> None:
    confidences = np.array([0.9, 0.4, 0.7], np.float32)
    reading = decode_line(["a", " ", "b"], confidences, np.zeros(3, np.float32), 1 / 3)
    assert reading.text == "a b"
    assert reading.confidence == pytest.approx(0.8)


def test_a_space_the_model_nearly_saw_is_put_in() -> None:
    labels = ["a", "", "", "b", "", "c"]
    assert reading_of(labels, {2: 0.09}).text == "abc"
    reading = reading_of(labels, {2: 0.3})
    assert reading.text == "a bc"
    assert reading.confidences == pytest.approx([0.9, 0.3, 0.9, 0.9])
    assert np.all(np.diff(reading.positions) > 0)


def test_a_space_nearly_seen_behind_a_character_is_not_put_before_it() -> None:
    labels = ["1", "6", "6", "", "t"]
    assert reading_of(labels, {2: 0.4}).text == "16 t"
    assert reading_of(labels, {1: 0.4}).text == "1 6t"


def test_no_space_is_put_beside_a_space_or_into_chinese() -> None:
    assert reading_of(["a", "", " ", "", "b"], {1: 0.4, 3: 0.4}).text == "a b"
    assert reading_of(["中", "", "文"], {1: 0.4}).text == "中文"
    assert reading_of(["中", "", "a"], {1: 0.4}).text == "中a"


def test_the_padded_width_is_that_of_the_crop_alone() -> None:
    cases = [
        (48, 10, 96),
        (48, 97, 128),
        (24, 161, 352),
        (96, 640, 320),
        (48, 512, 512),
        (48, 513, 576),
        (48, 1025, 1152),
    ]
    wrong = [
        (height, width, found)
        for height, width, padded in cases
        if (found := padded_width(np.zeros((height, width, 3), np.uint8))) != padded
    ]
    assert wrong == []


@given(width=st.integers(1, 4096))
def test_a_line_has_room_in_its_padded_width_and_little_more(width: int) -> None:
    padded = padded_width(np.zeros((48, width, 3), np.uint8))
    assert padded % 32 == 0
    assert width <= padded < max(width + 32, width * 9 / 8, 97)


def test_lines_of_all_widths_share_few() -> None:
    assert len({padded_width(np.zeros((48, width, 3), np.uint8)) for width in range(1, 4097)}) < 50


def test_a_long_line_is_cut_where_it_is_empty() -> None:
    line = np.full((10, 1300, 3), 255, np.uint8)
    line[2:8, ::2] = 0
    line[:, 640:670] = 255

    pieces = pieces_of(line)

    assert len(pieces) == 2
    assert 640 <= pieces[0].shape[1] <= 670
    assert np.array_equal(np.concatenate(pieces, axis=1), line)


def test_a_line_of_usual_length_stays_whole() -> None:
    line = np.zeros((40, 3000, 3), np.uint8)
    assert [piece.shape for piece in pieces_of(line)] == [line.shape]


def test_pieces_are_joined_where_they_were_cut() -> None:
    left, right = reading_of(["a", "", "b", ""]), reading_of(["", "c"])
    whole = join_pieces([left, right], [300, 100])
    assert whole.text == "ab c"
    assert whole.positions == pytest.approx([0.75 / 8, 0.75 * 2.5 / 4, 0.75, 0.75 + 0.25 * 0.75])
    assert len(whole.confidences) == 4


def test_chinese_pieces_are_joined_without_a_space_and_empty_ones_leave_no_trace() -> None:
    han, empty = reading_of(["中"]), reading_of([""])
    assert join_pieces([han, han], [100, 100]).text == "中中"
    assert join_pieces([empty, han, empty], [100, 100, 100]).text == "中"
    assert join_pieces([empty, empty], [100, 100]).text == ""
