"""What is a table and what is not: prose never is, and words that stand in columns are without the layout model."""

from inkgate.layout.arrange import Arrangement
from inkgate.layout.evidence import Region
from inkgate_client.types import Block, BlockType, Line
from support.layouts import EM, PAGE, PITCH, arrange, column, line, prose, region

LEFTS = (100, 420, 560, 740, 900)
HEADS = ("Article", "Number", "Price", "Tax", "Total")


def goods(count: int, top: float = 300, pitch: float = 1.5 * PITCH) -> list[Line]:
    """A header and rows of five cells."""
    rows = [HEADS, *((f"Article name {i}", str(i), f"{i}.99", "21%", f"{2 * i}.98") for i in range(1, count + 1))]
    return [
        line(text, left, top + row * pitch)
        for row, texts in enumerate(rows)
        for left, text in zip(LEFTS, texts, strict=True)
    ]


def tables(result: Arrangement) -> list[Block]:
    return [block for block in result.blocks if block.type is BlockType.TABLE]


def test_rows_of_short_cells_are_a_table_with_their_header_whatever_the_region() -> None:
    around = [*column(prose("above", 4), 100, 100, 950), *column(prose("below", 4), 100, 620, 950)]
    box = (90.0, 290.0, 1100.0, 520.0)
    found = [
        arrange([*around, *goods(4)], PAGE, regions)
        for regions in ([], [region(BlockType.FIGURE, *box)], [Region(BlockType.TABLE, box, 0.9)])
    ]
    for result in found:
        (table,) = tables(result)
        assert table.markdown.splitlines()[0] == "| Article | Number | Price | Tax | Total |"
        assert table.table is not None
        assert (table.table.rows, table.table.columns) == (5, 5)
    assert len({result.markdown for result in found}) == 1


def test_a_header_above_the_region_of_a_title_belongs_to_its_table() -> None:
    title = region(BlockType.TITLE, 90, 295, 1000, 325)
    (table,) = tables(arrange(goods(4), PAGE, [title]))
    assert table.markdown.startswith("| Article |")


def test_a_header_and_one_row_of_values_are_a_table() -> None:
    (table,) = tables(arrange(goods(1), PAGE, [region(BlockType.FIGURE, 90, 290, 1100, 600)]))
    assert table.markdown.splitlines()[2] == "| Article name 1 | 1 | 1.99 | 21% | 2.98 |"


def test_labels_stay_with_their_values() -> None:
    pairs = [("Date:", "8/20/2020"), ("Receipt:", "2468"), ("Total:", "$4,950"), ("Tax:", "$450"), ("Paid:", "$4,500")]
    lines = [
        found
        for row, (label, value) in enumerate(pairs)
        for found in (line(label, 100, 300 + row * PITCH), line(value, 400, 300 + row * PITCH))
    ]
    assert "Receipt: 2468" in arrange(lines, PAGE, []).text


def test_columns_of_prose_in_the_region_of_a_table_are_read_one_after_the_other() -> None:
    left, right = column(prose("left", 12), 100, 300, 450), column(prose("right", 12), 620, 300, 450)
    result = arrange([*left, *right], PAGE, [region(BlockType.TABLE, 90, 290, 1080, 650)])
    assert not tables(result)
    assert [found.text for found in result.lines] == [found.text for found in [*left, *right]]


def test_a_half_empty_grid_in_the_region_of_a_table_is_text() -> None:
    lines = [line(f"word {i}", 100 + 170 * (i % 6), 300 + PITCH * i) for i in range(12)]
    result = arrange(lines, PAGE, [region(BlockType.TABLE, 90, 290, 1200, 700)])
    assert not tables(result)
    assert len(result.lines) == 12


def test_names_of_goods_above_their_numbers_stay_lines() -> None:
    lines = []
    for i in range(4):
        top = 300 + 2 * i * PITCH
        lines += [line(f"Name of goods {i}", 100, top), line("2 X", 420, top + PITCH)]
        lines += [line("1.70", 600, top + PITCH), line("3.40", 800, top + PITCH)]
    assert not tables(arrange(lines, PAGE, []))


def test_ticks_of_plots_below_each_other_are_no_table() -> None:
    lines = [
        line(f"{tick}.0", 150 + 300 * plot + 80 * tick, 300 + 9 * EM * row)
        for row in range(3)
        for plot in range(3)
        for tick in range(3)
    ]
    figure = region(BlockType.FIGURE, 100, 200, 1150, 800)
    result = arrange([*lines, *column(prose("below", 8), 100, 900, 950)], PAGE, [figure])
    assert [block.type for block in result.blocks] == [BlockType.FIGURE, BlockType.TEXT]
