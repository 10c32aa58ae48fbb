"""Lines in the order that a layout model gives their blocks."""

from __future__ import annotations

from dataclasses import replace

from inkgate.layout.evidence import Region
from inkgate.layout.order.ranks import by_rank
from inkgate_client.types import BlockType, Line
from support.layouts import PAGE, arrange, column, in_order, line, prose, region

LEFT, RIGHT = column(prose("left", 8), 100, 200, 460), column(prose("right", 8), 600, 200, 460)
BOXES = {"left": (90, 190, 570, 420), "right": (590, 190, 1070, 420)}


def ranked(name: str, rank: int | None, kind: BlockType = BlockType.TEXT) -> Region:
    return replace(region(kind, *BOXES[name]), rank=rank)


def text_of(lines: list[Line], *regions: Region) -> str:
    return arrange(lines, PAGE, regions).text


def test_blocks_are_read_in_the_models_order() -> None:
    lines = [*LEFT, *RIGHT]

    assert in_order(text_of(lines, ranked("left", 0), ranked("right", 1)), "left0", "left7", "right0", "right7")
    assert in_order(text_of(lines, ranked("left", 1), ranked("right", 0)), "right0", "right7", "left0", "left7")


def test_without_an_order_of_the_model_geometry_decides() -> None:
    assert in_order(text_of([*LEFT, *RIGHT], ranked("left", None), ranked("right", None)), "left0", "left7", "right0")


def test_rows_across_blocks_are_read_block_by_block() -> None:
    names, values = column(["one", "two", "three"], 100, 200), column(["1", "2", "3"], 700, 200)
    regions = ranked("left", 0), ranked("right", 1)

    assert in_order(text_of([*names, *values]), "one", "1", "two", "2")
    assert in_order(text_of([*names, *values], *regions), "one", "two", "three", "1", "2", "3")


def test_lines_of_no_block_stay_behind_what_geometry_has_them_behind() -> None:
    below = line("a line that the layout model overlooked", 100, 424, 460)

    text = text_of([*LEFT, *RIGHT, below], ranked("left", 1), ranked("right", 0))
    assert in_order(text, "right0", "right7", "left0", "left7", "overlooked")


def test_a_table_is_read_at_its_rank() -> None:
    cells = [line(f"c{i}{j}", 600 + 150 * j, 200 + 40 * i, 60) for i in range(4) for j in range(3)]

    result = arrange([*LEFT, *cells], PAGE, [ranked("left", 1), ranked("right", 0, BlockType.TABLE)])
    assert [block.type for block in result.blocks] == [BlockType.TABLE, BlockType.TEXT]
    assert len(result.lines) == len(LEFT) + len(cells)


def test_what_comes_before_every_rank_stays_first() -> None:
    ranks = {"a": 3, "b": 1}
    assert by_rank(["x", "a", "y", "z", "b", "w"], ranks.get) == ["x", "b", "w", "a", "y", "z"]
