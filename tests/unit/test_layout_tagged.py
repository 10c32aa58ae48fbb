"""What the tags of a PDF do to the order, the joints and the types of a page's lines, and when they do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inkgate.layout.arrange import Arrangement, arrange
from inkgate.layout.evidence import PageEvidence
from inkgate.layout.order.decode import learned_blocks
from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.order.network import CLASSES, LEVELS, Prediction
from inkgate.layout.order.tagged import is_tagged, with_tags
from inkgate.layout.order.tokens import PageTokens
from inkgate.page import LineStyle, LineTag, TagKind
from support.layouts import EM, PAGE, column, prose

TEXT, TITLE, TABLE, ARTIFACT = TagKind.TEXT, TagKind.TITLE, TagKind.TABLE, TagKind.ARTIFACT
COLUMNS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2))


def piece(number: int, column: int, row: int, block: int | None, kind: TagKind = TEXT) -> LayoutPiece:
    tag = None if block is None else LineTag(block, kind)
    return LayoutPiece(number, f"line {number}", 300 * column, 30 * row, 300 * column + 250, 30 * row + 20, tag=tag)


def page_of(blocks: Sequence[int | None], kind: TagKind = TEXT) -> PageTokens:
    """Two columns of three lines, with these tagged blocks."""
    pieces = [piece(i, *place, block, kind) for i, (place, block) in enumerate(zip(COLUMNS, blocks, strict=True))]
    return PageTokens(pieces, [None] * 6, [(0, 0, 0, 0)] * 6, (0, 0, 600, 400), 20)


def seen_in(order: Sequence[int], sure: float = 0.9, kinds: Sequence[str] = ("text",) * 6) -> Prediction:
    """A network that sees six pieces in this order, and joins none."""
    rank = np.argsort(order)
    before = np.where(rank[:, None] < rank[None], sure, 1 - sure).astype(np.float32)
    classes = np.full((6, len(CLASSES)), 0.05, np.float32)
    classes[range(6), [CLASSES.index(kind) for kind in kinds]] = 0.45
    return Prediction(classes, np.full((6, LEVELS), 1 / LEVELS, np.float32), np.full((6, 6), 0.1, np.float32), before)


def read(page: PageTokens, seen: Prediction) -> list[list[int]]:
    return [[piece.index for piece in block.pieces] for block in learned_blocks(page, with_tags(page, seen))]


def test_order_of_the_tags_counts_where_the_network_jumps_between_columns() -> None:
    page, seen = page_of([0, 1, 2, 3, 4, 5]), seen_in([0, 1, 3, 2, 4, 5])
    assert read(page, seen) == [[0], [1], [2], [3], [4], [5]]


def test_order_of_the_tags_does_not_count_where_it_jumps_more() -> None:
    page, seen = page_of([0, 1, 3, 2, 4, 5]), seen_in([0, 1, 2, 3, 4, 5])
    assert read(page, seen) == [[0], [1], [2], [3], [4], [5]]


def test_order_that_contradicts_the_page_does_not_count() -> None:
    page, seen = page_of([5, 4, 3, 2, 1, 0]), seen_in([0, 3, 1, 4, 2, 5])
    assert read(page, seen) == [[0], [3], [1], [4], [2], [5]]


def test_paragraph_that_goes_on_in_the_next_column_is_one_block() -> None:
    assert read(page_of([0, 1, 1, 1, 2, 2]), seen_in(range(6))) == [[0], [1, 2, 3], [4, 5]]


def test_paragraphs_of_tags_are_apart_but_for_lines_tagged_as_paragraphs() -> None:
    seen = seen_in(range(6))
    seen.follows[range(5), range(1, 6)] = 0.9
    assert read(page_of([0, 0, 0, 1, 1, 1]), seen) == [[0, 1, 2], [3, 4, 5]]
    assert read(page_of([0, 1, 2, 3, 4, 5]), seen) == [[0, 1, 2, 3, 4, 5]]


def test_page_tagged_as_one_paragraph_is_not_one() -> None:
    seen = seen_in(range(6))
    seen.follows[:] = 0.04
    seen.follows[0, 1] = 0.9
    assert read(page_of([0] * 6), seen) == [[0, 1], [2], [3], [4], [5]]


def test_lines_of_other_types_are_not_joined_by_a_tag() -> None:
    seen = seen_in(range(6), kinds=["caption", *["text"] * 5])
    assert read(page_of([0, 0, 0, 1, 1, 1]), seen) == [[0], [1, 2], [3, 4, 5]]


def test_heading_is_a_title_and_a_title_stays_one() -> None:
    page = page_of([0, 1, 2, 3, 4, 5])
    tagged = [replace(page.pieces[0], tag=LineTag(0, TITLE)), *page.pieces[1:]]
    seen = with_tags(replace(page, pieces=tagged), seen_in(range(6), kinds=["text", "title", *["text"] * 4]))
    assert [CLASSES[kind] for kind in seen.classes.argmax(axis=1)] == ["title", "title", *["text"] * 4]
    assert seen.classes.sum(axis=1).round(4).tolist() == [1.0] * 6


def test_heading_that_looks_like_none_is_none() -> None:
    seen = seen_in(range(6))
    seen.classes[0, CLASSES.index("title")] = 0.005
    page = page_of([0] * 6, TITLE)
    assert CLASSES[with_tags(page, seen).classes[0].argmax()] == "text"


def test_page_is_tagged_if_nearly_all_of_its_text_is() -> None:
    def share(count: int, block: int | None, kind: TagKind, *, in_zone: bool = False) -> bool:
        """Whether a page is tagged of which `count` lines in ten have another tag."""
        others = [piece(i, 0, i, block, kind) for i in range(count)]
        tagged = [piece(i, 0, i, i) for i in range(count, 10)]
        return is_tagged([*others, *tagged], tagged if in_zone else [*others, *tagged])

    assert [share(1, None, TEXT), share(5, None, TEXT)] == [True, False]
    assert [share(2, -1, ARTIFACT), share(5, -1, ARTIFACT)] == [True, False]
    assert [share(4, 3, TABLE), share(7, 3, TABLE), share(7, 3, TABLE, in_zone=True)] == [True, False, True]
    assert not is_tagged([], [])


def arranged(tags: Sequence[LineTag | None]) -> Arrangement:
    """A column of prose with these tags."""
    lines = column(prose("a", len(tags)), 100, 300)
    return arrange(lines, PAGE, PageEvidence([], styles=[LineStyle(EM, tag=tag) for tag in tags]))


def test_half_tagged_page_is_read_as_one_without_tags() -> None:
    half = [LineTag(i, TITLE) if i % 2 else None for i in range(20)]
    assert arranged(half) == arranged([None] * 20)


def test_small_page_is_arranged_by_the_network_if_it_is_tagged() -> None:
    known = [arranged(tags).blocks[0].order_confidence is not None for tags in ([LineTag(0, TEXT)] * 6, [None] * 6)]
    assert known == [True, False]
