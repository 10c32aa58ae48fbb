"""The direction in which lines are read, their crops, and when a page is rotated."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr import lines, orientation
from inkgate.engines.ppocr.crops import crop, without_margin, write_pixels
from inkgate.engines.ppocr.orientation import Rotation
from inkgate.engines.ppocr.recognition import RecognizedText


def quad(left: float, top: float, width: float, height: float) -> np.ndarray:
    right, bottom = left + width, top + height
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def quads(*boxes: tuple[float, float, float, float]) -> np.ndarray:
    return np.stack([quad(*box) for box in boxes])


def reading(text: str, confidence: float) -> RecognizedText:
    count = len(text)
    return RecognizedText(text, np.full(count, confidence, np.float32), np.linspace(0.1, 0.9, count, dtype=np.float32))


FLAT = [(0.0, 20.0 * row, 200.0, 18.0) for row in range(4)]


def test_flat_boxes_begin_at_their_top_left() -> None:
    ordered = lines.in_reading_order(quads(*FLAT))
    assert ordered[0, 0].tolist() == [0, 0]


def test_tall_boxes_are_read_downwards() -> None:
    ordered = lines.in_reading_order(quads((10, 10, 20, 200)))
    assert ordered[0].tolist() == [[30, 10], [30, 210], [10, 210], [10, 10]]


def test_a_single_narrow_character_among_lines_stays_upright() -> None:
    ordered = lines.in_reading_order(quads(*FLAT, (300, 0, 8, 20), (400, 0, 20, 200)))
    assert ordered[4, 0].tolist() == [300, 0]
    assert ordered[5, 0].tolist() == [420, 0]


def test_no_boxes_are_no_lines() -> None:
    empty = np.zeros((0, 4, 2), np.float32)
    assert lines.crops_of(np.zeros((5, 5, 3), np.uint8), empty) == []
    assert not orientation.is_horizontal(empty)
    assert len(orientation.longest_lines(empty)) == 0
    assert not orientation.is_upright([], [])


def test_a_crop_is_the_pixels_of_its_quad_made_upright() -> None:
    rgb = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    box = quad(20, 30, 80, 60)
    inside = rgb[30:90, 20:100].astype(int)
    for quarters, expected in enumerate([inside, np.rot90(inside), inside[::-1, ::-1], np.rot90(inside, -1)]):
        assert np.abs(crop(rgb, np.roll(box, -quarters, axis=0)) - expected).max() <= 1


def test_small_print_is_enlarged_to_the_height_at_which_it_is_read() -> None:
    rgb = np.zeros((40, 60, 3), np.uint8)
    rgb[:, 30:] = 255
    pixels = crop(rgb, quad(10, 10, 40, 12))
    assert pixels.shape == (48, 160, 3)
    assert np.all(pixels[:, :78] == 0)
    assert np.all(pixels[:, 82:] == 255)


def test_lines_are_cut_out_with_a_margin_and_keep_their_tight_quads() -> None:
    rgb = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    (item,) = lines.crops_of(rgb, quads((20, 20, 80, 40)))
    assert item.quad.tolist() == quad(20, 20, 80, 40).tolist()
    assert np.abs(item.pixels - rgb[14:66, 12:108].astype(int)).max() <= 1

    (turned,) = lines.rotate_boxes(rgb, [item])
    assert turned.quad[0].tolist() == [100, 60]
    assert np.abs(turned.pixels - item.pixels[::-1, ::-1].astype(int)).max() <= 1


def test_a_margin_beyond_the_page_repeats_its_edge() -> None:
    (item,) = lines.crops_of(np.full((40, 80, 3), 77, np.uint8), quads((0, 0, 80, 40)))
    assert item.pixels.shape == (52, 96, 3)
    assert np.all(item.pixels == 77)


def test_positions_lose_the_margin_again() -> None:
    box = quad(10, 20, 40, 20)  # its crop is 4 pixels wider on both sides
    assert without_margin(np.array([4 / 48, 24 / 48, 44 / 48], np.float32), box) == pytest.approx([0, 0.5, 1], abs=1e-6)
    assert without_margin(np.array([0, 1], np.float32), box) == pytest.approx([0, 1])


def test_a_crop_has_a_pixel_at_least() -> None:
    assert min(crop(np.zeros((5, 5, 3), np.uint8), quad(2, 2, 0.01, 0.01)).shape[:2]) >= 1
    assert min(crop(np.zeros((5, 5, 3), np.uint8), quad(2, 2, 0.001, 60)).shape[:2]) >= 1


def test_a_line_is_turned_when_it_is_clearly_read_better() -> None:
    cases = [
        (reading("an o re", 0.9), reading("and runs away from here", 0.98), True),
        (reading("Total", 0.98), reading("lefol", 0.6), False),
        (reading("SOHO", 0.97), reading("OHOS", 0.98), False),
        (reading("", 0.0), reading("7", 0.9), True),
        (reading("", 0.0), reading("", 0.0), False),
    ]
    wrong = [
        (first, second, found)
        for first, second, turned in cases
        if (found := lines.is_clearly_better(second, than=first)) is not turned
    ]
    assert wrong == []


def test_lines_are_doubtful_by_the_classifier_or_by_their_reading() -> None:
    assert lines.may_be_upside_down(reading("word", 0.99), 0.7)
    assert lines.may_be_upside_down(reading("word", 0.5), 0.1)
    assert not lines.may_be_upside_down(reading("word", 0.99), 0.1)


def test_lines_that_say_nothing_or_say_it_unsurely_are_left_out() -> None:
    rgb = np.zeros((60, 80, 3), np.uint8)
    (item,) = lines.crops_of(rgb, quads((10, 20, 40, 20)))
    read = [reading("sure", 0.5), reading("unsure", 0.49), reading("  ", 0.9)]
    assert [line.reading.text for line in lines.legible_lines([(item, one) for one in read], 0.5)] == ["sure"]


def test_a_line_is_in_pixels_of_the_page() -> None:
    line = lines.line_of(reading("word", 0.9), quad(10, 20, 40, 12), 2.5)
    assert np.array(line.quad) == pytest.approx(np.array([(25, 50), (125, 50), (125, 80), (25, 80)]))
    assert line.confidence == pytest.approx(0.9)
    assert [word.text for word in line.words] == ["word"]


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_pages_are_turned_clockwise(degrees: int) -> None:
    page = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    turned = orientation.rotate_page(page, degrees)
    corner = {0: page[0, 0], 90: page[-1, 0], 180: page[-1, -1], 270: page[0, -1]}[degrees]
    assert turned[0, 0].tolist() == corner.tolist()
    assert np.array_equal(orientation.rotate_page(turned, (360 - degrees) % 360), page)


def test_only_sure_guesses_of_a_rotation_are_tried() -> None:
    assert orientation.worth_trying(Rotation(90, 0.9))
    assert not orientation.worth_trying(Rotation(90, 0.5))
    assert not orientation.worth_trying(Rotation(0, 0.99))


def test_a_page_lies_flat_when_most_of_its_text_runs_across() -> None:
    assert orientation.is_horizontal(quads(*FLAT, (300, 0, 20, 200)))
    assert not orientation.is_horizontal(quads((0, 0, 100, 18), (300, 0, 20, 200)))
    assert not orientation.is_horizontal(quads((0, 0, 20, 20)))


def test_the_longest_lines_across_the_page_are_witnesses() -> None:
    many = [(0.0, 20.0 * row, 100.0 + row, 18.0) for row in range(20)]
    chosen = orientation.longest_lines(quads(*many, (300, 0, 20, 900)))
    assert len(chosen) == 6
    assert chosen[0, 1, 0] == 119


def test_a_page_stands_when_far_more_is_read_of_it_than_upside_down() -> None:
    upright_lines = [reading("Invoice number 20417", 0.99), reading("Total amount", 0.98)]
    upside_down = [reading("Inn0 881", 0.7), reading("", 0.0)]
    assert orientation.is_upright(upright_lines, upside_down)
    assert not orientation.is_upright(upside_down, upright_lines)
    assert not orientation.is_upright(upright_lines, upright_lines)
    assert not orientation.is_upright([reading("", 0.0)], [reading("m", 0.4)])


@pytest.mark.parametrize(
    ("text", "confidence", "sure"),
    [("8.00", 0.96, True), ("Total", 0.94, False), ("8 00", 0.99, False), ("", 0.0, False)],
)
def test_who_reads_four_letters_well_is_not_asked_which_way_up(text: str, confidence: float, sure: bool) -> None:
    assert lines.is_certain(reading(text, confidence)) == sure


def test_pixels_are_written_blue_first_between_minus_one_and_one_and_the_rest_is_left() -> None:
    row = np.full((3, 1, 3), 7, np.float32)
    write_pixels(np.array([[[255, 0, 51], [0, 255, 102]]], np.uint8), row)
    assert row[:, 0] == pytest.approx(np.array([[-0.6, -0.2, 7], [-1, 1, 7], [1, -1, 7]]))
