"""Ruled tables: the lines of a cell are read together, and make one cell in Markdown."""

import random

from inkgate.layout.arrange import Arrangement
from inkgate.layout.evidence import Region
from inkgate_client.types import BlockType, Box, Line, Size
from support.layouts import PAGE, PITCH, arrange, column, line, prose, region, turned, vertical

ACROSS = [100, 300, 600, 900]
DOWN = [200, 270, 340, 410]


def cells(across: list[int] = ACROSS, down: list[int] = DOWN) -> list[Box]:
    return [
        (across[i] + 2, down[j] + 2, across[i + 1] - 2, down[j + 1] - 2)
        for j in range(len(down) - 1)
        for i in range(len(across) - 1)
    ]


def wrapped(text: str, left: float, top: float) -> list[Line]:
    """Two lines that fill a cell."""
    first, second = text.split("/")
    return [line(first, left, top + 8), line(second, left, top + 8 + PITCH)]


def exercise_plan() -> list[Line]:
    """A cell of two lines beside one that is centred, in every row."""
    return [
        found
        for row, top in enumerate(DOWN[:-1])
        for found in (
            line(f"No {row}", 110, top + 22),
            *wrapped(f"goal {row}/goes on {row}", 310, top),
            line(f"type {row}", 610, top + 22),
        )
    ]


def read(lines: list[Line], boxes: list[Box], regions: list[Region] | None = None) -> Arrangement:
    shuffled = list(lines)
    random.Random(3).shuffle(shuffled)
    return arrange(shuffled, PAGE, regions, boxes)


def texts(arrangement: Arrangement) -> list[str]:
    return [found.text for found in arrangement.lines]


def test_the_lines_of_a_cell_are_read_together() -> None:
    result = read(exercise_plan(), cells())
    assert texts(result) == [found.text for found in exercise_plan()]
    assert result.text.splitlines() == [f"No {row} goal {row} goes on {row} type {row}" for row in range(3)]


def test_a_skewed_table_is_read_by_its_cells_too() -> None:
    lines = turned(exercise_plan(), 1.5)
    centres = turned([line("", a, b, c - a, d - b) for a, b, c, d in cells()], 1.5)
    boxes: list[Box] = []
    for (a, b, c, d), centre in zip(cells(), centres, strict=True):
        x, y = (sum(axis) / 4 for axis in zip(*centre.quad, strict=True))
        boxes.append((x - (c - a) / 2, y - (d - b) / 2, x + (c - a) / 2, y + (d - b) / 2))
    assert texts(read(lines, boxes)) == [found.text for found in exercise_plan()]


def test_text_around_the_table_is_read_before_and_after_it() -> None:
    above, below = column(prose("above", 3), 100, 80, 800), column(prose("below", 3), 100, 450, 800)
    result = read([*above, *exercise_plan(), *below], cells())
    assert texts(result) == [found.text for found in [*above, *exercise_plan(), *below]]


def test_markdown_has_a_cell_for_each_cell() -> None:
    result = read(exercise_plan(), cells(), [])
    (block,) = result.blocks
    assert block.type is BlockType.TABLE
    assert (block.type_confidence or 0.0) > 0.5
    assert block.markdown.splitlines() == [
        "| No 0 | goal 0 goes on 0 | type 0 |",
        "| --- | --- | --- |",
        "| No 1 | goal 1 goes on 1 | type 1 |",
        "| No 2 | goal 2 goes on 2 | type 2 |",
    ]


def test_merged_cells_span_rows_and_columns() -> None:
    boxes = [(102, 202, 898, 268), (102, 272, 298, 408), *(box for box in cells() if box[0] > 300 and box[1] > 270)]
    lines = [
        line("Heading of all", 400, 222),
        line("Both rows", 110, 330),
        *(line(f"{name}{row}", left, 292 + 70 * row) for row in (0, 1) for name, left in (("b", 310), ("c", 610))),
    ]
    result = read(lines, boxes, [])
    assert texts(result) == ["Heading of all", "Both rows", "b0", "c0", "b1", "c1"]
    (block,) = result.blocks
    assert block.table is not None
    spans = {(cell.text, cell.row_span, cell.column_span) for cell in block.table.cells}
    assert {("Heading of all", 1, 3), ("Both rows", 2, 1), ("b1", 1, 1)} <= spans
    assert '<th colspan="3">Heading of all</th>' in result.markdown
    assert '<td rowspan="2">Both rows</td><td>b0</td>' in result.markdown


