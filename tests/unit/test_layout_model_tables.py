"""Our own lines in the cells of the table model."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inkgate.layout.evidence import CellGuess, TableGuess
from inkgate.layout.order.frame import measure
from inkgate.layout.tables.by_model import model_grid
from inkgate.layout.tables.grid import Grid
from inkgate.layout.tables.slanet import tokens_of
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Box, Line
from support.layouts import line

ALPHABET = ["<thead>", "</thead>", "<tr>", "</tr>", "<td", ">", "</td>", ' colspan="2"', "<td></td>"]


def cell(row: int, column: int, box: Box, row_span: int = 1, column_span: int = 1) -> CellGuess:
    return CellGuess(row, column, row_span, column_span, box)


def guess(*cells: CellGuess) -> TableGuess:
    return TableGuess((0, 0, 1000, 1000), cells, 0.9)


def square(rows: int = 3, columns: int = 3) -> TableGuess:
    """Boxes of 80 by 20 at a distance of 100 by 30."""
    return guess(
        *(cell(i, j, (j * 100, i * 30, j * 100 + 80, i * 30 + 20)) for i in range(rows) for j in range(columns))
    )


def filled(table: TableGuess, lines: list[Line]) -> Grid:
    frame = measure(lines)
    return model_grid(frame, table, frame.pieces)


def texts(grid: Grid) -> dict[tuple[int, int], str]:
    return {(cell.row, cell.column): " ".join(piece.text for piece in cell.pieces) for cell in grid.cells}


def test_lines_are_put_into_the_cells_that_cover_them() -> None:
    lines = [line(f"{i}{j}", j * 100 + 5, i * 30, 60) for i in range(3) for j in range(3)]
    assert texts(filled(square(), lines)) == {(i, j): f"{i}{j}" for i in range(3) for j in range(3)}


def test_a_line_beside_all_boxes_is_in_the_nearest_cell() -> None:
    lines = [line("left", -30, 0, 25), line("below", 200, 84, 60)]
    found = texts(filled(square(), lines))
    assert (found[0, 0], found[2, 2]) == ("left", "below")


def test_a_line_across_cells_stays_whole_in_the_first() -> None:
    found = texts(filled(square(), [line("one two", 5, 30, 180)]))
    assert [text for text in found.values() if text] == ["one two"]
    assert found[1, 0] == "one two"


def test_lines_of_a_cell_are_read_from_top_to_bottom() -> None:
    table = guess(cell(0, 0, (0, 0, 80, 20)), cell(0, 1, (100, 0, 300, 60), row_span=2), cell(1, 0, (0, 30, 80, 50)))
    lines = [line("second", 100, 35, 60), line("first", 100, 5, 60), line("a", 0, 0, 20), line("b", 0, 30, 20)]
    grid = filled(table, lines)
    assert texts(grid)[0, 1] == "first second"
    assert (grid.rows, grid.columns) == (2, 2)
    assert next(cell.row_span for cell in grid.cells if cell.column == 1) == 2


def test_a_box_that_drifts_into_the_row_above_keeps_its_text_in_its_row() -> None:
    cells = list(square(3, 4).cells)
    for i in (7, 11):  # the last cells of the second and third row
        left, top, right, bottom = cells[i].box
        cells[i] = cell(cells[i].row, cells[i].column, (left, top - 22, right, bottom - 22))
    lines = [line(f"{i}{j}", j * 100 + 5, i * 30, 60) for i in range(3) for j in range(4)]
    assert texts(filled(guess(*cells), lines)) == {(i, j): f"{i}{j}" for i in range(3) for j in range(4)}


def test_cells_keep_their_boxes_and_headers() -> None:
    table = guess(CellGuess(0, 0, 1, 2, (0, 0, 180, 20), header=True), cell(1, 0, (0, 30, 80, 50)))
    grid = filled(table, [line("head", 20, 0, 60), line("a", 0, 30, 20)])
    assert [(cell.row, cell.column, cell.box, cell.header) for cell in grid.cells] == [
        (0, 0, (0, 0, 180, 20), True),
        (1, 0, (0, 30, 80, 50), False),
        (1, 1, None, False),
    ]


NUMBERS = st.floats(-50, 400, width=16)
GUESSES = st.lists(
    st.builds(
        lambda row, column, high, wide, x, y, w, h: cell(row, column, (x, y, x + abs(w), y + abs(h)), high, wide),
        *(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4)),
        *(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    ),
    min_size=1,
    max_size=12,
)


@given(GUESSES, st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(1, 300, width=16)), max_size=15))
def test_every_line_is_in_one_cell(cells: list[CellGuess], places: list[tuple[float, float, float]]) -> None:
    lines = [line(str(i), left, top, width) for i, (left, top, width) in enumerate(places)]
    grid = filled(guess(*cells), lines)
    assert Counter(piece.text for piece in grid.pieces) == Counter(str(i) for i in range(len(lines)))
    taken = Counter(place for cell in grid.cells for place in cell.places)
    assert set(taken.values()) == {1}
    assert len(taken) == grid.rows * grid.columns


def outputs(*tokens: str) -> tuple[FloatArray, FloatArray]:
    """Scores and boxes of a model that writes these tokens; `end` ends."""
    names = ["begin", *ALPHABET, "end"]
    scores = np.zeros((len(tokens), len(names)), dtype=np.float32)
    scores[range(len(tokens)), [names.index(token) for token in tokens]] = 0.8
    return scores, np.tile(np.array([0.1, 0.1, 0.5, 0.1, 0.5, 0.2, 0.1, 0.2], dtype=np.float32), (len(tokens), 1))


def test_tokens_end_at_the_end_and_cells_have_boxes_in_pixels() -> None:
    tokens, confidence = tokens_of(*outputs("<tr>", "<td></td>", "</tr>", "end", "<tr>"), ALPHABET, (100, 200))
    assert [token.text for token in tokens] == ["<tr>", "<td></td>", "</tr>"]
    assert [token.box is None for token in tokens] == [True, False, True]
    assert np.allclose(tokens[1].box or (), (20, 20, 100, 40))  # shares of the longer side
    assert round(confidence, 3) == 0.8


def test_a_table_that_does_not_end_is_none() -> None:
    assert tokens_of(*outputs("<tr>", "<td></td>", "<td></td>"), ALPHABET, (100, 200)) == ([], 0.0)


def test_boxes_of_four_numbers_and_of_none_lie_in_the_image() -> None:
    scores, boxes = outputs("<td></td>", "<td", "end")
    boxes = boxes[:, [0, 1, 4, 5]]
    boxes[1] = np.nan, -np.inf, np.inf, 7.0
    tokens, _ = tokens_of(scores, boxes, ALPHABET, (100, 200))
    assert np.allclose(tokens[0].box or (), (20, 20, 100, 40))
    assert tokens[1].box == (0, 0, 200, 100)
