"""How a page becomes nested boxes, for hOCR and ALTO."""

import itertools
import math
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_client.codec import page_to_dict, parse_page
from inkgate_client.formats.areas import page_areas, page_box, stand_together, untangle
from inkgate_client.formats.text import one_line
from inkgate_client.types import Block, BlockType, Line, PageResult, Quad, Word
from support import sample_results as sample
from support import strategies
from support.sample_results import upright


def page(*lines: Line, blocks: tuple[Block, ...] | None = None) -> PageResult:
    return PageResult(0, 1000, 1000, lines=lines, blocks=blocks)


def texts(result: PageResult) -> list[list[str]]:
    return [[row.text for row in area.rows] for area in page_areas(result)]


def at(text: str, left: float, top: float, right: float | None = None) -> Line:
    """A line 20 pixels high."""
    return Line(text, upright(left, top, left + 300 if right is None else right, top + 20), 0.9)


@strategies.examples
@given(strategies.pages())
def test_every_line_with_text_is_in_one_area(result: PageResult) -> None:
    if not result.lines:
        return
    rows = [row.text for area in page_areas(result) for row in area.rows]
    for line in result.lines:
        text = one_line(line.text)
        if text:
            rows.remove(text)
    unplaced = {one_line(part) for block in result.blocks or () for part in block.text.splitlines()}
    unplaced |= {one_line(part) for part in result.text.splitlines()}
    assert set(rows) <= unplaced


@strategies.examples
@given(strategies.pages(), st.floats(0.0, 0.1))
def test_boxes_are_the_same_out_of_json(result: PageResult, shift: float) -> None:
    def moved(line: Line) -> Line:
        quad: Quad = tuple((x + shift, y - shift) for x, y in line.quad)  # type: ignore[assignment]
        return replace(line, quad=quad, words=tuple(replace(word, quad=quad) for word in line.words))

    def boxes(page: PageResult) -> list[tuple[int, ...]]:
        return sorted(row.box for area in page_areas(page) for row in area.rows)

    result = replace(result, lines=tuple(moved(line) for line in result.lines))
    assert boxes(parse_page(orjson.dumps(page_to_dict(result)))) == boxes(result)


@strategies.examples
@given(strategies.pages())
def test_words_add_up_to_their_row(result: PageResult) -> None:
    for area in page_areas(result):
        for row in area.rows:
            assert "".join(word.text + " " * word.spaced for word in row.words) == row.text