def test_cells_have_the_boxes_drawn_around_them() -> None:
    (block,) = read(exercise_plan(), cells(), []).blocks
    assert block.table is not None
    assert [cell.box for cell in block.table.cells] == cells()
    assert block.table.cells[1].lines == (1, 2)


def test_a_line_across_cells_is_read_where_it_begins() -> None:
    lines = [found for found in exercise_plan() if found.text not in {"No 1", "goal 1", "goes on 1"}]
    crossing = line("No 1 goal 1", 110, DOWN[1] + 22, 450)
    result = read([*lines, crossing], cells(), [])
    assert "| No 1 goal 1 |  | type 1 |" in result.markdown
    assert len(result.lines) == len(lines) + 1


def test_a_cell_of_numbers_one_a_line_lists_the_rows_of_a_table() -> None:
    rows = [("Apples", "1,530"), ("Pears", "1,253"), ("Total", "2,783")]
    lines = [line("Fruit", 110, 210), line("Number", 310, 210)]
    for i, (name, number) in enumerate(rows):
        lines += [line(name, 110, 245 + i * PITCH), line(number, 310, 245 + i * PITCH)]
    result = read(lines, cells([100, 300, 500], [200, 240, 340]), [])
    assert texts(result) == ["Fruit", "Number", *(text for row in rows for text in row)]
    assert "| Pears | 1,253 |" in result.markdown


def test_a_column_outside_the_lines_is_read_with_its_rows() -> None:
    names = [line(f"name {row}", 10, top + 22) for row, top in enumerate(DOWN[:-1])]
    result = read([*exercise_plan(), *names], cells(), [])
    assert "| name 1 | No 1 | goal 1 goes on 1 | type 1 |" in result.markdown


def test_lines_stay_in_one_block_beside_the_layout_models_regions() -> None:
    table = region(BlockType.TABLE, 95, 195, 905, 415)
    title = region(BlockType.TITLE, 100, 100, 500, 140)
    lines = [line("A title", 100, 105), *exercise_plan()]
    result = read(lines, cells(), [table, title])
    assert [block.type for block in result.blocks] == [BlockType.TITLE, BlockType.TABLE]
    assert sorted(index for block in result.blocks for index in block.lines) == list(range(len(lines)))


def test_a_small_ruled_part_of_the_layout_models_table_is_left_to_it() -> None:
    more = [line(f"row {i} {name}", left, 430 + i * 40) for i in range(12) for name, left in (("a", 110), ("b", 610))]
    table = [region(BlockType.TABLE, 95, 195, 905, 920)]
    lines = [*exercise_plan(), *more]
    assert read(lines, cells(), table).markdown == arrange(lines, PAGE, table).markdown


def test_cells_without_text_change_nothing() -> None:
    lines = [*column(prose("above", 5), 100, 20, 800), line("Sales", 120, 220), line("2010", 320, 220)]
    assert read(lines, cells()) == arrange(lines, PAGE)
    assert read([], cells()) == arrange([], PAGE)


def test_panels_of_prose_are_left_to_the_columns() -> None:
    panels = cells([50, 580, 1120], [50, 700, 1350])
    lines = [
        found for left, top, *_ in panels for found in column(prose(f"{left} {top} ", 18), left + 20, top + 20, 480)
    ]
    assert read(lines, panels) == arrange(lines, PAGE)


def test_sections_that_hold_columns_are_no_cells() -> None:
    boxes = cells([100, 600, 1100], [200, 340, 480])
    lines = [
        line(f"{name}{row}", left + shift, top + 10 + row * PITCH)
        for left, top, *_ in boxes
        for row in range(4)
        for name, shift in (("word", 10), ("0.4", 200), ("0.7", 350))
    ]
    assert read(lines, boxes) == arrange(lines, PAGE)


def test_pages_of_vertical_columns_have_no_ruled_tables() -> None:
    lines = [vertical(f"{i}春眠不覚暁処処聞啼鳥", 900 - i * 40, 200) for i in range(8)]
    assert read(lines, cells()) == arrange(lines, Size(PAGE.width, PAGE.height))
