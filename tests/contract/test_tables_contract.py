"""What every TableModel does, asked of the real one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from inkgate.layout.evidence import TableModel
from inkgate.layout.tables.slanet import SlanetTables
from inkgate.page import RgbArray

COLUMNS, ROWS = 4, 6
LEFT, TOP, WIDE, HIGH = 30, 20, 160, 40


@pytest.fixture(scope="module")
def model() -> TableModel:
    return SlanetTables(threads=1)


def table() -> RgbArray:
    """A table without vertical lines, cut out with its rules; one is below its header."""
    image = Image.new("RGB", (LEFT + COLUMNS * WIDE + 20, TOP + ROWS * HIGH + 20), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(20)
    for y in (TOP, TOP + HIGH, TOP + ROWS * HIGH):
        pen.line((LEFT, y, LEFT + COLUMNS * WIDE, y), fill="black", width=2)
    for i in range(ROWS):
        for j in range(COLUMNS):
            text = ["Name", "Mean", "Median", "Total"][j] if i == 0 else (f"Sample {i}" if j == 0 else f"{i}.{j}7")
            pen.text((LEFT + j * WIDE, TOP + i * HIGH + 8), text, fill="black", font=font)
    right = LEFT + (COLUMNS - 1) * WIDE + 55
    return np.ascontiguousarray(np.asarray(image, dtype=np.uint8)[TOP - 4 : TOP + ROWS * HIGH + 4, LEFT - 5 : right])


def test_cells_are_found_where_their_text_is(model: TableModel) -> None:
    found = model.find(table())
    assert found is not None
    places = [(cell.row, cell.column) for cell in found.cells]
    assert places == [(i, j) for i in range(ROWS) for j in range(COLUMNS)]
    for cell in found.cells:
        left, top, right, bottom = cell.box
        x, y = 5 + cell.column * WIDE, 4 + cell.row * HIGH
        assert left < x + 40
        assert right > x + 5
        assert x - 30 < (left + right) / 2 < x + WIDE
        assert y < (top + bottom) / 2 < y + HIGH


def test_the_first_row_is_a_header(model: TableModel) -> None:
    found = model.find(table())
    assert found is not None
    assert {cell.row for cell in found.cells if cell.header} == {0}
    assert found.confidence > 0.9


def test_the_size_of_the_image_does_not_change_the_cells(model: TableModel) -> None:
    large = np.kron(table(), np.ones((2, 2, 1), dtype=np.uint8))
    found = [model.find(pixels) for pixels in (table(), large)]
    assert found[0] is not None
    assert found[1] is not None
    assert [(cell.row, cell.column) for cell in found[0].cells] == [(cell.row, cell.column) for cell in found[1].cells]
    assert found[1].box == (0, 0, large.shape[1], large.shape[0])


@pytest.mark.parametrize("shape", [(1, 1, 3), (0, 10, 3), (3000, 12, 3), (12, 3000, 3), (300, 300, 3)])
def test_images_of_any_shape_are_looked_at(model: TableModel, shape: tuple[int, int, int]) -> None:
    noise = np.random.default_rng(5).integers(0, 255, shape, dtype=np.uint8)
    found = model.find(noise)
    for cell in found.cells if found else ():
        assert 0 <= cell.box[0] <= cell.box[2] <= shape[1]
        assert 0 <= cell.box[1] <= cell.box[3] <= shape[0]


def test_many_threads_find_the_same() -> None:
    model, pixels = SlanetTables(threads=1), table()  # loads the model in one of the threads
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(model.find, [pixels] * 4))
    assert found == [found[0]] * 4


def test_a_view_into_a_larger_image_is_read_as_it_is_seen(model: TableModel) -> None:
    pixels = table()
    framed = np.zeros((pixels.shape[0] + 20, pixels.shape[1] + 20, 3), dtype=np.uint8)
    framed[10:-10, 10:-10] = pixels
    assert model.find(framed[10:-10, 10:-10]) == model.find(pixels)