@strategies.examples
@given(strategies.pages())
def test_boxes_lie_inside_each_other(result: PageResult) -> None:
    def inside(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
        left, top, right, bottom = inner
        return outer[0] <= left <= right <= outer[2] and outer[1] <= top <= bottom <= outer[3]

    for area in page_areas(result):
        assert inside(area.box, page_box(result))
        for row in area.rows:
            assert inside(row.box, area.box)
            assert all(inside(word.box, row.box) for word in row.words)


def test_lines_are_cut_into_areas_by_gaps() -> None:
    result = page(at("one", 100, 100), at("two", 100, 124), at("three", 100, 200), at("four", 100, 222))
    assert texts(result) == [["one", "two"], ["three", "four"]]


def test_the_next_column_is_another_area() -> None:
    result = page(at("left 1", 100, 100), at("left 2", 100, 124), at("right 1", 500, 100), at("right 2", 500, 124))
    assert texts(result) == [["left 1", "left 2"], ["right 1", "right 2"]]


def test_areas_that_would_overlap_are_one_with_all_between_them() -> None:
    around = (at("top", 0, 0), at("bottom", 0, 20))
    result = page(*around, at("far", 500, 500), at("within", 100, 10))
    assert texts(result) == [["top", "bottom", "far", "within"]]


@strategies.examples
@given(st.lists(strategies.lines(), max_size=8))
def test_groups_hardly_overlap_and_keep_the_order(lines: list[Line]) -> None:
    groups = untangle(stand_together(dict(enumerate(lines))))
    assert [line for group in groups for line in group.lines] == lines
    for one, other in itertools.combinations([group.box for group in groups], 2):
        across = min(one[2], other[2]) - max(one[0], other[0])
        down = min(one[3], other[3]) - max(one[1], other[1])
        smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
        assert max(across, 0) * max(down, 0) <= 0.2 * smaller


def test_thousands_of_labels_are_grouped_without_losing_one() -> None:
    labels = tuple(at(f"label {i}", 37 * (i % 25), 23 * (i * 7 % 41), 37 * (i % 25) + 30) for i in range(3000))
    assert sum(len(rows) for rows in texts(page(*labels))) == 3000


def test_what_stands_beside_a_line_belongs_to_its_area() -> None:
    result = page(at("milk", 100, 100), at("1.20", 600, 101), at("bread", 100, 124), at("2.80", 600, 125))
    assert texts(result) == [["milk", "1.20", "bread", "2.80"]]


def test_blocks_make_areas_and_their_leftovers_keep_their_place() -> None:
    lines = (at("head", 0, 0), at("stray", 0, 400), at("body", 0, 800))
    blocks = (
        Block(BlockType.TITLE, (0, 0, 300, 20), (0,), "head", "# head", 2),
        Block(BlockType.TEXT, (0, 800, 300, 820), (2,), "body", "body"),
    )
    result = page(*lines, blocks=blocks)
    assert texts(result) == [["head"], ["stray"], ["body"]]
    assert [area.level for area in page_areas(result)] == [2, None, None]


def test_a_figure_without_text_keeps_its_place_after_the_block_before_it() -> None:
    blocks = (
        Block(BlockType.TEXT, (0, 0, 300, 20), (0,), "a", "a"),
        Block(BlockType.FIGURE, (0, 30, 300, 90), (), "", ""),
        Block(BlockType.TEXT, (0, 100, 300, 120), (1,), "b", "b"),
    )
    result = page(at("a", 0, 0), at("b", 0, 100), blocks=blocks)
    assert [area.type for area in page_areas(result)] == [BlockType.TEXT, BlockType.FIGURE, BlockType.TEXT]


def test_a_line_claimed_by_two_blocks_is_shown_once() -> None:
    blocks = tuple(Block(BlockType.TEXT, (0, 0, 300, 20), (0,), "a", "a") for _ in range(2))
    assert texts(page(at("a", 0, 0), blocks=blocks)) == [["a"], []]


def test_a_block_whose_engine_gives_no_lines_shows_its_text_in_its_box() -> None:
    block = Block(BlockType.TABLE, (10, 10, 90, 50), (), "a b\n\nc d", "| a | b |")
    (area,) = page_areas(page(blocks=(block,)))
    assert [row.text for row in area.rows] == ["a b", "c d"]
    assert {row.box for row in area.rows} == {(10, 10, 90, 50)}
    assert {word.confidence for row in area.rows for word in row.words} == {None}


def test_text_without_lines_fills_the_page() -> None:
    (area,) = page_areas(PageResult(0, 100, 200, text="a\nb"))
    assert (area.box, [row.text for row in area.rows]) == ((0, 0, 100, 200), ["a", "b"])


def test_blank_and_failed_pages_have_no_areas() -> None:
    assert page_areas(PageResult(0, 100, 100)) == []
    assert page_areas(sample.FAILED) == []


def test_a_line_that_is_only_control_characters_is_no_row() -> None:
    assert page_areas(page(at("\x00\x01 ", 0, 0))) == []


def words_of(text: str, *words: str) -> list[tuple[str, bool]]:
    placed = tuple(Word(word, upright(10 * i, 0, 10 * i + 8, 20), 0.5) for i, word in enumerate(words))
    ((row,),) = [area.rows for area in page_areas(page(replace(at(text, 0, 0), words=placed)))]
    return [(word.text, word.spaced) for word in row.words]


def test_words_are_found_in_their_line() -> None:
    cases = [
        ("ink  gate", ("ink", "gate"), [("ink", True), ("gate", False)]),
        ("文字", ("文", "字"), [("文", False), ("字", False)]),
        ("use 文字", ("use", "文", "字"), [("use", True), ("文", False), ("字", False)]),
        ("(ink, gate)", ("ink", "gate"), [("(ink,", True), ("gate)", False)]),
        ("ink gate", ("ink", "goat"), [("ink gate", False)]),
        ("ink gate", (), [("ink gate", False)]),
        ("ink", ("", "ink", "\x00"), [("ink", False)]),
    ]
    wrong = [(text, words, found) for text, words, expected in cases if (found := words_of(text, *words)) != expected]
    assert wrong == []


@pytest.mark.parametrize(
    ("quad", "angle"),
    [
        (upright(0, 0, 100, 20), 0),
        (((0, 100), (0, 0), (20, 0), (20, 100)), 90),
        (((100, 20), (0, 20), (0, 0), (100, 0)), 180),
        (((20, 0), (20, 100), (0, 100), (0, 0)), 270),
        (((0, 10), (100, 0), (102, 20), (2, 30)), math.degrees(math.atan2(10, 100))),
    ],
)
def test_angles_are_counter_clockwise(quad: Quad, angle: float) -> None:
    ((row,),) = [area.rows for area in page_areas(page(Line("a", quad, 1.0)))]
    assert row.angle == pytest.approx(angle)
