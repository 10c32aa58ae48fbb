"""Check boxes are found in pixels, told from letters, tables and patterns, and written beside their labels."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import CheckBox, PageEvidence
from inkgate.layout.regions.check_boxes import find_check_boxes
from inkgate.layout.regions.check_marks import with_marks
from inkgate.page import RgbArray
from inkgate_client.types import BlockType, CheckMark, Line, Size
from support.layouts import EM, PITCH, line

SIDE = 20
INK = (30, 30, 30)
PAGE = Size(800, 600)


def paper() -> RgbArray:
    return np.full((PAGE.height, PAGE.width, 3), 250, np.uint8)


def draw_box(page: RgbArray, x: int, y: int, tick: str = "") -> None:
    cv2.rectangle(page, (x, y), (x + SIDE, y + SIDE), INK, 2)
    if tick == "cross":
        cv2.line(page, (x + 4, y + 4), (x + SIDE - 4, y + SIDE - 4), INK, 2)
        cv2.line(page, (x + SIDE - 4, y + 4), (x + 4, y + SIDE - 4), INK, 2)
    elif tick == "tick":  # Reaches out at the top, as those of a pen do.
        cv2.polylines(page, [np.array([(x + 4, y + 9), (x + 9, y + 16), (x + SIDE + 8, y - 10)])], False, INK, 2)
    elif tick == "full":
        cv2.rectangle(page, (x + 6, y + 6), (x + SIDE - 6, y + SIDE - 6), INK, -1)


def written(page: RgbArray, text: str, x: int, y: int) -> Line:
    """Draws the text, about as high as a line, and returns the line."""
    cv2.putText(page, text, (x, y + 17), cv2.FONT_HERSHEY_SIMPLEX, 0.7, INK, 2, cv2.LINE_AA)
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.7, 2)
    return line(text, x, y, width)


def marks_on(page: RgbArray, lines: list[Line]) -> list[bool]:
    return [box.checked for box in find_check_boxes(page, 1.0, lines)]


@pytest.mark.parametrize("tick", ["", "cross", "tick", "full"])
def test_a_box_beside_a_label_is_found_ticked_or_not(tick: str) -> None:
    page = paper()
    draw_box(page, 100, 100, tick)
    assert marks_on(page, [written(page, "Corrected", 140, 100)]) == [tick != ""]


@pytest.mark.parametrize("degrees", [-1.5, 1.5])
def test_boxes_of_a_page_that_is_a_little_skewed_are_found(degrees: float) -> None:
    page = paper()
    draw_box(page, 100, 100, "cross")
    draw_box(page, 100, 140)
    lines = [written(page, "Yes please", 140, 100), written(page, "No thanks", 140, 140)]
    turn = cv2.getRotationMatrix2D((120, 120), degrees, 1)
    skewed = np.asarray(cv2.warpAffine(page, turn, (PAGE.width, PAGE.height), borderValue=(250, 250, 250)), np.uint8)
    assert marks_on(skewed, lines) == [True, False]


def test_a_box_that_stands_on_a_rule_is_found() -> None:
    page = paper()
    draw_box(page, 100, 100)
    cv2.line(page, (20, 122), (700, 122), INK, 2)
    assert marks_on(page, [written(page, "Void", 140, 98)]) == [False]


def test_boxes_are_in_pixels_of_the_page() -> None:
    page = paper()
    draw_box(page, 100, 100)
    lines = [line("Corrected", 280, 200, 200, 2 * EM)]
    assert find_check_boxes(page, 2.0, lines)[0].box == pytest.approx((200, 200, 242, 242), abs=6)


def test_text_has_no_boxes() -> None:
    page = paper()
    texts = ["BODE 0800 QBDO HEEL oil", "The lazy dog jumps over", "E F H T L U 8 B D O 0 a e o"]
    assert not find_check_boxes(page, 1.0, [written(page, text, 60, 60 + 40 * i) for i, text in enumerate(texts)])


def test_cells_of_a_table_and_places_for_letters_are_no_boxes() -> None:
    page = paper()
    for i in range(6):
        for j in range(4):
            cv2.rectangle(page, (100 + 22 * i, 100 + 22 * j), (122 + 22 * i, 122 + 22 * j), INK, 2)
        cv2.rectangle(page, (100 + 26 * i, 300), (121 + 26 * i, 321), INK, 2)
    lines = [written(page, "Sudoku", 300, 120), written(page, "Date of birth", 300, 300)]
    assert not find_check_boxes(page, 1.0, lines)


def test_a_square_without_text_near_it_is_no_box() -> None:
    page = paper()
    draw_box(page, 100, 100)
    assert not find_check_boxes(page, 1.0, [written(page, "Far away", 400, 400)])


def test_a_square_below_the_end_of_a_line_ends_a_proof() -> None:
    page = paper()
    draw_box(page, 600, 130)
    assert not find_check_boxes(
        page, 1.0, [line("which is what we had to prove, and so the proof is complete", 60, 100, 560)]
    )


def test_a_page_without_lines_has_no_boxes() -> None:
    page = paper()
    draw_box(page, 100, 100)
    assert not find_check_boxes(page, 1.0, [])


def check(x: float, y: float, *, checked: bool = True) -> CheckBox:
    return CheckBox((x, y, x + SIDE, y + SIDE), checked)


def texts(lines: list[Line], *boxes: CheckBox) -> list[str]:
    return [item.text for item in with_marks(lines, boxes)]


def test_the_mark_stands_where_the_box_does() -> None:
    assert texts([line("Void", 140, 100)], check(110, 100)) == ["[x] Void"]
    assert texts([line("Paid:", 100, 100)], check(160, 100, checked=False)) == ["Paid: [ ]"]
    assert texts([line("Filing requirement", 100, 100)], check(170, 124)) == ["Filing requirement [x]"]


def test_a_box_between_two_labels_belongs_to_the_one_at_its_right() -> None:
    lines = [line("Yes", 100, 100), line("No", 180, 100)]
    assert texts(lines, check(75, 100), check(150, 100, checked=False)) == ["[x] Yes", "[ ] No"]


def test_an_amount_is_no_label() -> None:
    lines = [line("for resale", 100, 100), line("$", 250, 100)]
    assert texts(lines, check(220, 100)) == ["for resale [x]", "$"]


def test_what_was_read_of_a_box_is_replaced() -> None:
    assert texts([line("□ Yes □ No", 100, 100)], check(100, 100), check(155, 100, checked=False)) == ["[x] Yes [ ] No"]
    assert texts([line("O Yes", 100, 100)], check(100, 100)) == ["[x] Yes"]
    assert texts([line("V", 100, 100)], check(100, 100)) == ["[x]"]


def test_words_are_not_taken_for_a_box() -> None:
    assert texts([line("Option X or O", 140, 100)], check(110, 100)) == ["[x] Option X or O"]


def test_a_box_without_a_label_changes_nothing() -> None:
    assert texts([line("Far away", 100, 400)], check(110, 100)) == ["Far away"]


def test_rows_with_boxes_are_a_task_list() -> None:
    lines = [line(f"Choice {i}", 140, 100 + i * PITCH) for i in range(3)]
    boxes = [check(110, 100 + i * PITCH, checked=i == 1) for i in range(3)]
    found = arrange(lines, PAGE, PageEvidence([], check_boxes=boxes))
    assert found.markdown == "- [ ] Choice 0\n- [x] Choice 1\n- [ ] Choice 2"


def test_two_boxes_found_where_one_was_read_leave_one_mark() -> None:
    """The second mark was written into the first: `[ ] x]`."""
    boxes = [CheckBox((100, 100, 120, 120), checked=True), CheckBox((101, 101, 121, 121), checked=False)]
    assert [found.text for found in with_marks([line("O", 100, 100)], boxes)] in (["[x]"], ["[ ]"])


def test_boxes_are_blocks_with_the_label_beside_them() -> None:
    lines = [line("Smoker", 60, 100, 80), line("Married Single", 60, 160, 160), line("Paid:", 60, 220, 60)]
    boxes = [
        CheckBox((30, 100, 50, 120), checked=True, confidence=0.9),
        CheckBox((30, 160, 50, 180), checked=False),
        CheckBox((130, 220, 150, 240), checked=True),
        CheckBox((600, 500, 620, 520), checked=False),
    ]
    arranged = arrange(lines, PAGE, PageEvidence(check_boxes=boxes))
    found = [block.checkbox for block in arranged.blocks if block.type is BlockType.CHECKBOX]
    assert found == [
        CheckMark(checked=True, label="Smoker", confidence=0.9),
        CheckMark(checked=False, label="Married Single", confidence=1.0),
        CheckMark(checked=True, label="Paid:", confidence=1.0),
        CheckMark(checked=False, label="", confidence=1.0),
    ]
    assert all(block.type is BlockType.CHECKBOX for block in arranged.blocks[-4:])
    assert "[x] Smoker" in arranged.text
