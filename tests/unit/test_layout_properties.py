"""What holds for the arrangement of any page, however odd its geometry."""

import random
from collections import Counter
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from inkgate.layout.arrange import Arrangement
from inkgate.layout.evidence import Region
from inkgate.layout.whole_document import finished_pages
from inkgate_client.types import BlockType, Line, PageResult, Quad, Size
from support.layouts import arrange
from support.layouts import line as line_at

PAGE = Size(2000, 2600)
WORDS = st.sampled_from(
    ["", " ", "a", "12.50", "TOTAL", "running text of a page", "• item", "1. first", "一、总则", "|", "#"]
)
EVEN = st.integers(0, 125).map(lambda n: n * 16.0)
ODD = st.floats(-500, 3000, width=16)


@st.composite
def quads(draw: st.DrawFn) -> Quad:
    if draw(st.integers(0, 4)) == 0:  # any four points
        first, second, third, fourth = (draw(st.tuples(ODD, ODD)) for _ in range(4))
        return (first, second, third, fourth)
    left, top = draw(EVEN), draw(EVEN)
    right, bottom = (
        left + draw(st.sampled_from([0.0, 16.0, 96.0, 640.0])),
        top + draw(st.sampled_from([0.0, 16.0, 32.0])),
    )
    return ((left, top), (right, top), (right, bottom), (left, bottom))


LINES = st.lists(st.builds(Line, WORDS, quads(), st.sampled_from([0.5, 0.9])), max_size=40)
REGIONS = st.lists(
    st.builds(
        lambda kind, left, top, width, height, confidence, rank: Region(
            kind, (left, top, left + width, top + height), confidence, rank
        ),
        st.sampled_from(BlockType),
        EVEN,
        EVEN,
        st.sampled_from([0.0, 200.0, 1500.0]),
        st.sampled_from([0.0, 100.0, 1500.0]),
        st.sampled_from([0.4, 0.8]),
        st.sampled_from([None, 0, 1, 2]),
    ),
    max_size=8,
)


def check(result: Arrangement, lines: list[Line]) -> None:
    assert Counter(result.lines) == Counter(lines)
    placed = [index for block in result.blocks for index in block.lines]
    assert placed == list(range(len(lines)))
    for block in result.blocks:
        assert (block.level is not None) == (block.type is BlockType.TITLE)
        assert block.level is None or 1 <= block.level <= 6
        assert block.box[0] <= block.box[2]
        assert block.box[1] <= block.box[3]
        if block.table is not None:
            assert [index for cell in block.table.cells for index in cell.lines] == list(block.lines)


def check_markdown(result: Arrangement | PageResult) -> None:
    """Every line ends in a name that no other line contains, or is without one."""
    assert result.markdown is not None
    left_out = [index for part in result.left_out for index in part.lines]
    assert len(left_out) == len(set(left_out))
    for part in result.left_out:
        assert all(result.lines[index].text.strip() in part.text for index in part.lines)
    for i, line in enumerate(result.lines):
        name = line.text.split(" ")[-1]
        if name.startswith("q"):
            assert result.markdown.count(name) == (0 if i in left_out else 1)


@settings(max_examples=80, deadline=None)
@given(lines=LINES)
@example(lines=[Line("one", ((5, 5), (5, 5), (5, 5), (5, 5)), 0.9)] * 7)
def test_every_line_is_arranged_once(lines: list[Line]) -> None:
    check(arrange(lines, PAGE), lines)


@settings(max_examples=80, deadline=None)
@given(lines=LINES, regions=REGIONS)
def test_every_line_is_in_one_block_whatever_the_regions(lines: list[Line], regions: list[Region]) -> None:
    check(arrange(lines, PAGE, regions), lines)


@settings(max_examples=120, deadline=None)
@given(lines=LINES, regions=st.none() | REGIONS, numbers=st.sets(st.integers(0, 39)))
def test_every_line_is_in_the_markdown_once_or_left_out(
    lines: list[Line], regions: list[Region] | None, numbers: set[int]
) -> None:
    named = [
        replace(line, text=str(i) if i in numbers else f"{line.text} q{i}q.".strip()) for i, line in enumerate(lines)
    ]
    check_markdown(arrange(named, PAGE, regions))


