"""Levels of headings over a whole document."""

from dataclasses import replace

from inkgate.layout.text.headings import with_levels
from inkgate_client.types import Block, BlockType, Line, PageResult


def page(*titles: tuple[str, float], text_size: float = 20.0, source: str = "ocr") -> PageResult:
    """A page of titles of these heights, numbered from level 1 on whatever they are, and a line of text."""
    lines: list[Line] = []
    blocks: list[Block] = []
    for text, height in [*titles, ("Some text that is long enough", text_size)]:
        top = 50.0 * len(lines)
        quad = ((0.0, top), (300.0, top), (300.0, top + height), (0.0, top + height))
        number = len(lines)
        lines.append(Line(text, quad, 0.9))
        kind = BlockType.TITLE if number < len(titles) else BlockType.TEXT
        level = number + 1 if kind is BlockType.TITLE else None
        markdown = f"{'#' * level} {text}" if level else text
        blocks.append(Block(kind, (0, top, 300, top + height), (number,), text, markdown, level))
    return PageResult(0, 300, 900, source=source, lines=tuple(lines), blocks=tuple(blocks))


def levels(*pages: PageResult) -> list[list[str]]:
    return [
        [block.markdown for block in one.blocks or () if block.type is BlockType.TITLE] for one in with_levels(pages)
    ]


def test_headings_of_one_size_have_one_level_on_all_pages() -> None:
    first = page(("The Book", 40), ("A chapter", 30), ("A part", 24))
    second, third = page(("Another chapter", 31)), page(("Another part", 23.5), ("Last chapter", 30))
    assert levels(first, second, third) == [
        ["# The Book", "## A chapter", "### A part"], ["## Another chapter"], ["### Another part", "## Last chapter"]
    ]  # fmt: skip


def test_without_a_large_title_headings_begin_at_the_second_level() -> None:
    assert levels(page(("One", 22)), page(("Two", 22))) == [["## One"], ["## Two"]]


def test_numbers_tell_the_levels_of_headings_of_one_size() -> None:
    assert levels(page(("1 One", 22), ("1.1 Two", 22), ("1.1.1. Three", 22)), page(("2 Four", 24), ("Notes", 22))) == [
        ["## 1 One", "### 1.1 Two", "#### 1.1.1. Three"], ["## 2 Four", "## Notes"]
    ]  # fmt: skip


def test_a_lone_number_tells_at_least_how_deep_a_heading_is() -> None:
    assert levels(page(("3.4 Exercises", 40))) == [["## 3.4 Exercises"]]


def test_a_size_that_two_of_many_headings_have_makes_no_level() -> None:
    sections = [page((f"Section {i}", 30), (f"Part {i}", 24)) for i in range(40)]
    pages = [page(("The Book", 60)), page(("A box", 36), ("Another box", 36)), *sections]
    assert levels(*pages)[:3] == [["# The Book"], ["## A box", "## Another box"], ["## Section 0", "### Part 0"]]


def test_every_size_of_few_headings_makes_a_level() -> None:
    sections = [page((f"Section {i}", 24)) for i in range(8)]
    assert levels(page(("The Book", 60), ("First part", 36)), *sections)[:2] == [
        ["# The Book", "## First part"], ["### Section 0"]
    ]  # fmt: skip


def test_headings_of_the_text_s_size_and_below_have_one_level() -> None:
    assert levels(page(("The Book", 40), ("Notes", 20), ("Thanks", 12))) == [["# The Book", "## Notes", "## Thanks"]]


def test_letters_without_long_strokes_do_not_make_a_heading_of_a_text_layer_smaller() -> None:
    both = page(("Reasoning", 27.9), ("sea nun", 15), text_size=18.6, source="text_layer")
    assert levels(both) == [["# Reasoning", "# sea nun"]]


def test_headings_without_lines_stay_as_the_model_gave_them() -> None:
    one = page(("One", 22), ("Two", 40))
    blocks = tuple(replace(block, lines=()) for block in one.blocks or ())
    pages = [replace(one, lines=(), blocks=blocks)]
    assert with_levels(pages) is pages


def test_levels_of_a_finished_document_stay() -> None:
    once = with_levels([page(("One", 40), ("Two", 22)), page(("Three", 22))])
    assert all(new is old for new, old in zip(with_levels(once), once, strict=True))
