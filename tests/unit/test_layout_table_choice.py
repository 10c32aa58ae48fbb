"""What is measured of a table's grid, which tables are taken together, and which rows are a header."""

from dataclasses import replace
from itertools import pairwise

import pytest

from inkgate.layout.evidence import NO_EVIDENCE, PageEvidence
from inkgate.layout.order.frame import Frame, LayoutPiece, Row
from inkgate.layout.tables.choice import TableCandidate, selected
from inkgate.layout.tables.features import NAMES, measures_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with, plain_grid
from inkgate.layout.tables.headers import with_headers
from inkgate.layout.tables.places import TablePlace
from inkgate.layout.tables.view import view_of
from inkgate.layout.tables.words import grid_of, with_continued_rows, with_joined_rows
from inkgate_client.types import Box

TABLE = (("Name", "2019", "2020"), ("Apples", "1", "2"), ("Pears", "3", "4"), ("Plums", "5", "6"))


def rows_of(texts: tuple[tuple[str, ...], ...] = TABLE, pitch: float = 30.0) -> list[Row]:
    """Rows of cells of one width; an empty text is no piece."""
    rows: list[Row] = []
    index = 0
    for number, line in enumerate(texts):
        rows.append([])
        for column, text in enumerate(line):
            left, top = 200.0 * column, pitch * number
            if text:
                rows[-1].append(LayoutPiece(index, text, left, top, left + 80, top + 20))
                index += 1
    return rows


def grid(texts: tuple[tuple[str, ...], ...] = TABLE) -> Grid:
    return plain_grid([[[piece] for piece in row] for row in rows_of(texts)])


def measured(found: Grid, name: str, rules: tuple[Box, ...] = ()) -> float:
    rows = tuple(rows_of())
    frame = Frame(tuple(piece for row in rows for piece in row), 20.0, 0, vertical=False, angle=0.0)
    page = view_of(frame, PageEvidence(rules=rules))
    return float(measures_of(page, [(TablePlace(rows, 0, len(rows)), found, "words")])[0, NAMES.index(name)])


def texts(found: Grid) -> list[list[str]]:
    return [[" ".join(piece.text for piece in cell.pieces) for cell in row] for row in found.by_row]


def header_rows(found: Grid) -> set[int]:
    return {cell.row for cell in with_headers(found).cells if cell.header}


def test_a_grid_that_follows_the_words_is_not_contradicted() -> None:
    assert measured(grid(), "contradictions") == 0


def test_a_grid_that_lumps_columns_or_rows_is_contradicted() -> None:
    rows = rows_of()
    one_column = plain_grid([[row] for row in rows])
    one_row = plain_grid([[[row[i] for row in rows] for i in range(3)]])
    for wrong in (one_column, one_row):
        assert measured(wrong, "contradictions") > 0.3


def test_lines_drawn_around_a_table_and_between_its_rows_are_measured() -> None:
    rows = rows_of()
    ends = [(row[0].left, max(piece.right for piece in row), row[0].bottom, row[0].top) for row in rows]
    width, count = (ends[0][0], max(right for _, right, _, _ in ends)), len(rows) - 1
    between = [(below[3] + above[2]) / 2 for above, below in pairwise(ends)]
    head: Box = (width[0], between[0] - 1, width[1], between[0] + 1)
    assert measured(grid(), "rule_under_head", (head,)) == 1
    assert measured(grid(), "ruled_rows", (head,)) == pytest.approx(1 / count)
    short: Box = (*head[:2], width[0] + 60, head[3])
    assert measured(grid(), "ruled_rows", (short,)) == 0
    above: Box = (width[0], ends[0][3] - 10, width[1], ends[0][3] - 8)
    assert (measured(grid(), "rule_above", (above,)), measured(grid(), "rule_below", (above,))) == (1, 0)
    column = rows[0][0].right + 5
    upright: Box = (column - 1, ends[0][3], column + 1, ends[-1][2])
    assert measured(grid(), "ruled_columns", (upright,)) > 0
    assert measured(grid(), "ruled_columns", (head,)) == 0


def test_each_measure_has_a_name() -> None:
    rows = tuple(rows_of())
    frame = Frame(tuple(piece for row in rows for piece in row), 20.0, 0, vertical=False, angle=0.0)
    found = measures_of(view_of(frame, NO_EVIDENCE), [(TablePlace(rows, 0, len(rows)), grid(), "words")])[0].tolist()
    assert len(found) == len(NAMES) == len(set(NAMES))


def candidate(first: int, stop: int, probability: float) -> TableCandidate:
    """Some of the rows of TABLE."""
    rows = tuple(rows_of())
    return TableCandidate(TablePlace(rows, first, stop), grid_of(rows[first:stop]), "words", probability)


def test_of_overlapping_tables_the_most_probable_ones_are_taken() -> None:
    whole, upper, lower = candidate(0, 4, 0.9), candidate(0, 2, 0.6), candidate(2, 4, 0.6)
    assert selected([upper, whole, lower]) == [whole]
    assert selected([upper, replace(whole, probability=0.45), lower]) == [upper, lower]


def test_improbable_tables_are_text() -> None:
    assert selected([candidate(0, 4, 0.1)]) == []


def test_rows_that_are_apart_hold_the_lines_between() -> None:
    rows = rows_of((("a", "1"), ("b", ""), ("c", "2"), ("d", "")))
    near = [[replace(piece, top=piece.top - 8, bottom=piece.bottom - 8) for piece in row] for row in (rows[1], rows[3])]
    joined = with_joined_rows(grid_of([rows[0], near[0], rows[2], near[1]]))
    assert joined is not None
    assert texts(joined) == [["a b", "1"], ["c d", "2"]]
    assert with_joined_rows(grid_of(rows)) is None


def test_a_row_of_words_only_goes_on_with_the_row_above() -> None:
    joined = with_continued_rows(
        grid_of(rows_of((("1", "first", "2.50"), ("", "goes on", ""), ("2", "other", "3.50"))))
    )
    assert joined is not None
    assert texts(joined) == [["1", "first goes on", "2.50"], ["2", "other", "3.50"]]


def test_words_and_years_above_numbers_are_a_header() -> None:
    assert header_rows(grid()) == {0}


def test_a_table_of_numbers_only_has_no_header() -> None:
    assert header_rows(grid((("12", "13"), ("14", "15")))) == set()


def test_headings_over_several_columns_make_a_header_of_two_rows() -> None:
    (top, below, *body) = rows_of((("Trait", "Mean", " "), (" ", "men", "women"), ("Height", "1.8", "1.7")))
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