EDGE_LINES = st.builds(
    lambda text, left, top: Line(text, ((left, top), (left + 300, top), (left + 300, top + 16), (left, top + 16)), 0.9),
    st.sampled_from(["Report", "{n}", "Page {n} of 9", "Total {n}.50", "Chapter a {n}"]),
    st.sampled_from([96.0, 900.0]),
    st.sampled_from([32.0, 64.0, 2496.0, 2528.0]),
)


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(EDGE_LINES, max_size=3),
    bodies=st.lists(LINES.map(lambda lines: lines[:6]), min_size=1, max_size=6),
    regions=REGIONS,
)
def test_whole_documents_lose_no_line_and_are_finished_once(
    edges: list[Line], bodies: list[list[Line]], regions: list[Region]
) -> None:
    pages = []
    for i, body in enumerate(bodies):
        lines = [replace(line, text=line.text.format(n=i + 1)) for line in (*edges, *body)]
        named = [replace(line, text=f"{line.text} q{n}q.".strip()) if n % 2 else line for n, line in enumerate(lines)]
        pages.append(arrange(named, PAGE, regions).put_into(PageResult(i, PAGE.width, PAGE.height), parse=True))
    done = finished_pages(pages)
    assert finished_pages(done) == done
    for before, after in zip(pages, done, strict=True):
        assert (after.lines, after.text) == (before.lines, before.text)
        assert [block.lines for block in after.blocks or ()] == [block.lines for block in before.blocks or ()]
        assert set(before.left_out) <= set(after.left_out)
        check_markdown(after)


@settings(max_examples=50, deadline=None)
@given(lines=LINES, regions=st.none() | REGIONS, seed=st.integers(0, 99))
def test_the_order_in_which_lines_and_regions_are_given_does_not_matter(
    lines: list[Line], regions: list[Region] | None, seed: int
) -> None:
    shuffle = random.Random(seed)
    others = shuffle.sample(lines, len(lines))
    other_regions = shuffle.sample(regions, len(regions)) if regions is not None else None
    assert arrange(others, PAGE, other_regions) == arrange(lines, PAGE, regions)


def moved(line: Line, x: float, y: float) -> Line:
    first, second, third, fourth = ((px + x, py + y) for px, py in line.quad)
    return Line(line.text, (first, second, third, fourth), line.confidence)


BOXES = st.builds(
    lambda left, top, width, height: (
        (left, top),
        (left + width, top),
        (left + width, top + height),
        (left, top + height),
    ),
    EVEN,
    EVEN,
    st.sampled_from([16.0, 96.0, 640.0]),
    st.sampled_from([16.0, 32.0]),
)


@settings(max_examples=50, deadline=None)
@given(
    lines=st.lists(st.builds(Line, WORDS, BOXES, st.just(0.9)), max_size=40),
    x=st.integers(-64, 64),
    y=st.integers(-64, 64),
)
def test_the_text_does_not_change_when_the_page_is_moved(lines: list[Line], x: int, y: int) -> None:
    there = [moved(line, x * 16.0, y * 16.0) for line in lines]
    assert arrange(there, PAGE).text == arrange(lines, PAGE).text


def test_ten_thousand_lines_are_arranged() -> None:
    places = random.Random(3)
    lines = []
    for i in range(10_000):
        left, top, width = places.uniform(0, 9000), places.uniform(0, 9000), places.uniform(0, 400)
        quad = ((left, top), (left + width, top), (left + width, top + 20), (left, top + 20))
        lines.append(Line(f"line {i}", quad, 0.9))
    check(arrange(lines, Size(10_000, 10_000)), lines)


def test_a_table_of_more_columns_than_python_may_recurse_is_arranged() -> None:
    lines = [line_at(f"{row}.{column}", column * 60.0, row * 30.0, 40) for row in range(2) for column in range(1200)]
    result = arrange(lines, Size(72_000, 60), [Region(BlockType.TABLE, (0, 0, 72_000, 60), 0.9)])
    check(result, lines)
    (table,) = [block.table for block in result.blocks if block.table is not None]
    assert (table.rows, table.columns) == (2, 1200)


def test_a_table_of_thousands_of_cells_is_arranged() -> None:
    """Each piece was compared with each other one in Python, which took half a minute."""
    lines = [line_at(str(i), i % 50 * 100.0, i // 50 * 30.0, 50) for i in range(4000)]
    result = arrange(lines, Size(5000, 2400), [])
    check(result, lines)
    (table,) = [block.table for block in result.blocks if block.table is not None]
    assert (table.rows, table.columns) == (80, 50)
