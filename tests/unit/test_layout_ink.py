"""Text outside all regions, found by its ink."""

from __future__ import annotations

import numpy as np

from inkgate.layout.ink import merge_boxes, text_outside
from inkgate.page import RgbArray
from inkgate.types import BlockType, Box, Size
from support.layouts import region
from support.ppocr import drawn

SIZE = (800, 1000)
LINES = ["First line of the page", "second line of it", "third and last line"]
PAGE = drawn(LINES, SIZE)


def inside(inner: Box, outer: Box) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def test_all_text_is_found_where_there_are_no_regions() -> None:
    found = text_outside(PAGE, [])
    rows, columns = np.nonzero((PAGE < 128).any(axis=2))
    assert len(found) == 3
    for y, x in zip(rows.tolist(), columns.tolist(), strict=True):
        assert any(inside((x, y, x, y), box) for box in found)


def test_text_in_regions_is_not_found_again() -> None:
    assert text_outside(PAGE, [(20, 10, 500, 170)]) == []


def test_the_overlooked_line_alone_is_found() -> None:
    (box,) = text_outside(PAGE, [(20, 10, 500, 115)])
    assert 110 < box[1] < 140
    assert box[3] < 170


def test_empty_paper_rules_pictures_and_specks_are_no_text() -> None:
    paper = np.full((1000, 800, 3), 255, np.uint8)
    assert text_outside(paper, []) == []

    ruled = paper.copy()
    ruled[500:503, 50:750] = 0
    ruled[100:900, 40:43] = 0
    assert text_outside(ruled, []) == []

    picture = paper.copy()
    picture[200:600, 200:600] = np.linspace(0, 255, 400, dtype=np.uint8)[None, :, None]
    assert text_outside(picture, []) == []

    dirty = paper.copy()
    for x, y in ((100, 100), (300, 700), (700, 400)):
        dirty[y : y + 3, x : x + 3] = 0
    assert text_outside(dirty, []) == []


def test_boxes_of_a_large_page_are_in_its_own_pixels() -> None:
    large: RgbArray = drawn(["Large page"], (2400, 3000), font_px=90)
    (box,) = text_outside(large, [])
    rows, columns = np.nonzero((large < 128).any(axis=2))
    assert inside((columns.min(), rows.min(), columns.max(), rows.max()), box)
    assert box[3] < 250


def test_the_end_of_a_regions_lines_widens_it() -> None:
    text = region(BlockType.TEXT, 100, 100, 600, 200)
    (wider,) = merge_boxes([text], [(604, 120, 640, 160)], Size(800, 1000))
    assert wider.box == (100.0, 100.0, 640.0, 200.0)
    assert wider.type is BlockType.TEXT


def test_what_stands_apart_is_a_region_of_its_own() -> None:
    text = region(BlockType.TEXT, 100, 100, 600, 200)
    kept, other = merge_boxes([text], [(100, 400, 300, 430)], Size(800, 1000))
    assert kept == text
    assert (other.type, other.box) == (BlockType.TEXT, (100, 400, 300, 430))


def test_a_region_never_grows_into_another() -> None:
    left, right = region(BlockType.TEXT, 100, 100, 390, 200), region(BlockType.TEXT, 400, 100, 700, 200)
    found = merge_boxes([left, right], [(391, 120, 405, 150)], Size(800, 1000))
    assert found[0] == left
