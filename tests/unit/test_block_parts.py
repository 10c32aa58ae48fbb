"""Items of lists, and captions with what they describe."""

from __future__ import annotations

from inkgate_client.block_parts import captions_of, list_items
from inkgate_client.types import Block, BlockType, Table, TableCell


def block(kind: BlockType, top: float, bottom: float, *, cells: bool = False) -> Block:
    table = Table(1, 1, (TableCell(0, 0, "a"),)) if cells else None
    return Block(kind, (0, top, 100, bottom), (), "text", "text", table=table)


def test_items_have_their_marks_depths_and_lines() -> None:
    found = list_items("before\n- one\n  goes on\n  2. inner\n\n\u2022 two")
    assert [(item.depth, item.mark, item.numbered, item.lines) for item in found] == [
        (0, "", False, ("before",)),
        (0, "-", False, ("one", "goes on")),
        (1, "2.", True, ("inner",)),
        (0, "\u2022", False, ("two",)),
    ]


def test_a_caption_describes_the_nearer_neighbour_and_each_has_one() -> None:
    figure, table = block(BlockType.FIGURE, 0, 100), block(BlockType.TABLE, 200, 300, cells=True)
    assert captions_of((figure, block(BlockType.CAPTION, 105, 120), table)) == {0: 1}
    assert captions_of((figure, block(BlockType.CAPTION, 180, 195), table)) == {2: 1}
    both = (figure, block(BlockType.CAPTION, 105, 120), block(BlockType.CAPTION, 121, 130), table)
    assert captions_of(both) == {0: 1, 3: 2}


def test_a_caption_beside_text_or_a_table_without_cells_describes_nothing() -> None:
    caption = block(BlockType.CAPTION, 10, 20)
    assert captions_of((block(BlockType.TEXT, 0, 9), caption, block(BlockType.TABLE, 21, 30))) == {}
