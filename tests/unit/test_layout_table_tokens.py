"""Cells from the tokens of a table model."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from inkgate.layout.evidence import CellGuess
from inkgate.layout.tables.tokens import MAX_CELLS, MAX_COLUMNS, TableToken, cells_of

BOX = (0.0, 0.0, 10.0, 10.0)
CELL = ["<td></td>"]
TOKENS = [
    *("<thead>", "</thead>", "<tbody>", "</tbody>", "<tr>", "</tr>", "<td", ">", "</td>", "<td></td>"),
    *(f' {side}span="{count}"' for side, count in product(("col", "row"), (2, 3, 20, 9999))),
]


def cells(*texts: str) -> list[tuple[int, int, int, int]]:
    """Row, column, row span and column span of each cell."""
    return [(cell.row, cell.column, cell.row_span, cell.column_span) for cell in guesses(*texts)]


def guesses(*texts: str) -> tuple[CellGuess, ...]:
    return cells_of([TableToken(text, BOX if text in ("<td", "<td></td>") else None) for text in texts])


def spanning(span: str) -> list[str]:
    return ["<td", f" {span}", ">", "</td>"]


def row(*parts: list[str]) -> list[str]:
    return ["<tr>", *(token for part in parts for token in part), "</tr>"]


def test_rows_and_columns_are_counted() -> None:
    assert cells(*row(CELL, CELL), *row(CELL, CELL)) == [(0, 0, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 1)]


def test_cells_stand_beside_those_that_span_rows() -> None:
    found = cells(*row(spanning('rowspan="2"'), CELL), *row(CELL), *row(CELL, CELL))
    assert found == [(0, 0, 2, 1), (0, 1, 1, 1), (1, 1, 1, 1), (2, 0, 1, 1), (2, 1, 1, 1)]


def test_a_cell_spans_columns() -> None:
    found = cells(*row(CELL, spanning('colspan="2"')), *row(CELL, CELL, CELL))
    assert found[:2] == [(0, 0, 1, 1), (0, 1, 1, 2)]


def test_rows_of_the_head_are_headers() -> None:
    found = guesses("<thead>", *row(CELL), "</thead>", "<tbody>", *row(CELL), "</tbody>")
    assert [cell.header for cell in found] == [True, False]


def test_spans_end_with_the_table() -> None:
    assert cells(*row(spanning('colspan="20"')), *row(spanning('rowspan="20"'), CELL)) == [
        (0, 0, 1, 2),
        (1, 0, 1, 1),
        (1, 1, 1, 1),
    ]


def test_a_span_ends_before_a_cell_that_comes_from_above() -> None:
    found = cells(*row(CELL, CELL, spanning('rowspan="2"')), *row(spanning('colspan="3"'), CELL))
    assert (1, 0, 1, 2) in found
    assert (1, 3, 1, 1) in found


def test_empty_rows_are_none() -> None:
    assert cells(*row(CELL, CELL), *row(), *row(CELL, CELL))[-1] == (1, 1, 1, 1)


def test_cells_outside_of_rows_make_one() -> None:
    assert cells(*CELL, *CELL, "</tr>", *row(CELL)) == [(0, 0, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1)]


def test_no_tokens_are_no_table() -> None:
    assert cells() == []
    assert cells("<thead>", "<tr>", ">", "</td>", ' colspan="3"') == []


def test_many_cells_are_cut_off() -> None:
    assert len(guesses(*(row(CELL) * (MAX_CELLS + 10)))) == MAX_CELLS
    assert max(cell.column for cell in guesses(*(CELL * 5000))) < MAX_COLUMNS


@given(st.lists(st.sampled_from(TOKENS), max_size=120))
def test_cells_of_any_sequence_do_not_overlap_and_lie_in_the_grid(texts: list[str]) -> None:
    found = cells(*texts)
    places = [(row + y, column + x) for row, column, high, wide in found for y, x in product(range(high), range(wide))]
    assert len(places) == len(set(places))
    if found:
        rows, columns = {row for row, *_ in found}, {column for _, column, *_ in found}
        assert rows == set(range(len(rows)))
        assert max(column for _, column in places) == max(columns)
        assert max(row for row, _ in places) == max(rows)
