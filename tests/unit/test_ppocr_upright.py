"""How a page stands, by the way its lines were read."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.orientation import (
    against_the_page,
    is_upside_down,
    may_be_upside_down,
    needed_rotation,
    rotate_page,
    rotate_quads,
)
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.runtimes.base import FloatArray

RIGHT = np.array([[10, 10], [210, 10], [210, 40], [10, 40]], np.float32)
"""A line that runs from left to right, on a page 300 wide and 100 high."""
WIDTH, HEIGHT = 300, 100
RUNS = {0: RIGHT, 90: rotate_quads(RIGHT, 270, WIDTH, HEIGHT), 180: rotate_quads(RIGHT, 180, WIDTH, HEIGHT)}
RUNS[270] = rotate_quads(RIGHT, 90, WIDTH, HEIGHT)
"""Lines of a page that must be rotated clockwise by the key."""


def read(text: str, quad: FloatArray, confidence: float = 0.95) -> tuple[LineCrop, RecognizedText]:
    count = len(text)
    reading = RecognizedText(text, np.full(count, confidence, np.float32), np.linspace(0, 1, count, dtype=np.float32))
    return LineCrop(quad, np.zeros((1, 1, 3), np.uint8)), reading


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_page_is_turned_as_its_lines_run(turn: int) -> None:
    assert needed_rotation([read("Return to sender", RUNS[turn]), read("Paris", RUNS[turn])]) == turn


def test_a_page_is_left_as_it_is_where_its_lines_say_too_little() -> None:
    stamp, text = read("COPY OF 2024", RUNS[90]), read("a line of this page", RIGHT)
    cases = {
        "nothing": [],
        "lines that run in two ways": [read("as long as this", RUNS[180]), read("as long as that", RIGHT)],
        "a stamp beside text": [stamp, text],
        "poorly read": [read("Return to sender", RUNS[180], 0.6)],
        "a few letters": [read("8 9", RUNS[180])],
        "Chinese written downwards": [read("这是一个段落的文字", RUNS[270])],
    }
    assert {name: needed_rotation(lines) for name, lines in cases.items()} == dict.fromkeys(cases, 0)


def test_chinese_upside_down_is_turned() -> None:
    assert needed_rotation([read("这是一个段落的文字", RUNS[180])]) == 180


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_quads_are_turned_with_their_page(degrees: int) -> None:
    page = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    page[10:40, 10:210] = 255
    quad = rotate_quads(RIGHT, degrees, WIDTH, HEIGHT)
    rows, columns = np.nonzero(rotate_page(page, degrees)[:, :, 0])
    assert quad.min(axis=0).tolist() == [columns.min(), rows.min()]
    assert quad.max(axis=0).tolist() == [columns.max() + 1, rows.max() + 1]


def test_short_lines_stand_as_the_long_ones_of_their_page() -> None:
    long, poor = "Return to sender", "Rzturm to"
    seven, tall = read("7", RIGHT), read("7", RUNS[90])
    cases = {
        "upright": ([read(long, RIGHT), seven], []),
        "upside down": ([read(long, RUNS[180]), seven], [1]),
        "upside down, and the short one was read so": ([read(long, RUNS[180]), read("7", RUNS[180])], []),
        "half of the page": ([read(long, RUNS[180]), seven, read(long, RIGHT)], []),
        "a stamp beside text": ([read(long, RIGHT), seven, read("COPY", RUNS[180])], []),
        "text beside a stamp": ([read(long * 3, RUNS[180]), seven, read("COPY", RIGHT)], [1]),
        "on its side": ([read(long, RUNS[270]), tall], [1]),
        "across the page": ([read(long, RUNS[180]), tall], []),
        "poorly read": ([read(poor, RUNS[180], 0.7), seven], None),
        "short lines only": ([seven, seven], None),
    }
    found = {name: against_the_page(lines, range(1, 2)) for name, (lines, _) in cases.items()}
    assert found == {name: expected for name, (_, expected) in cases.items()}


def test_short_lines_are_together_upside_down_where_they_differ_and_are_read_better_so() -> None:
    digits = [read(digit, RIGHT) for digit in "2345679"]
    assert may_be_upside_down(digits, range(7), [0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.9])
    assert not may_be_upside_down(digits, range(7), [0.1, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    assert not may_be_upside_down([read("7", RIGHT)] * 9, range(9), [0.9] * 9)
    assert not may_be_upside_down(digits, range(1), [0.99])
    worse, better = [read("L", RIGHT, 0.8)[1]] * 5, [read("7", RIGHT, 0.95)[1]] * 5
    assert is_upside_down(worse, better)
    assert not is_upside_down(better, worse)
    assert not is_upside_down(better, better)
