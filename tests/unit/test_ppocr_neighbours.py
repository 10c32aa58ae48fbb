"""Characters that a crop's margin shows of the line beside it are left out; the line's own stay."""

import numpy as np
import pytest

from inkgate.engines.ppocr.lines import RecognizedCrop, own_text
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.runtimes.base import FloatArray

HEIGHT = 20.0


def quad(left: float, right: float, top: float = 0.0) -> FloatArray:
    return np.array([[left, top], [right, top], [right, top + HEIGHT], [left, top + HEIGHT]], np.float32)


def reading(text: str, first_x: float, last_x: float, of: FloatArray) -> RecognizedText:
    """A reading whose characters stand evenly from `first_x` to `last_x` on the page."""
    width = float(of[1, 0] - of[0, 0])
    margin = 0.2 * min(width, HEIGHT)
    x = np.linspace(first_x, last_x, len(text))
    positions = (x - (of[0, 0] - margin)) / (width + 2 * margin)
    return RecognizedText(text, np.full(len(text), 0.9, np.float32), positions.astype(np.float32))


def read(text: str, first_x: float, last_x: float, of: FloatArray) -> RecognizedCrop:
    return RecognizedCrop(of, reading(text, first_x, last_x, of))


MARK = read("16", 4, 18, quad(0, 20))
NOTE = quad(21, 121)


def test_the_last_character_of_the_line_on_the_left_is_not_read_again() -> None:
    note = read("6 Annual", 18.5, 115, NOTE)
    assert own_text(note, [MARK, note]).text == "Annual"
    assert own_text(MARK, [MARK, note]).text == "16"


def test_the_first_character_of_the_line_on_the_right_is_not_read_again() -> None:
    name, price = read("Tea 4", 5, 103, quad(0, 100)), read("4.20", 104, 135, quad(101, 140))
    kept = own_text(name, [name, price])
    assert kept.text == "Tea"
    assert len(kept.confidences) == len(kept.positions) == 3


@pytest.mark.parametrize(
    "others",
    [
        [],
        [read("16", 4, 18, quad(0, 20, top=30))],
        [read("16", -50, 10, quad(-60, 15))],
        [read("15", 4, 18, quad(0, 20))],
        [read("", 0, 0, quad(0, 20))],
    ],
    ids=["alone", "another row", "further left", "another character", "nothing read"],
)
def test_a_character_in_the_margin_stays_unless_another_line_holds_it(others: list[RecognizedCrop]) -> None:
    own = read("6 Annual", 18.5, 115, NOTE)
    assert own_text(own, [own, *others]).text == "6 Annual"


def test_a_character_that_stands_in_both_boxes_stays_with_the_line_that_ends_there() -> None:
    ends, begins = read("16", 4, 24, quad(0, 30)), read("6 Annual", 25, 115, quad(21, 121))
    assert own_text(ends, [ends, begins]).text == "16"
    assert own_text(begins, [ends, begins]).text == "Annual"


def test_a_reading_of_one_character_stays() -> None:
    own = read("6", 18.5, 18.5, NOTE)
    assert own_text(own, [MARK, own]).text == "6"
