"""The grid that explains the words is taken, and the rows above the numbers are its header."""

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.tables.choice import agrees, best_grid, contradictions
from inkgate.layout.tables.grid import Grid, GridCell, grid_with, plain_grid
from inkgate.layout.tables.headers import with_headers

NAMES = (("Name", "2019", "2020"), ("Apples", "1", "2"), ("Pears", "3", "4"), ("Plums", "5", "6"))


def pieces(texts: tuple[tuple[str, ...], ...] = NAMES) -> list[list[LayoutPiece]]:
    return [
        [
            LayoutPiece(
                row * len(line) + column, text, 200.0 * column, 30.0 * row, 200.0 * column + 80, 30.0 * row + 20
            )
            for column, text in enumerate(line)
        ]
        for row, line in enumerate(texts)
    ]


def grid(texts: tuple[tuple[str, ...], ...] = NAMES) -> Grid:
    return plain_grid([[[piece] for piece in row] for row in pieces(texts)])


def header_rows(found: Grid) -> set[int]:
    return {cell.row for cell in with_headers(found).cells if cell.header}


def test_a_grid_that_follows_the_words_is_not_contradicted() -> None:
    assert contradictions(grid()) == 0
    assert agrees(grid())


def test_a_grid_that_lumps_columns_or_rows_loses_to_one_that_does_not() -> None:
    rows = pieces()
    one_column = plain_grid([[row] for row in rows])
    one_row = plain_grid([[[row[i] for row in rows] for i in range(3)]])
    for wrong in (one_column, one_row):
        assert not agrees(wrong)
        assert best_grid([wrong, grid()]) == grid()


def test_of_grids_that_explain_the_words_the_more_trusted_is_taken() -> None:
    wide = grid_with([*grid().cells, GridCell(0, 3)])
    assert best_grid([wide, grid()]) == wide
    assert best_grid([]) is None


def test_two_lines_of_words_in_a_cell_are_no_contradiction() -> None:
    first, second = LayoutPiece(0, "wrapped", 0, 0, 80, 20), LayoutPiece(1, "text", 0, 24, 60, 44)
    assert agrees(grid_with([GridCell(0, 0, (first, second)), GridCell(0, 1)]))


def test_words_and_years_above_numbers_are_a_header() -> None:
    assert header_rows(grid()) == {0}


def test_a_table_of_numbers_only_has_no_header() -> None:
    assert header_rows(grid((("12", "13"), ("14", "15")))) == set()


def test_headings_over_several_columns_make_a_header_of_two_rows() -> None:
    (top, below, *body) = pieces((("Trait", "Mean", ""), ("", "men", "women"), ("Height", "1.8", "1.7")))
    cells = [
        GridCell(0, 0, (top[0],)),
        GridCell(0, 1, (top[1],), column_span=2),
        *(GridCell(1, i, (below[i],)) for i in (1, 2)),
        *(GridCell(2, i, (body[0][i],)) for i in range(3)),
    ]
    assert header_rows(grid_with(cells)) == {0, 1}


def test_a_models_header_is_kept() -> None:
    cells = [GridCell(cell.row, cell.column, cell.pieces, header=cell.row < 2) for cell in grid().cells]
    assert header_rows(grid_with(cells)) == {0, 1}
