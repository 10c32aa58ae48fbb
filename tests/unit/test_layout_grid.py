"""Grids of tables: cells with spans cover them exactly, and no piece is lost."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.tables.blocks import cell_text, table_markdown, table_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with, plain_grid, without_empty_rows
from inkgate_client.types import Line, Table, TableCell
from support.layouts import line


def piece(number: int, text: str = "text", left: float = 0, top: float = 0) -> LayoutPiece:
    return LayoutPiece(number, text, left, top, left + 100, top + 20)


def check_cover(grid: Grid | Table) -> None:
    places = Counter(
        (cell.row + down, cell.column + across)
        for cell in grid.cells
        for down in range(cell.row_span)
        for across in range(cell.column_span)
    )
    assert places == Counter((row, column) for row in range(grid.rows) for column in range(grid.columns))
    assert [(cell.row, cell.column) for cell in grid.cells] == sorted((cell.row, cell.column) for cell in grid.cells)


spans = st.integers(1, 4)
places = st.integers(0, 5)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(places, places, spans, spans, st.integers(0, 2)), max_size=15))
def test_any_cells_make_a_grid_that_they_cover_exactly(wanted: list[tuple[int, int, int, int, int]]) -> None:
    cells, count = [], 0
    for row, column, high, wide, pieces in wanted:
        held = tuple(piece(count + i) for i in range(pieces))
        cells.append(GridCell(row, column, held, high, wide))
        count += pieces
    grid = grid_with(cells)
    check_cover(grid)
    check_cover(without_empty_rows(grid))
    assert without_empty_rows(grid).pieces == grid.pieces
    assert sorted(found.index for found in grid.pieces) == list(range(count))
    table = table_of(grid, [Line("text", line("text", 0, 0).quad, 0.9)] * count, 7)
    check_cover(table)
    assert [number for cell in table.cells for number in cell.lines] == list(range(7, 7 + count))


def test_a_cell_that_covers_another_is_cut() -> None:
    grid = grid_with([GridCell(0, 0, (piece(0),), column_span=3), GridCell(0, 2, (piece(1),)), GridCell(1, 0)])
    assert [(cell.column, cell.column_span) for cell in grid.cells if cell.row == 0] == [(0, 2), (2, 1)]
    assert [found.index for found in grid.pieces] == [0, 1]


def test_rows_without_text_are_dropped_and_spans_over_them_are_shorter() -> None:
    grid = grid_with(
        [GridCell(0, 0, (piece(0),), row_span=3), GridCell(0, 1, (piece(1),)), GridCell(2, 1, (piece(2),))]
    )
    (first, *others) = without_empty_rows(grid).cells
    assert first.row_span == 2
    assert [(cell.row, cell.column) for cell in others] == [(0, 1), (1, 1)]


def test_two_cells_at_one_place_become_one() -> None:
    grid = grid_with([GridCell(0, 0, (piece(0),)), GridCell(0, 0, (piece(1),)), GridCell(0, 1)])
    assert [found.index for found in grid.cells[0].pieces] == [0, 1]


def test_lines_of_a_cell_are_joined_to_one() -> None:
    cell = GridCell(0, 0, (piece(0, "compre-"), piece(1, "hension"), piece(2, "of", top=40), piece(3, "it", 120, 40)))
    rows = [piece(0, "compre-"), piece(1, "hension", top=20), piece(2, "of", top=40), piece(3, "it", 120, 40)]
    assert cell_text(GridCell(0, 0, tuple(rows))) == "comprehension of it"
    assert cell_text(cell).endswith("of it")


def test_a_table_without_spans_is_a_pipe_table_and_one_with_two_rows_of_headers_is_html() -> None:
    grid = plain_grid([[[piece(-1, "a|b")], []], [[piece(-1, "c")], [piece(-1, "d")]]])
    assert table_markdown(table_of(grid, [], 0)).splitlines() == ["| a\\|b |  |", "| --- | --- |", "| c | d |"]
    heads = [TableCell(row, 0, f"head {row}", header=True) for row in (0, 1)]
    content = table_markdown(Table(3, 1, (*heads, TableCell(2, 0, "x < y"))))
    assert content == (
        "<table><thead><tr><th>head 0</th></tr><tr><th>head 1</th></tr></thead>"
        "<tbody><tr><td>x &lt; y</td></tr></tbody></table>"
    )
