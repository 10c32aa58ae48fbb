"""Regions without text, put in reading order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from inkgate.layout.evidence import Region
from inkgate.layout.order.ranks import in_reading_order
from inkgate_client.types import BlockType, Size
from support.layouts import PAGE, region
from support.strategies import boxes, examples

TEXT, TITLE, TABLE, FIGURE = BlockType.TEXT, BlockType.TITLE, BlockType.TABLE, BlockType.FIGURE


def test_two_columns_are_read_one_after_the_other() -> None:
    title = region(TITLE, 100, 60, 1100, 110)
    left = [region(TEXT, 100, 150 + 420 * i, 580, 550 + 420 * i) for i in range(3)]
    right = [region(TEXT, 620, 150 + 500 * i, 1100, 630 + 500 * i) for i in range(2)]
    given_order = [right[1], left[2], title, right[0], left[0], left[1]]

    assert in_reading_order(given_order, PAGE) == [title, *left, *right]


def test_a_figure_over_both_columns_parts_them() -> None:
    upper = [region(TEXT, 100, 100, 580, 500), region(TEXT, 620, 100, 1100, 500)]
    figure = region(FIGURE, 100, 540, 1100, 900)
    lower = [region(TEXT, 100, 940, 580, 1400), region(TEXT, 620, 940, 1100, 1400)]

    assert in_reading_order([*lower, figure, *upper], PAGE) == [*upper, figure, *lower]


def test_a_table_stands_in_its_column() -> None:
    left = [region(TEXT, 100, 100, 580, 600), region(TABLE, 100, 640, 580, 1000), region(TEXT, 100, 1040, 580, 1400)]
    right = [region(TEXT, 620, 100, 1100, 1400)]

    assert in_reading_order([*right, *reversed(left)], PAGE) == [*left, *right]


def test_a_header_comes_first_and_a_footer_last_wherever_they_stand() -> None:
    header = region(BlockType.HEADER, 900, 20, 1100, 45)
    body = region(TEXT, 100, 30, 800, 1400)
    footer = region(BlockType.FOOTER, 100, 1500, 300, 1525)

    assert in_reading_order([footer, body, header], PAGE) == [header, body, footer]


def test_of_two_regions_around_the_same_text_the_better_one_is_kept() -> None:
    better = region(TEXT, 100, 100, 600, 300, confidence=0.9)
    worse = region(TITLE, 104, 98, 596, 302, confidence=0.6)

    assert in_reading_order([worse, better], PAGE) == [better]


def test_text_inside_a_table_is_a_part_of_it() -> None:
    table = region(TABLE, 100, 100, 600, 500, confidence=0.5)
    cell = region(TEXT, 120, 150, 300, 200, confidence=0.9)

    assert in_reading_order([cell, table], PAGE) == [table]


@examples
@given(st.lists(st.builds(Region, st.sampled_from(BlockType), boxes(1200, 1600), st.floats(0, 1)), max_size=8))
@example([region(TEXT, 0, 0, 1.6e-220, 1.6e-220)])
@example([region(TITLE, 0, 0, 0.9, 900), region(TABLE, 10, 10, 11, 11)])
def test_every_region_comes_once_at_most_and_only_from_those_given(regions: list[Region]) -> None:
    found = in_reading_order(regions, Size(1200, 1600))

    assert len({id(item) for item in found}) == len(found)
    assert {item.box for item in found} <= {item.box for item in regions}
    large = [item for item in regions if item.box[2] - item.box[0] >= 1 and item.box[3] - item.box[1] >= 1]
    assert bool(found) == bool(large)


def test_the_layout_models_order_comes_before_geometry() -> None:
    first, second = (
        replace(region(TEXT, 100, 100, 580, 500), rank=4),
        replace(region(TEXT, 620, 100, 1100, 500), rank=2),
    )
    third = replace(region(TABLE, 100, 600, 1100, 900), rank=0)

    assert in_reading_order([first, second, third], PAGE) == [third, second, first]


def test_what_the_layout_model_overlooked_stands_where_geometry_has_it() -> None:
    left = [region(TEXT, 100, 100 + 420 * i, 580, 500 + 420 * i) for i in range(3)]
    right = [region(TEXT, 620, 100 + 420 * i, 1100, 500 + 420 * i) for i in range(3)]
    ranked = [replace(found, rank=i) for i, found in enumerate([right[0], right[2], left[0], left[2]])]

    ordered = in_reading_order([*ranked, left[1], right[1]], PAGE)
    assert [found.box for found in ordered] == [found.box for found in [*right, *left]]


def test_headers_and_footers_stand_first_and_last_whatever_their_rank() -> None:
    header, footer = region(BlockType.HEADER, 100, 20, 600, 50), region(BlockType.FOOTER, 100, 1550, 600, 1580)
    text = replace(region(TEXT, 100, 100, 580, 500), rank=1)
    regions = [replace(footer, rank=0), text, replace(header, rank=2)]

    assert [found.type for found in in_reading_order(regions, PAGE)] == [header.type, TEXT, footer.type]
