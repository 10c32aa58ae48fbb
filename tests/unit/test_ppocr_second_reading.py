"""Which lines are read twice, from which crop, and which reading is kept."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.crops import with_margin
from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.second_reading import is_doubtful, replace_worse, tight_crops

QUAD = np.array([[20, 40], [220, 40], [220, 60], [20, 60]], np.float32)
CROP = LineCrop(QUAD, np.zeros((48, 480, 3), np.uint8))


def reading(text: str, confidence: float) -> RecognizedText:
    count = len(text)
    return RecognizedText(text, np.full(count, confidence, np.float32), np.linspace(0.1, 0.9, count, dtype=np.float32))


@pytest.mark.parametrize(
    ("text", "confidence", "doubtful"),
    [
        ("Narne Badge", 0.9, True),
        ("Name Badge", 0.97, False),
        ("smudge", 0.4, False),  # not legible: a second reading could only lift it over the bar by luck
        ("", 0.0, False),
        ("   ", 0.9, False),
        ("蒙牛桶装原味酸牛奶", 0.9, False),  # Han fills its box
        ("Total 合计", 0.9, True),
    ],
)
def test_legible_lines_of_little_confidence_are_doubtful(text: str, confidence: float, *, doubtful: bool) -> None:
    assert is_doubtful(reading(text, confidence), 0.5, 0.95) is doubtful


def test_no_line_is_doubtful_where_second_readings_are_off() -> None:
    assert not is_doubtful(reading("Narne Badge", 0.6), 0.5, 0.0)


def test_the_tight_crop_shows_nothing_of_the_lines_above_and_below() -> None:
    rgb = np.full((100, 260, 3), 255, np.uint8)
    rgb[:39] = rgb[62:] = 0  # ink one pixel outside the box, as in tight print

    (tight,) = tight_crops(rgb, [QUAD])

    assert tight[4:-4].min() == 255
    assert tight.shape[0] == 48
    # The margin at the ends stays, as positions are counted along it.
    grown = with_margin(QUAD)
    assert tight.shape[1] / 48 == pytest.approx((grown[1, 0] - grown[0, 0]) / 20, abs=0.05)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (("Narne", 0.7), ("Name", 0.9), "Name"),
        (("Name", 0.9), ("Narne", 0.7), "Name"),
        (("Name", 0.9), ("Nome", 0.9), "Name"),
        (("Subtotal 12.50", 0.7), ("12.50", 0.99), "Subtotal 12.50"),  # a part of the line, however confident
        (("Name", 0.7), ("", 0.0), "Name"),
    ],
)
def test_the_more_confident_whole_reading_is_kept(
    first: tuple[str, float], second: tuple[str, float], kept: str
) -> None:
    other = (CROP, reading("other line", 0.6))
    read = [other, (CROP, reading(*first))]

    replace_worse(read, [1], [reading(*second)])

    assert read[1][1].text == kept
    assert read[1][0] is CROP
    assert read[0] is other
