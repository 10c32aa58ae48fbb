"""Paragraphs, lists and their Markdown, by geometry alone."""

import pytest

from inkgate.layout.text.hyphenation import Vocabulary, join_lines
from inkgate.layout.text.markdown import title
from inkgate_client.escape import escape
from inkgate_client.types import BlockType, Line
from support.layouts import PAGE, PITCH, arrange, column, line, prose


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


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([("• one", 0), ("– inner", 30), ("– again", 30), ("• two", 0)], "- one\n  - inner\n  - again\n- two"),
        ([("1. one", 0), ("a) inner", 30), ("b) again", 30), ("2. two", 0)],
         "1. one\n   - a) inner\n   - b) again\n2. two"),
        ([("1. one", 0), ("1. inner", 40), ("2. again", 40), ("2. two", 0)],
         "1. one\n   1. inner\n   2. again\n2. two"),
        ([("1. one", 0), ("(i) inner", 0), ("(ii) again", 0), ("2. two", 0)],
         "1. one\n   - (i) inner\n   - (ii) again\n2. two"),
        ([("9. nine", 10), ("10. ten", 0), ("11. eleven", 0)], "9. nine\n10. ten\n11. eleven"),
        ([("• one", 0), ("◦ deep", 30), ("▪ deeper", 60), ("◦ back", 30)],
         "- one\n  - deep\n    - deeper\n  - back"),
    ],
)  # fmt: skip
def test_lists_nest_by_indent_and_by_their_marks(items: list[tuple[str, int]], expected: str) -> None:
    lines = [line(text, 100 + left, 100 + i * PITCH) for i, (text, left) in enumerate(items)]
    result = arrange(lines, PAGE)
    assert [block.type for block in result.blocks] == [BlockType.LIST]
    assert result.markdown == expected


def test_speech_after_a_dash_is_no_list() -> None:
    texts = ["— I have no idea, he said, what you", "are talking about.", "— Nor have I, said she, but let", "us go."]
    lines = [line(text, 140 if i % 2 == 0 else 100, 100 + i * PITCH) for i, text in enumerate(texts)]
    result = arrange(lines, PAGE)
    assert {block.type for block in result.blocks} == {BlockType.TEXT}
    assert result.markdown.count("— ") == 2


def test_a_page_number_between_dashes_is_no_list() -> None:
    assert arrange([line("- 10 -", 500, 100)], PAGE).blocks[0].type is BlockType.TEXT


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
        (["Anglo-", "Saxon"], "Anglo-Saxon"),
        (["pre-", "and postwar"], "pre- and postwar"),
        (["IN-", "FORMATION"], "IN-FORMATION"),
        (["INFOR-", "MATION"], "INFORMATION"),
        (["18-", "year"], "18-year"),
        (["exam\u00ad", "ple"], "example"),
        (["a dash -", "and more"], "a dash - and more"),
        (["pages 12-", "14"], "pages 12-14"),
        (["这是一个", "段落。"], "这是一个段落。"),
        (["日本語の", "文章"], "日本語の文章"),
        (["中文 and", "English"], "中文 and English"),
        (["English", "中文"], "English 中文"),
        (["", "one", ""], "one"),
        ([], ""),
    ]
    assert [(texts, found) for texts, expected in cases if (found := join_lines(texts)) != expected] == []


def test_hyphens_stay_where_the_page_writes_them_within_a_line() -> None:
    known = Vocabulary.of(["a well-known re-\u00admark", "online and on-line forms of co-", "operation"])
    cases = [(["well-", "known"], "well-known"), (["on-", "line"], "online"), (["unco-", "operative"], "uncooperative")]
    assert [(texts, found) for texts, expected in cases if (found := join_lines(texts, known)) != expected] == []


def test_a_compound_broken_at_a_lines_end_keeps_its_hyphen_in_markdown() -> None:
    texts = ["The time series of this well-known", "study are as long as those of well-", "known others of it."]
    assert "those of well-known others" in markdown(column(texts, 100, 100, 400))


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


def test_labels_with_values_keep_their_lines() -> None:
    lines = column(["Invoice no: 993548900", "Customer: 6669263", "Date: 19 April 2014", "Order: 12572103"], 100, 100)
    assert markdown(lines).count("  \n") == 3


def test_a_row_that_closes_a_bracket_begins_no_item() -> None:
    texts = [
        "the subjects were injured in 26 percent (n =",
        "71) of all the incidents that were counted in",
        "these years.",
    ]
    assert "(n = 71) of all" in markdown(column(texts, 100, 100, 480))


def test_what_is_said_begins_a_paragraph() -> None:
    texts = ["They were healed and quiet, and drank the wine.", "—Bravo! they cried, and then again.", "—Encore!"]
    assert markdown([line(text, 100, 100 + 28 * i) for i, text in enumerate(texts)]).count("\n\n") == 2


ADDRESS = ["Mr John Doe", "12 High Road", "Lowertown"]


def test_an_address_above_a_letter_keeps_its_lines_though_they_are_equally_long() -> None:
    letter = column([part.capitalize() for part in prose("a", 5)], 100, 300, 800)
    assert markdown([*column(ADDRESS, 100, 100), *letter]).startswith("Mr John Doe  \n12 High Road  \nLowertown\n\nA0")


def test_a_narrow_column_of_text_is_no_address() -> None:
    inset = column(["Mr John Doe told", "us on the road to", "his town what he", "thinks of letters."], 100, 100)
    letter = column([part.capitalize() for part in prose("a", 5)], 100, 400, 800)
    assert markdown([*inset, *letter]).startswith("Mr John Doe told us on the road to his town")


def test_lines_of_a_play_that_had_no_room_go_on_below() -> None:
    rows = [("HAMLET", 80), ("What is the matter that you read my lord, and", 800), ("of whom", 100), ("OPHELIA", 90),
            ("Words", 80), ("POLONIUS", 100), ("I mean the matter that you read, and what is", 800),
            ("between the pages", 250), ("HAMLET", 80), ("Slanders, for the satirical rogue says here that", 800),
            ("old men", 250)]  # fmt: skip
    found = markdown([line(text, 100, 100 + i * PITCH, width) for i, (text, width) in enumerate(rows)])
    assert found.split("  \n") == [
        "HAMLET", "What is the matter that you read my lord, and of whom", "OPHELIA", "Words", "POLONIUS",
        "I mean the matter that you read, and what is between the pages", "HAMLET",
        "Slanders, for the satirical rogue says here that old men",
    ]  # fmt: skip


def test_a_divided_word_is_joined_among_lines_that_stand_by_themselves() -> None:
    rows = [
        ("ROSES", 150),
        ("that are red and very sweet-", 500),
        ("ened by the rain", 300),
        ("VIOLETS", 170),
        ("Blue", 60),
    ]
    found = markdown([line(text, 100, 100 + i * PITCH, width) for i, (text, width) in enumerate(rows)])
    assert "very sweetened by the rain" in found
    assert "VIOLETS  \nBlue" in found


def test_verses_that_go_on_in_lower_case_keep_their_lines() -> None:
    verses = ["so much depends upon the rain", "that fell", "beside the white and red and brown", "birds", "of spring"]
    assert markdown(column(verses, 100, 100)) == "  \n".join(verses)


@pytest.mark.parametrize("rows", [["Jane Roe", "Mill Lane 32", "1025 RX Lowertown"], ["Appendix 5", "Page 8 of 11"]])
def test_short_lines_with_numbers_keep_their_breaks(rows: list[str]) -> None:
    assert markdown(column(rows, 100, 100)) == "  \n".join(rows)
