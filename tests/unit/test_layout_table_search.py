"""Where the table model is asked, and when it is believed."""

from __future__ import annotations

from inkgate.layout.evidence import CellGuess, Region, TableGuess
from inkgate.layout.tables.search import TablePlace, is_believed, places_to_ask, with_table
from inkgate_client.types import BlockType, Box, Line, Size
from support.layouts import column, line, prose, region

IMAGE = Size(620, 200)
WHOLE = (0.0, 0.0, 620.0, 200.0)


def table(rows: int = 6, columns: int = 4, pitch: float = 32) -> list[Line]:
    """Short cells that fill IMAGE."""
    return [line(f"{i}.{j}", 10 + j * 190, 10 + i * pitch) for i in range(rows) for j in range(columns)]


def guess(rows: int, columns: int, box: Box = WHOLE) -> TableGuess:
    """A regular grid over a box."""
    left, top, right, bottom = box
    wide, high = (right - left) / columns, (bottom - top) / rows
    cells = tuple(
        CellGuess(i, j, 1, 1, (left + j * wide, top + i * high, left + (j + 1) * wide, top + (i + 1) * high))
        for i in range(rows)
        for j in range(columns)
    )
    return TableGuess(box, cells, 0.9)


def test_the_model_sees_the_lines_of_tables_of_the_layout_model_and_a_little_more() -> None:
    lines = [line("cell", 120, 120 + i * 30) for i in range(4)]
    regions = [region(BlockType.TABLE, 100, 100, 500, 300), region(BlockType.TEXT, 100, 400, 500, 500)]
    (place,) = places_to_ask(regions, lines, Size(1000, 1000))
    assert place.box == (114.0, 108.0, 166.0, 242.0)
    assert place.is_certain
    assert list(place.lines) == lines


def test_tables_without_text_are_not_asked_for() -> None:
    assert places_to_ask([region(BlockType.TABLE, 0, 300, 620, 400)], table(), Size(1200, 1600)) == []


def test_an_image_of_short_aligned_lines_is_a_table() -> None:
    places = places_to_ask([region(BlockType.FIGURE, 0, 10, 600, 200)], table(), IMAGE)
    assert [(len(place.lines), place.region) for place in places] == [(24, None)]


def test_a_table_of_two_columns_is_one_too() -> None:
    lines = [line(f"name {i}", x, 10 + i * 32) for i in range(6) for x in (10, 510)]
    assert len(places_to_ask([], lines, IMAGE)) == 1


def test_pages_of_prose_are_not_asked_for() -> None:
    two_columns = column(prose("a", 40), 60, 60) + column(prose("b", 40), 640, 60)
    assert places_to_ask([], two_columns, Size(1200, 1200)) == []
    assert places_to_ask([], column(prose("a", 40), 60, 60), Size(620, 1200)) == []


def test_receipts_are_not_asked_for() -> None:
    lines = [line("SHOP", 250, 10), *(line(f"item {i}", 10, 50 + i * 30) for i in range(8))]
    lines += [line("1.50", 540, 50 + i * 30) for i in range(0, 8, 2)]
    assert places_to_ask([], lines, Size(620, 320)) == []


def test_a_part_of_a_page_does_not_make_the_page_a_table() -> None:
    assert places_to_ask([], table(), Size(1200, 1600)) == []


def test_a_figure_of_aligned_cells_is_asked_for() -> None:
    regions = [region(BlockType.FIGURE, 0, 0, 620, 200)]
    lines = table() + column(prose("a", 40), 60, 300)
    (place,) = places_to_ask(regions, lines, Size(1200, 1600))
    assert place.region is regions[0]
    assert not place.is_certain


def test_blank_images_are_not_asked_for() -> None:
    assert places_to_ask([], [], IMAGE) == []


def test_a_model_that_agrees_with_the_lines_is_believed() -> None:
    assert is_believed(guess(6, 4), [line(f"{i}.{j}", 10 + j * 155, 8 + i * 33) for i in range(6) for j in range(4)])


def test_a_model_that_merges_columns_is_not_believed() -> None:
    lines = [line(f"{i}.{j}", 10 + j * 75, 8 + i * 33) for i in range(6) for j in range(8)]
    assert not is_believed(guess(6, 2), lines)


def test_a_model_that_leaves_lines_out_is_not_believed() -> None:
    assert not is_believed(guess(2, 4, (0, 0, 620, 66)), table())


def test_one_row_is_no_table() -> None:
    assert not is_believed(guess(1, 4), table(rows=1))
    assert not is_believed(guess(6, 4), [])


def test_the_table_takes_the_place_of_what_the_layout_model_saw_in_the_image() -> None:
    regions = [region(BlockType.FIGURE, 0, 10, 600, 190), region(BlockType.TITLE, 0, 10, 100, 40)]
    found = with_table(regions, TablePlace(WHOLE, table()), guess(6, 4))
    assert found == [Region(BlockType.TABLE, WHOLE, 0.9)]


def test_a_figure_in_the_same_place_as_a_table_is_dropped() -> None:
    regions = [
        region(BlockType.FIGURE, 0, 0, 600, 190),
        region(BlockType.TABLE, 0, 0, 600, 195),
        region(BlockType.TEXT, 0, 0, 90, 40),
    ]
    place = TablePlace((0, 0, 600, 195), table(), regions[1])
    assert with_table(regions, place, guess(6, 4)) == [regions[1], regions[2]]


def test_a_figure_that_is_a_table_becomes_one() -> None:
    figure = Region(BlockType.FIGURE, WHOLE, 0.8, 3, "chart")
    assert with_table([figure], TablePlace(WHOLE, table(), figure), guess(6, 4)) == [
        Region(BlockType.TABLE, WHOLE, 0.8, 3)
    ]
