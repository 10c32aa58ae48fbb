"""Tables that go on over pages are marked on the later page."""

from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.tables.continued import with_continued_tables
from inkgate_client.types import Block, BlockType, Box, PageResult, Table, TableCell

HEAD = ("Article", "Price")
TOP, BOTTOM = (100.0, 100.0, 900.0, 400.0), (100.0, 900.0, 900.0, 1300.0)
TEXT = Block(BlockType.TEXT, (100, 50, 900, 80), (), "text", "text")
FOOTER = Block(BlockType.FOOTER, (100, 1350, 900, 1380), (), "footer", "footer")


def table(rows: Sequence[Sequence[str]], box: Box, head: Sequence[str] | None = None) -> Block:
    every = [*([head] if head else []), *rows]
    cells = tuple(
        TableCell(row, column, text, header=bool(head) and row == 0)
        for row, texts in enumerate(every)
        for column, text in enumerate(texts)
    )
    return Block(BlockType.TABLE, box, (), "table", "table", table=Table(len(every), len(every[0]), cells))


def pages(*blocks: Sequence[Block]) -> list[PageResult]:
    return [PageResult(i, 1000, 1400, blocks=tuple(each)) for i, each in enumerate(blocks)]


def continuing(found: Sequence[PageResult]) -> list[int]:
    return [page.index for page in found for block in page.blocks or () if block.table and block.table.continues]


FIRST = table([("Apples", "1.00")], BOTTOM, HEAD)


def test_a_table_goes_on_with_and_without_its_header_over_running_lines() -> None:
    plain, headed = table([("Pears", "2.00")], TOP), table([("Plums", "3.00")], TOP, HEAD)
    found = with_continued_tables(pages([TEXT, FIRST, FOOTER], [plain, FOOTER], [headed, TEXT]))
    assert continuing(found) == [1, 2]
    assert continuing(with_continued_tables(found)) == [1, 2]


def test_other_columns_another_header_another_place_or_text_between_begin_another_table() -> None:
    begun = {
        "columns": [table([("Pears", "2.00", "x")], TOP)],
        "header": [table([("Pears", "2.00")], TOP, ("Name", "Weight"))],
        "place": [table([("Pears", "2.00")], (500.0, 100.0, 900.0, 400.0))],
        "text": [TEXT, table([("Pears", "2.00")], TOP)],
    }
    wrong = [why for why, blocks in begun.items() if continuing(with_continued_tables(pages([FIRST], blocks)))]
    assert not wrong


def test_pages_without_such_tables_and_pages_that_do_not_follow_stay_as_they_are() -> None:
    apart = pages([FIRST], [table([("Pears", "2.00")], TOP)])
    apart[1] = replace(apart[1], index=5)
    for each in (pages([TEXT], [TEXT]), apart, [], [PageResult(0)]):
        assert with_continued_tables(each) is each
