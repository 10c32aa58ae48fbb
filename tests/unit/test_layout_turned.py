"""Pages and parts of pages whose text is turned, and vertical columns."""

import random

import pytest

from inkgate_client.types import BlockType, Line
from support.layouts import PAGE, arrange, column, line, moved, prose, quarter_turned, region, vertical


def read(lines: list[Line]) -> list[str]:
    shuffled = list(lines)
    random.Random(5).shuffle(shuffled)
    return [found.text for found in arrange(shuffled, PAGE).lines]


def texts(lines: list[Line]) -> list[str]:
    return [given.text for given in lines]


def around(item: Line) -> Line:
    """The line with the corners of its box, which don't say in which direction it runs."""
    left, top, right, bottom = item.box
    return Line(item.text, ((left, top), (right, top), (right, bottom), (left, bottom)), item.confidence)


COLUMNS = [
    line("A title over both columns of the page", 150, 60, 850, 40),
    *column(prose("left", 12), 100, 150, 460),
    *column(prose("right", 12), 600, 150, 460),
]
RECEIPT = [
    found for i in range(12) for found in (line(f"item {i}", 80, 100 + i * 28), line(f"{i}.50 EUR", 700, 100 + i * 28))
]


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_turned_page_is_read_as_the_upright_one(quarters: int) -> None:
    for lines in (COLUMNS, RECEIPT):
        assert read(quarter_turned(lines, quarters, 1600)) == texts(lines)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_turned_pages_paragraphs_are_those_of_the_upright_one(quarters: int) -> None:
    assert arrange(quarter_turned(COLUMNS, quarters, 1600), PAGE).markdown == arrange(COLUMNS, PAGE).markdown


@pytest.mark.parametrize("quarters", [1, 3])
def test_the_table_of_a_turned_page_is_a_table(quarters: int) -> None:
    rows = [line(f"r{i}c{j} cell", 100 + j * 220, 200 + i * 30, 90) for i in range(6) for j in range(4)]
    lines = quarter_turned(rows, quarters, 1600)
    lefts, tops, rights, bottoms = zip(*(item.box for item in lines), strict=True)
    table = region(BlockType.TABLE, min(lefts) - 5, min(tops) - 5, max(rights) + 5, max(bottoms) + 5)
    markdown = arrange(lines, PAGE, [table]).markdown
    assert "| r0c0 cell | r0c1 cell | r0c2 cell | r0c3 cell |" in markdown
    assert markdown.index("r0c0") < markdown.index("r5c3")


@pytest.mark.parametrize("quarters", [1, 3])
def test_a_turned_table_beside_upright_text_is_read_row_by_row(quarters: int) -> None:
    table = [line(f"r{i}c{j} cell", 20 + j * 200, 20 + i * 40, 120) for i in range(8) for j in range(4)]
    beside = moved(quarter_turned(table, quarters, 360 if quarters == 1 else 0), 760, 300 if quarters == 1 else 1100)
    text = column(prose("body", 20), 60, 150, 500)
    assert read([*text, *beside]) == texts([*text, *table])


@pytest.mark.parametrize("quarters", [1, 3])
def test_turned_prose_beside_upright_text_is_one_paragraph(quarters: int) -> None:
    note = [line(f"note{i} of some running text", 0, i * 28, 500) for i in range(4)]
    beside = moved(quarter_turned(note, quarters, 0), 900, 300 if quarters == 1 else 900)
    text = column(prose("body", 20), 60, 150, 500)
    assert read([*text, *beside]) == texts([*text, *note])
    assert arrange([*text, *beside], PAGE).text.endswith("\n".join(texts(note)))


def test_labels_on_both_sides_of_a_chart_are_not_joined() -> None:
    labels = [
        Line(name, ((x, 700), (x, 500), (x + 20, 500), (x + 20, 700)), 0.9)
        for name, x in (("Price in EUR", 40), ("Volume in kg", 1100))
    ]
    assert arrange([*column(prose("body", 8), 200, 100, 600), *labels], PAGE).text.endswith(
        "\n\nPrice in EUR\n\nVolume in kg"
    )


def test_an_upside_down_part_is_read_from_its_own_top() -> None:
    part = moved(quarter_turned(column(prose("card", 5), 0, 0, 500), 2, 0), 700, 1200)
    text = column(prose("body", 12), 60, 150, 900)
    assert read([*text, *part]) == [*texts(text), *prose("card", 5)]


def test_a_single_line_read_upside_down_stays_where_it_is() -> None:
    lines = column(prose("body", 8), 60, 150, 900)
    first, second, third, fourth = lines[3].quad
    lines[3] = Line(lines[3].text, (third, fourth, first, second), 0.9)
    assert read(lines) == texts(lines)


def test_latin_lines_of_unknown_direction_run_upwards() -> None:
    lines = [around(item) for item in quarter_turned(column(prose("body", 8), 60, 150, 900), 3, 0)]
    assert read(lines) == prose("body", 8)


def test_only_scripts_of_vertical_columns_are_read_from_right_to_left() -> None:
    chinese = [vertical(f"第{i}列は上から下へ読みます", 900 - i * 40, 100) for i in range(6)]
    assert read(chinese) == texts(chinese)
    latin = [vertical(f"line {i} of a turned page", 300 + i * 40, 100) for i in range(6)]
    assert read(latin) == texts(latin)


def test_a_vertical_label_beside_horizontal_chinese_is_read_after_it() -> None:
    lines = [line(f"第{i}行文字从左到右横着写下去", 120, 100 + i * 28, 800) for i in range(10)]
    label = vertical("电话号码一览表", 60, 150)
    assert read([*lines, label]) == texts([*lines, label])
