"""Marks show what is doubtful, and change nothing else of the Markdown."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given

from inkgate_client.formats.marks import marked
from inkgate_client.types import BlockType, Line, PageResult, TextWord, Word
from support import strategies
from support.layouts import PAGE, arrange, column, line, region

ADDED = re.compile(r"</?mark>|<!-- doubtful: confidence \d\.\d\d -->\n\n")


def with_words(found: Line, doubtful: str) -> Line:
    """The line with its words; those named are doubtful."""
    words = tuple(Word(text, found.quad, 0.5 if text in doubtful.split() else 0.99) for text in found.text.split())
    return replace(found, words=words)


def page_of(lines: list[Line], table: bool = False) -> PageResult:
    regions = [region(BlockType.TABLE, 90, 90, 700, 330)] if table else []
    return arrange(lines, PAGE, regions).put_into(PageResult(0, PAGE.width, PAGE.height), parse=True)


def test_doubtful_words_are_marked_where_they_stand() -> None:
    texts = ["The cat sat on the cat of the", "house and the *star* was a cat"]
    first, second = column(texts, 100, 100)
    page = marked(page_of([with_words(first, "sat"), with_words(second, "*star* cat")]))
    assert page.markdown == (
        "The cat <mark>sat</mark> on the cat of the house and the <mark>\\*star\\*</mark> was a <mark>cat</mark>"
    )


def test_a_word_within_another_is_not_marked() -> None:
    (found,) = column(["category art cat"], 100, 100)
    assert marked(page_of([with_words(found, "cat")])).markdown == "category art <mark>cat</mark>"


def test_characters_of_a_script_without_spaces_are_marked() -> None:
    found = line("今天天气很好", 100, 100)
    found = replace(found, words=tuple(Word(sign, found.quad, 0.3 if sign == "很" else 1.0) for sign in found.text))
    assert marked(page_of([found])).markdown == "今天天气<mark>很</mark>好"


def test_cells_of_a_table_are_marked_and_its_tags_are_not() -> None:
    rows = [line(f"{row}{name}", left, 100 + 40 * row) for row in range(5) for name, left in (("td", 100), ("b", 400))]
    page = marked(page_of([with_words(each, "1td 3b") for each in rows], table=True))
    assert page.markdown is not None
    assert re.findall(r"<mark>(.*?)</mark>", page.markdown) == ["1td", "3b"]
    assert ADDED.sub("", page.markdown) == page_of(rows, table=True).markdown


def test_a_doubtful_block_has_a_comment_before_it() -> None:
    page = page_of(column(["Some text of one block."], 100, 100))
    blocks = tuple(replace(block, confidence=0.31) for block in page.blocks or ())
    found = marked(replace(page, blocks=blocks))
    assert (found.markdown or "").startswith("<!-- doubtful: confidence 0.31 -->\n\n")


def test_words_of_a_model_are_marked_outside_of_formulas_and_tags() -> None:
    markdown = 'sum $sum + x$ and <a title="sum">x</a> `sum` sum'
    words = (TextWord("sum", 0, 0.1), TextWord("sum", 5, 0.1), TextWord("sum", 9, 0.1))
    page = PageResult(0, text="sum", markdown=markdown, words=words)
    assert marked(page).markdown == ('<mark>sum</mark> $sum + x$ and <a title="sum">x</a> `sum` <mark>sum</mark>')


def test_a_page_without_markdown_is_not_changed() -> None:
    page = PageResult(0, text="a", words=(TextWord("a", 0, 0.1),))
    assert marked(page) == page


@given(strategies.pages())
def test_nothing_but_marks_and_comments_is_added(page: PageResult) -> None:
    before, after = page.markdown, marked(page).markdown
    if before is None or after is None:
        assert before == after
    elif not ADDED.search(before):
        assert ADDED.sub("", after) == before
