"""Tables that go on over pages. Pure, and applied to whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inkgate_client.types import Block, BlockType, Box, LeftOut, PageResult, Table

SAME_EDGE = 0.05
"""Maximum distance of the edges of both parts, as a share of the page's width: a template is printed on every page at
one place."""
MIN_COLUMNS = 2
_RUNNING = frozenset({BlockType.HEADER, BlockType.FOOTER})


def with_continued_tables(pages: Sequence[PageResult]) -> Sequence[PageResult]:
    """The pages; a table at the top of one with the columns of that at the bottom of the page before continues it.

    Its header, if it has one, is the same as that of the first part: another one begins another table.
    """
    found = list(pages)
    header: tuple[str, ...] = ()
    for i in range(1, len(found)):
        before, page = found[i - 1], found[i]
        last, first = _edge_block(before, at_end=True), _edge_block(page, at_end=False)
        above, below = _table_of(last), _table_of(first)
        if last is None or first is None or above is None or below is None or page.index != before.index + 1:
            continue
        if not above.continues:
            header = _header(above)
        if _is_continued(above, below, header) and _are_aligned(last.box, first.box, before, page):
            found[i] = _continuing(page, first, below)
    return pages if all(new is old for new, old in zip(found, pages, strict=True)) else found


def _edge_block(page: PageResult, *, at_end: bool) -> Block | None:
    """The first or last block of the page's content: without running lines, and what the Markdown leaves out."""
    blocks = [
        block for block in page.blocks or () if block.type not in _RUNNING and not _is_left_out(block, page.left_out)
    ]
    return blocks[-1 if at_end else 0] if blocks else None


def _is_left_out(block: Block, left_out: Sequence[LeftOut]) -> bool:
    gone = {number for part in left_out for number in part.lines}
    return bool(block.lines) and gone.issuperset(block.lines)


def _table_of(block: Block | None) -> Table | None:
    return block.table if block is not None and block.type is BlockType.TABLE else None


def _header(table: Table) -> tuple[str, ...]:
    return tuple(cell.text for cell in table.cells if cell.header)


def _is_continued(above: Table, below: Table, header: tuple[str, ...]) -> bool:
    """Whether the columns are as many, and the later part repeats the header or has none."""
    return MIN_COLUMNS <= above.columns == below.columns and _header(below) in ((), header)


def _are_aligned(above: Box, below: Box, before: PageResult, page: PageResult) -> bool:
    """Whether the tables are as wide as each other at the same place; sizes of scanned pages differ a little."""
    if not before.width or not page.width:
        return False
    return all(abs(above[side] / before.width - below[side] / page.width) <= SAME_EDGE for side in (0, 2))


def _continuing(page: PageResult, block: Block, table: Table) -> PageResult:
    if table.continues:
        return page
    changed = replace(block, table=replace(table, continues=True))
    return replace(page, blocks=tuple(changed if each is block else each for each in page.blocks or ()))
