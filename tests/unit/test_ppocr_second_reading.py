"""Which lines are read twice, from which crop, and which reading is kept."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.crops import with_margin
from inkgate.engines.ppocr.lines import LineCrop, crops_of
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.second_reading import (
    boxes_of,
    faint,
    gaps_of,
    is_column,
    is_doubtful,
    replace_worse,
    tight_crops,
    with_gaps_filled,
)

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


def column(places: str, *, left: float = 100) -> tuple[LineCrop, RecognizedText]:
    """A column of cells of 20 pixels: `#` a character that was read, `o` a small one that was not, a space nothing."""
    count = len(places)
    quad = np.array([[left + 20, 40], [left + 20, 40 + 20 * count], [left, 40 + 20 * count], [left, 40]], np.float32)
    rgb = np.full((100 + 20 * count, 200, 3), 255, np.uint8)
    for at, place in enumerate(places):
        top = 40 + 20 * at
        if place == "#":
            rgb[top + 2 : top + 18, int(left) + 2 : int(left) + 18] = 0
        elif place == "o":
            rgb[top + 2 : top + 8, int(left) + 12 : int(left) + 18] = 0
    (item,) = crops_of(rgb, quad[None, [3, 0, 1, 2]])
    length = 20 * count + 8  # with its margins
    at_read = np.array([(14 + 20 * at) / length for at, place in enumerate(places) if place == "#"], np.float32)
    text = "東京都千代田区霞関一二三"[: len(at_read)]
    return item, RecognizedText(text, np.ones(len(at_read), np.float32), at_read)


@pytest.mark.parametrize(
    ("places", "gaps"),
    [
        ("######", 0),
        ("###o##", 1),
        ("#####o", 1),
        ("o#####", 1),
        ("##o##o##", 2),
        ("##oo####", 1),
        ("### ###", 0),  # a space
        ("#####  ", 0),
        ("###", 0),
        ("##o", 1),
        ("#o#o##o#o#o", 5),  # most distances are twice the pitch
        ("# # # # #", 0),
    ],
)
def test_ink_between_the_characters_of_a_column_is_a_gap(places: str, gaps: int) -> None:
    item, read = column(places)

    assert is_column(item, read)
    found = gaps_of(item, read)
    assert len(found) == gaps
    if places.count("o") == 1:
        # The box is around the ink of the small character.
        ((left, top, right, bottom),) = boxes_of([(item, read)], 2.0)
        middle = 2 * (40 + 20 * places.index("o") + 5)
        assert top <= middle <= bottom
        assert bottom - top < 24
        assert left <= 2 * 112 <= 2 * 118 <= right


@pytest.mark.parametrize("text", ["Notes", "12,50"])
def test_lines_that_are_turned_or_level_are_no_columns(text: str) -> None:
    item, _ = column("#####")

    assert not is_column(item, reading(text, 0.9))
    assert not is_column(CROP, reading("東京都千代", 0.9))


def test_the_second_reading_only_adds_characters_where_the_first_has_none() -> None:
    item, first = column("##o##")
    places = (np.array([14, 32, 52, 73, 94, 95]) / 108).astype(np.float32)
    second = RecognizedText("束亰。鄱f ", np.full(6, 0.8, np.float32), places)

    filled = with_gaps_filled(item, first, second)

    assert filled.text == "東京。都千"
    assert filled.confidences.tolist() == pytest.approx([1, 1, 0.8, 1, 1])
    assert gaps_of(item, filled) == []
    assert with_gaps_filled(item, filled, second) is filled


def test_faint_print_has_less_contrast_and_is_always_the_same() -> None:
    item, _ = column("#####")

    crop, again, other = (faint(item.pixels, grain) for grain in (0, 0, 1))

    assert crop.shape[0] == 48
    assert (crop == again).all()
    assert (crop != other).any()
    dark, light = np.percentile(crop, (20, 80))
    assert 70 < light - dark < 190
