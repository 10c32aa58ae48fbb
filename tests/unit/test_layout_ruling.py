"""The lines of drawn pages, and the cells of ruled tables between them."""

import cv2
import numpy as np
import pytest

from inkgate.layout.tables.ruling import MAX_RULES, find_ruling
from inkgate.page import RgbArray
from inkgate_client.types import Box

ACROSS = [100, 300, 560, 900]
DOWN = [200, 250, 340, 390, 440]


def paper(width: int = 1000, height: int = 1400) -> RgbArray:
    return np.full((height, width, 3), 255, np.uint8)


def find_cells(page: RgbArray) -> list[Box]:
    return find_ruling(page).cells


def rule(page: RgbArray, x0: int, y0: int, x1: int, y1: int, thick: int = 2) -> None:
    cv2.rectangle(page, (x0, y0), (x1 + (thick - 1) * (x0 == x1), y1 + (thick - 1) * (y0 == y1)), (0, 0, 0), -1)


def table(across: list[int] = ACROSS, down: list[int] = DOWN, thick: int = 2) -> RgbArray:
    page = paper()
    for y in down:
        rule(page, across[0], y, across[-1], y, thick)
    for x in across:
        rule(page, x, down[0], x, down[-1], thick)
    return page


def expected(across: list[int] = ACROSS, down: list[int] = DOWN) -> list[Box]:
    return [
        (across[i], down[j], across[i + 1], down[j + 1]) for j in range(len(down) - 1) for i in range(len(across) - 1)
    ]


def write(page: RgbArray, text: str, x: int, y: int, scale: float = 0.7) -> None:
    cv2.putText(page, text, (x, y), cv2.FONT_HERSHEY_DUPLEX, scale, (0, 0, 0), 1, cv2.LINE_AA)


def assert_near(found: list[Box], wanted: list[Box], within: float = 9.0) -> None:
    assert len(found) == len(wanted)
    misses = np.abs(np.array(sorted(found)) - np.array(sorted(wanted)))
    assert misses.max() <= within


@pytest.mark.parametrize("thick", [1, 2, 5])
def test_each_cell_of_a_table_is_found_in_reading_order(thick: int) -> None:
    page = table(thick=thick)
    for x in ACROSS[:-1]:
        for y in DOWN[:-1]:
            write(page, "Cell text", x + 20, y + 30)
    found = find_cells(page)
    assert_near(found, expected())
    assert [cell[1] for cell in found] == sorted(cell[1] for cell in found)


def test_cells_are_in_the_pixels_of_a_large_page() -> None:
    page = cv2.resize(table(), None, fx=2.5, fy=2.5, interpolation=cv2.INTER_NEAREST)
    wanted = [(a * 2.5, b * 2.5, c * 2.5, d * 2.5) for a, b, c, d in expected()]
    assert_near(find_cells(page.astype(np.uint8)), wanted, within=22.0)


def test_merged_cells_are_one_cell_each() -> None:
    page = table()
    page[205:248, 290:310] = 255  # joins the first row's cells
    page[335:348, 106:296] = 255  # joins the first column's cells
    found = find_cells(page)
    wanted = [cell for cell in expected() if cell[:2] not in {(100, 200), (300, 200), (100, 250), (100, 340)}]
    assert_near(found, [*wanted, (100, 200, 560, 250), (100, 250, 300, 390)])


def test_a_missing_outer_border_is_made_good() -> None:
    page = paper()
    for y in DOWN:
        rule(page, ACROSS[0], y, ACROSS[-1], y)
    for x in ACROSS[1:-1]:
        rule(page, x, DOWN[0], x, DOWN[-1])
    assert_near(find_cells(page), expected())


def test_double_lines_are_no_cells() -> None:
    page = table()
    for y in DOWN:
        rule(page, ACROSS[0], y + 5, ACROSS[-1], y + 5)
    assert len(find_cells(page)) == len(expected())


@pytest.mark.parametrize("degrees", [-1.5, 1.0, 2.0])
def test_a_slightly_skewed_table_keeps_its_cells(degrees: float) -> None:
    page = table()
    turn = cv2.getRotationMatrix2D((500.0, 700.0), degrees, 1.0)
    skewed = cv2.warpAffine(page, turn, (1000, 1400), flags=cv2.INTER_AREA, borderValue=(255, 255, 255))
    found = find_cells(skewed.astype(np.uint8))
    assert len(found) == len(expected())
    heights = sorted(bottom - top for _, top, _, bottom in found)
    assert heights[0] > 30
    assert heights[-1] < 100


