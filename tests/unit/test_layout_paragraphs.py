"""Paragraphs, lists and their Markdown, by geometry alone."""

import pytest

from inkgate.layout.arrange import arrange
from inkgate.layout.markdown import escape, join_lines, title
from inkgate.types import BlockType, Line
from support.layouts import PAGE, PITCH, column, line, prose


def blocks(lines: list[Line]) -> list[str]:
    return [block.text for block in arrange(lines, PAGE).blocks]


def markdown(lines: list[Line]) -> str:
    return arrange(lines, PAGE).markdown


def test_a_wider_space_begins_a_paragraph() -> None:
    lines = [*column(prose("a", 4), 100, 100, 800), *column(prose("b", 4), 100, 100 + 5 * PITCH, 800)]
    assert [text[:2] for text in blocks(lines)] == ["a0", "b0"]


def test_an_indented_first_line_begins_a_paragraph() -> None:
    lines = column(prose("a", 6), 100, 100, 800)
    lines[3] = line(lines[3].text, 140, 100 + 3 * PITCH, 760)
    assert [text[:2] for text in blocks(lines)] == ["a0", "a3"]


def test_a_short_last_line_ends_a_paragraph() -> None:
    lines = column(prose("a", 6), 100, 100, 800)
    lines[2] = line("and ends.", 100, 100 + 2 * PITCH)
    assert [text[:2] for text in blocks(lines)] == ["a0", "a3"]


def test_another_size_begins_a_paragraph() -> None:
    lines = [line("A headline", 100, 100, 400, 34), *column(prose("a", 3), 100, 140, 800)]
    assert [text[:2] for text in blocks(lines)] == ["A ", "a0"]


def test_verse_in_even_lines_stays_together() -> None:
    lines = column(["Und der Haifisch", "der hat Zähne", "und die trägt er", "im Gesicht"], 100, 100)
    assert len(blocks(lines)) == 1


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (["• ", "• "], "- apples from the garden of the house, the ripe ones\n- pears"),
        (["- ", "- "], "- apples from the garden of the house, the ripe ones\n- pears"),
        (["1. ", "2. "], "1. apples from the garden of the house, the ripe ones\n2. pears"),
        (["(a) ", "(b) "], "- (a) apples from the garden of the house, the ripe ones\n- (b) pears"),
    ],
)
def test_items_with_marks_are_a_list(marks: list[str], expected: str) -> None:
    texts = [f"{marks[0]}apples from the garden of the house,", "the ripe ones", f"{marks[1]}pears"]
    lines = [line(texts[0], 100, 100), line(texts[1], 130, 100 + PITCH), line(texts[2], 100, 100 + 2 * PITCH)]
    result = arrange(lines, PAGE)
    assert [block.type for block in result.blocks] == [BlockType.LIST]
    assert result.markdown == expected
    assert result.text == "\n".join(texts)


def test_chinese_numbering_makes_a_list() -> None:
    lines = column(["一、总则和适用范围说明", "二、术语和定义说明内容", "三、一般规定说明的内容"], 100, 100)
    result = arrange(lines, PAGE)
    assert [block.type for block in result.blocks] == [BlockType.LIST]
    assert result.markdown.splitlines()[0] == "- 一、总则和适用范围说明"


@pytest.mark.parametrize("text", ["1. Introduction", "2018. What a year", "1.5 litres of milk", "(c) 2019 by us"])
def test_a_lone_number_makes_no_list(text: str) -> None:
    lines = [line(text, 100, 100), *column(prose("a", 3), 100, 160, 800)]
    assert {block.type for block in arrange(lines, PAGE).blocks} == {BlockType.TEXT}


def test_full_lines_flow_in_markdown_and_stay_in_text() -> None:
    texts = ["The length of a line is lim-", "ited by the page, and so it", "breaks."]
    lines = [*column(texts[:2], 100, 100, 400), line(texts[2], 100, 100 + 2 * PITCH)]
    result = arrange(lines, PAGE)
    assert result.text == "\n".join(texts)
    assert result.markdown == "The length of a line is limited by the page, and so it breaks."


def test_lines_that_are_not_full_keep_their_breaks_in_markdown() -> None:
    lines = column(["Pino Bluebird", "Sesamestreet 32, on the second floor", "Amsterdam"], 100, 100)
    assert markdown(lines) == "Pino Bluebird  \nSesamestreet 32, on the second floor  \nAmsterdam"


def test_rows_of_cells_keep_their_breaks_in_markdown() -> None:
    lines = []
    for i, (label, value) in enumerate([("Subtotal", "9.00"), ("Tax", "0.60"), ("Total", "9.60")]):
        lines += [line(label, 100, 100 + i * PITCH), line(value, 800, 100 + i * PITCH)]
    assert markdown(lines) == "Subtotal 9.00  \nTax 0.60  \nTotal 9.60"


def test_lines_are_joined_as_their_script_asks() -> None:
    cases = [
        (["one", "two"], "one two"),
        (["exam-", "ple"], "example"),
        (["Anglo-", "Saxon"], "Anglo- Saxon"),
        (["pages 12-", "14"], "pages 12- 14"),
        (["这是一个", "段落。"], "这是一个段落。"),
        (["日本語の", "文章"], "日本語の文章"),
        (["中文 and", "English"], "中文 and English"),
        (["English", "中文"], "English 中文"),
        (["", "one", ""], "one"),
        ([], ""),
    ]
    assert [(texts, found) for texts, expected in cases if (found := join_lines(texts)) != expected] == []


def test_only_what_markdown_would_take_for_markup_is_escaped() -> None:
    cases = [
        ("2 * 3 * 4", "2 \\* 3 \\* 4"),
        ("_soft_ snake_case", "\\_soft\\_ snake_case"),
        ("a < b <b>bold</b>", "a < b \\<b>bold\\</b>"),
        ("[1](note)", "[1\\](note)"),
        ("`code` \\ path", "\\`code\\` \\\\ path"),
        ("50% of $3 & more!", "50% of $3 & more!"),
    ]
    assert [(text, found) for text, expected in cases if (found := escape(text)) != expected] == []


def test_a_line_does_not_become_a_block_by_its_first_character() -> None:
    cases = [
        ("# not a heading", "\\# not a heading"),
        ("#hashtag", "#hashtag"),
        ("> quoted", "\\> quoted"),
        ("1) one", "1\\) one"),
        ("1985. A year", "1985\\. A year"),
        ("-5 degrees", "-5 degrees"),
        ("---", "\\---"),
    ]
    wrong = [(text, found) for text, expected in cases if (found := markdown([line(text, 100, 100, 300)])) != expected]
    assert wrong == []


def test_a_title_is_one_line_of_markdown() -> None:
    assert title("The *best* of it", 3) == "### The \\*best\\* of it"


def test_a_sentence_that_goes_on_in_the_next_column_is_one_paragraph_in_markdown() -> None:
    left = [*prose("a", 6), "and here a sentence begins at the foot to con-"]
    right = ["tinue at the head of the other column of it.", *prose("B", 6)]
    result = arrange([*column(left, 100, 100, 460), *column(right, 600, 100, 460)], PAGE)
    assert "begins at the foot to continue at the head" in result.markdown
    assert len(result.blocks) == 2
    assert "to con-\n\ntinue at" in result.text
