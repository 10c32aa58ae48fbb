"""Whose cells a table gets: those between drawn lines, the table model's, or those that its words make."""

from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import CellGuess, PageEvidence, TableGuess
from inkgate_client.types import BlockType, Box, Line, Table
from support.layouts import PAGE, PITCH, line, region

REGION = region(BlockType.TABLE, 90, 290, 1000, 460)
LEFTS = (100.0, 400.0, 700.0)


def table_lines() -> list[Line]:
    """A header over two columns, and rows of three cells; the first cell of the last row has two lines."""
    lines = [line("Group of both", 480, 300), line("Trait", 100, 300 + PITCH)]
    lines += [line("men", 400, 300 + PITCH), line("women", 700, 300 + PITCH)]
    for row, name in enumerate(("Height", "Weight", "Size of"), start=2):
        lines += [line(name, 100, 300 + row * PITCH), line(f"1.{row}", 400, 300 + row * PITCH)]
        lines.append(line(f"2.{row}", 700, 300 + row * PITCH))
    return [*lines, line("the foot", 100, 300 + 5 * PITCH)]


def cell(row: int, column: int, *, rows: int = 1, columns: int = 1, lines: int = 1) -> CellGuess:
    top = 300 + row * PITCH
    right = LEFTS[column + columns - 1] + 200
    return CellGuess(row, column, rows, columns, (LEFTS[column], top, right, top + lines * PITCH), header=row < 2)


def right_guess() -> TableGuess:
    cells = [cell(0, 0), cell(0, 1, columns=2), *(cell(1, column) for column in range(3))]
    cells += [cell(row, column, lines=1 + (row == 4 and column == 0)) for row in (2, 3, 4) for column in range(3)]
    return TableGuess(REGION.box, tuple(cells), 0.95)


def read(lines: list[Line], guess: TableGuess | None, cells: list[Box] | None = None) -> Table:
    tables = [guess] if guess is not None else []
    result = arrange(lines, PAGE, PageEvidence([REGION], cells or [], tables))
    (table,) = [block.table for block in result.blocks if block.table is not None]
    assert sorted(index for found in table.cells for index in found.lines) == list(range(len(lines)))
    return table


def test_the_models_cells_are_taken_with_their_spans_and_header() -> None:
    table = read(table_lines(), right_guess())
    assert (table.rows, table.columns) == (5, 3)
    spanning = [found for found in table.cells if found.column_span > 1]
    assert [(found.text, found.header) for found in spanning] == [("Group of both", True)]
    assert "Size of the foot" in [found.text for found in table.cells]


def test_the_words_decide_where_they_contradict_the_model() -> None:
    merged = TableGuess(REGION.box, (cell(0, 0, columns=2, lines=6), cell(0, 2, lines=6)), 0.95)
    assert read(table_lines(), merged) == read(table_lines(), None)


def test_the_models_cells_are_taken_where_drawn_lines_separate_only_some() -> None:
    drawn: list[Box] = [
        (left, top, right, bottom)
        for top, bottom in ((295.0, 352.0), (354.0, 470.0))
        for left, right in ((90.0, 398.0), (400.0, 1000.0))
    ]
    assert read(table_lines(), right_guess(), drawn).columns == 3


def test_letters_that_touch_a_line_make_no_column() -> None:
    lines = table_lines()[1:10]
    drawn: list[Box] = [
        (left, 300 - 4 + row * PITCH, left + 290, 300 + 22 + row * PITCH) for row in (1, 2, 3) for left in LEFTS
    ]
    touching: Box = (402.0, 302 + PITCH, 416.0, 318 + PITCH)
    table = read(lines, None, [*drawn, touching])
    assert (table.rows, table.columns) == (3, 3)


def test_a_paragraph_within_the_region_of_a_table_stays_outside() -> None:
    above = [line("The results of all stations for the last years, in thousands of", 100, 200, 900)]
    above.append(line("the currency of each, before tax.", 100, 228, 450))
    rows = [["in thousands", "2025", "2024"], ["Revenue", "120", "119"], ["Cost", "71", "69"], ["Profit", "49", "50"]]
    body = [line(text, 100 + 400 * j, 280 + i * PITCH, 80) for i, row in enumerate(rows) for j, text in enumerate(row)]
    found = arrange([*above, *body], PAGE, PageEvidence([region(BlockType.TABLE, 90, 195, 1010, 400)]))
    assert found.markdown.startswith("The results of all stations for the last years, in thousands of the currency")
    assert "| in thousands | 2025 | 2024 |\n| ---" in found.markdown