def test_text_that_touches_a_line_does_not_open_the_cells() -> None:
    page = table()
    for x in ACROSS[:-1]:
        write(page, "groupings", x + 40, 247, 0.9)
    assert_near(find_cells(page), expected())


def test_dashed_lines_make_no_cells() -> None:
    page = table()
    page[:, ::14] = page[:, 1::14] = page[:, 2::14] = page[:, 3::14] = 255
    page[::14] = page[1::14] = page[2::14] = page[3::14] = 255
    assert find_cells(page) == []


def test_a_page_of_text_has_no_cells() -> None:
    page = paper()
    for i in range(40):
        write(page, "The quick brown fox jumps over the lazy dog; HELLO FILTH 1234567890", 60, 60 + 32 * i)
    assert find_cells(page) == []


def test_underlines_frames_and_rules_alone_have_no_cells() -> None:
    page = paper()
    for y in (100, 140, 400):
        rule(page, 100, y, 900, y)
    for x0, y0, x1, y1 in ((100, 500, 400, 700), (600, 500, 900, 700), (50, 50, 950, 1350)):
        cv2.rectangle(page, (x0, y0), (x1, y1), (0, 0, 0), 2)
    assert find_cells(page) == []


def test_one_row_of_boxes_is_no_table() -> None:
    assert find_cells(table(down=[200, 260])) == []


def test_noise_and_colour_fields_have_no_cells() -> None:
    random = np.random.default_rng(5)
    rough = random.integers(0, 256, (60, 45, 3), dtype=np.uint8)
    photo = cv2.resize(rough, (900, 1200), interpolation=cv2.INTER_CUBIC).astype(np.int16)
    photo += random.integers(-30, 30, photo.shape, dtype=np.int16)
    assert find_cells(np.clip(photo, 0, 255).astype(np.uint8)) == []
    fields = paper()
    for i in range(12):
        for j in range(8):
            fields[100 + 60 * i : 160 + 60 * i, 100 + 90 * j : 190 + 90 * j] = random.integers(60, 256, 3)
    assert find_cells(fields) == []


def test_squared_paper_is_no_table() -> None:
    page = paper(1600, 1600)
    page[::14] = page[:, ::14] = 0
    assert find_cells(page) == []


def test_images_of_any_size_are_borne() -> None:
    cases = [(1, 1), (31, 900), (32, 32), (3000, 60), (48, 20000), (20000, 3)]
    assert [size for size in cases if find_cells(np.zeros((*size, 3), np.uint8)) != []] == []


def test_most_cells_of_a_small_picture_are_found_where_its_text_touches_the_lines() -> None:
    across, down = range(20, 1421, 280), range(20, 981, 40)
    large = np.full((1020, 1460, 3), 255, np.uint8)
    large[[*down], 20:1420] = 200
    large[20:980, [*across]] = 200
    for x in across[:-1]:
        for y in down[:-1]:
            write(large, "123 of 456", x + 12, y + 28, 1.0)
    small = cv2.resize(large, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    cells = find_cells(np.asarray(small, np.uint8))
    assert len(cells) > 0.9 * 5 * 24
    assert {round((left - 10) / 140) for left, *_ in cells} == set(range(5))


def test_lines_that_make_no_table_are_found() -> None:
    page = paper()
    rule(page, 100, 300, 900, 300, thick=3)
    rule(page, 500, 400, 500, 1300)
    write(page, "A word of the page", 120, 290)
    found = find_ruling(page)
    assert found.cells == []
    upright, level = sorted(found.rules, key=lambda box: box[2] - box[0])
    assert np.abs(np.array(level) - (100, 300, 900, 303)).max() <= 9
    assert np.abs(np.array(upright) - (500, 400, 502, 1300)).max() <= 9


def test_lines_of_a_large_page_are_in_its_pixels() -> None:
    page = paper(3000, 4000)
    rule(page, 300, 900, 2700, 900, thick=6)
    (found,) = find_ruling(page).rules
    assert np.abs(np.array(found) - (300, 900, 2700, 906)).max() <= 30


def test_the_longest_lines_of_a_page_full_of_them_are_kept() -> None:
    page = paper()
    for y in range(20, 1380, 10):
        for x in (20, 350, 680):
            rule(page, x, y, x + 300, y)
    rule(page, 10, 10, 990, 10, thick=3)
    found = find_ruling(page).rules
    assert len(found) == MAX_RULES
    assert found[0][2] - found[0][0] > 900
