"""Bold and italic words and links of PDFs, in Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from inkgate.layout.text.markdown import page_markdown
from inkgate.layout.text.spans import with_spans
from inkgate.page import TextSpan
from inkgate_client.coordinates import quad_of
from inkgate_client.escape import at_beginning, escape
from inkgate_client.types import Block, BlockType, Box, Line, PageResult, Word

WIDTH = 10.0


def line(text: str, row: int) -> Line:
    """A line whose words are as wide as they are long."""
    words, at = [], 0
    for word in text.split(" "):
        words.append(Word(word, quad_of((at * WIDTH, row * 20.0, (at + len(word)) * WIDTH, row * 20.0 + 15)), 1.0))
        at += len(word) + 1
    return Line(text, quad_of((0, row * 20.0, at * WIDTH, row * 20.0 + 15)), 1.0, tuple(words))


def box(text: str, part: str, row: int = 0) -> Box:
    start = text.index(part)
    return (start * WIDTH, row * 20.0, (start + len(part)) * WIDTH, row * 20.0 + 15)


def page(*texts: str, kind: BlockType = BlockType.TEXT, markdown: str | None = None) -> PageResult:
    lines = tuple(line(text, row) for row, text in enumerate(texts))
    shown = at_beginning(escape(" ".join(texts))) if markdown is None else markdown
    block = Block(kind, (0, 0, 500, 20.0 * len(texts)), tuple(range(len(texts))), "\n".join(texts), shown)
    return PageResult(0, 500, 500, lines=lines, blocks=(block,), markdown=page_markdown([block]), text="\n".join(texts))


def html(markdown: str) -> str:
    return str(MarkdownIt("commonmark").render(markdown)).strip()


def test_bold_and_italic_words_have_marks_inside_a_paragraph() -> None:
    text = "All of the words, but very few (of these), are set so."
    found = with_spans(
        page(text),
        [TextSpan(box(text, "the words,"), bold=True), TextSpan(box(text, "(of these),"), italic=True)],
    )
    assert found.markdown == "All of **the words**, but very few (*of these*), are set so."
    assert found.blocks is not None
    assert found.blocks[0].markdown == found.markdown
    assert found.text == text
    both = with_spans(page(text), [TextSpan(box(text, "few"), bold=True, italic=True)])
    assert "very ***few*** (of" in (both.markdown or "")


def test_a_page_that_is_all_bold_has_no_emphasis_and_headings_have_none() -> None:
    text = "Every word of this page."
    assert with_spans(page(text), [TextSpan(box(text, text), bold=True)]).markdown == text
    heading = page("A heading of words", kind=BlockType.TITLE, markdown="# A heading of words")
    assert with_spans(heading, [TextSpan(box("A heading of words", "heading"), italic=True)]) == heading


def test_a_link_is_the_words_that_it_covers_over_lines_too() -> None:
    one, two = "Read the docu-", "mentation (here) first."
    spans = [
        TextSpan(box(one, "the docu-"), address="https://example.com/a_(b)?x=1;y=2"),
        TextSpan(box(two, "mentation", 1), address="https://example.com/a_(b)?x=1;y=2"),
    ]
    found = with_spans(page(one, two, markdown="Read the documentation (here) first."), spans)
    assert found.markdown == ("Read [the documentation](https://example.com/a_%28b%29?x=1%3By=2) (here) first.")


def test_links_in_headings_lists_and_tables() -> None:
    heading = page("See there", kind=BlockType.TITLE, markdown="## See there")
    link = TextSpan(box("See there", "there"), address="mailto:a@example.com")
    assert with_spans(heading, [link]).markdown == "## See [there](mailto:a@example.com)"
    items = page("• See there", "• Two", kind=BlockType.LIST, markdown="- See there\n- Two")
    link = TextSpan(box("• See there", "there"), address="https://example.com")
    assert with_spans(items, [link]).markdown == "- See [there](https://example.com)\n- Two"
    table = page("See there", kind=BlockType.TABLE, markdown="| See | there |\n| --- | --- |")
    link = TextSpan(box("See there", "there"), address="https://example.com/a|b")
    assert with_spans(table, [link]).markdown == "| See | [there](https://example.com/a%7Cb) |\n| --- | --- |"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "JaVaScRiPt:x",
        "https://a b",
        "https://a\nb",
        "//x",
    ],
)
def test_addresses_that_run_or_open_files_are_no_links(address: str) -> None:
    text = "A word."
    assert with_spans(page(text), [TextSpan(box(text, "word."), address=address)]).markdown == text


def test_an_address_and_a_text_can_not_leave_their_link() -> None:
    text = "See ](javascript:x) [there."
    address = 'https://example.com/)](javascript:alert(1))"><b/onclick=x>&quot;\\'
    found = with_spans(page(text), [TextSpan(box(text, "](javascript:x) [there."), address=address)])
    shown = html(found.markdown or "")
    assert re.findall(r"<(\w+)", shown) == ["p", "a"], shown
    assert re.sub(r"<[^>]*>", "", shown) == text


def test_text_that_a_model_wrote_stays() -> None:
    text = "A word."
    written = PageResult(0, 500, 500, lines=(line(text, 0),), blocks=page(text).blocks, markdown="Another *word*.")
    assert with_spans(written, [TextSpan(box(text, "word."), bold=True)]) == written


WORDS = st.lists(st.text("abcé雨*_[]()`<>#&~|\\.,-1", min_size=1, max_size=6), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.data())
def test_marks_do_not_change_what_the_markdown_says(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    bold, italic, linked = (data.draw(st.sets(st.integers(0, len(words) - 1), max_size=4)) for _ in range(3))
    before = page(text)
    own = before.lines[0].words
    spans = [
        TextSpan((*word.quad[0], *word.quad[2]), number in bold, number in italic, "https://x.y/" * (number in linked))
        for number, word in enumerate(own)
        if number in bold | italic | linked
    ]
    after = with_spans(before, spans)
    assert before.markdown is not None
    assert after.markdown is not None
    assert re.sub(r"<[^>]*>", "", html(after.markdown)) == re.sub(r"<[^>]*>", "", html(before.markdown))
