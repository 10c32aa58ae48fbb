"""Whatever is written on a page, its Markdown renders as that: every text once, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.tables.blocks import table_markdown, table_of
from inkgate.layout.tables.grid import plain_grid
from inkgate.layout.text import markdown
from inkgate.layout.text.lists import listing
from inkgate.layout.text.paragraphs import BULLET, Paragraph
from inkgate_client.escape import of_text
from inkgate_client.formats.markdown import page_markdown
from inkgate_client.types import BlockType, PageResult, Size
from support.layouts import arrange, line
from support.strategies import examples

PARTS = {"thead", "tbody", "tr", "th", "td"}
RENDERERS = [MarkdownIt("commonmark", {"html": on}).enable(["table", "strikethrough"]) for on in (True, False)]

HOSTILE = [
    "~~~~",
    "~~gone~~",
    "[12]: https://x",
    "[^1]: note",
    "[a](b)",
    "![a](b)",
    "--",
    "-",
    "=",
    "===",
    "- - -",
    "-- -",
    "> 5 mm",
    "- > 5 mm",
    "+",
    "+ x",
    "# C #",
    "C ##",
    "#",
    "&copy;",
    "&#35;",
    "&#x23;",
    "&amp;amp;",
    "<b>bold</b>",
    "<http://x.org>",
    "<!-- gone -->",
    "<?php",
    "</p>",
    "1. one",
    "1)",
    "2024.",
    "* x",
    "**bold**",
    "_soft_",
    "__init__",
    "a_b_",
    "`code`",
    "```",
    "a | b",
    "|",
    "| --- | --- |",
    ":-",
    "--|--",
    "a\\",
    "\\|",
    "\\",
    "    four spaces",
    "\ttab",
    "[x] done",
    "[ ] open",
    "a  ",
    "$x$",
    "\x00# null",
    "a\nb",
]
texts = (
    st.sampled_from(HOSTILE)
    | st.text("#>-+*_=~`|\\[](){}!<&;:/.1 axX\t\n\x01", min_size=1, max_size=12)
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
).filter(lambda text: shown(text) != "")
lists_of_texts = st.lists(texts, min_size=1, max_size=4)


def shown(text: str) -> str:
    """A text as a browser shows it: no control characters, and one space where there is white space."""
    spaced = re.sub(r"[\t\n\r]", " ", text)
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", "", spaced).split())


def rendered(content: str, path: str) -> list[list[str]]:
    """The texts of the elements at `path`, by each renderer, when nothing else is there."""
    found = []
    for renderer in RENDERERS:
        tree = html.fragment_fromstring(renderer.render(content), create_parent="body")
        elements = tree.xpath(path)
        texts = [shown(element.text_content()) for element in elements]
        everything = shown(" ".join(element.text_content() for element in tree))
        assert everything == shown(" ".join(texts)), (content, everything)
        assert {element.tag for element in tree.iter()} <= {"body", "br", *PARTS, *path.split("/")}, content
        assert len(tree) == 1, content
        found.append(texts)
    return found


def rows_of(texts: Sequence[str]) -> list[list[LayoutPiece]]:
    """Rows of different widths, whose breaks stay."""
    return [[LayoutPiece(i, text, 0, 30.0 * i, 10.0 * 3**i, 30.0 * i + 20)] for i, text in enumerate(texts)]


def check_paragraph(content: str, texts: Sequence[str]) -> None:
    assert rendered(content, "p") == [[shown(" ".join(texts))]] * len(RENDERERS), content


@examples
@given(lists_of_texts)
@example(["~~~~"])
@example(["[12]: https://x"])
@example(["Text", "--"])
@example(["Text", "="])
@example(["a | b", "--- | ---"])
@example(["&copy; a\\", "b"])
@example(["__init__"])
def test_a_paragraph_renders_as_its_text(texts: list[str]) -> None:
    check_paragraph(markdown.prose(Paragraph(rows_of(texts))), texts)


@examples
@given(lists_of_texts.filter(lambda texts: all("\n" not in text for text in texts)))
def test_plain_text_renders_as_it_is(texts: list[str]) -> None:
    check_paragraph(of_text("\n".join(shown(text) for text in texts)), texts)


@examples
@given(texts, st.integers(1, 6))
@example("# C #", 1)
@example("C ##", 2)
def test_a_heading_renders_as_its_text(text: str, level: int) -> None:
    assert rendered(markdown.title(text, level), f"h{level}") == [[shown(text)]] * len(RENDERERS)


@examples
@given(lists_of_texts)
@example(["> 5 mm"])
@example(["[x] done"])
@example(["---"])
def test_items_of_a_list_render_as_their_texts(texts: list[str]) -> None:
    for tag, marks in (("ul", ["•"] * 4), ("ol", ["3.", "4.", "5.", "6."])):
        rows = rows_of([f"{mark} {text}" for mark, text in zip(marks, texts, strict=False)])
        content = listing(Paragraph(rows, items=list(range(len(rows)))))
        assert rendered(content, f"{tag}/li") == [[shown(text) for text in texts]] * len(RENDERERS), content


def test_numbers_that_do_not_count_up_stay_as_they_are() -> None:
    content = listing(Paragraph(rows_of(["1. one", "3. three", "3. again"]), items=[0, 1, 2]))
    assert content == "- 1\\. one\n- 3\\. three\n- 3\\. again"


@examples
@given(st.lists(st.tuples(texts, texts), min_size=2, max_size=3))
@example([("a|b", "\\|"), ("--", "\\"), ("`", "`|`")])
def test_cells_of_a_table_render_as_their_texts(rows: list[tuple[str, str]]) -> None:
    cells = [[[LayoutPiece(-1, text, 0, 0, 10, 10)] for text in row] for row in rows]
    content = table_markdown(table_of(plain_grid(cells), [], 0))
    wanted = [shown(text) for row in rows for text in row]
    assert rendered(content, "table//tr/*") == [wanted] * len(RENDERERS)


def test_a_page_renders_as_its_text_whatever_its_blocks_are() -> None:
    texts = [text for text in HOSTILE if not BULLET.match(text)]
    lines = [line(text, 100, 100 + 90 * i) for i, text in enumerate(texts)]
    wanted = shown(" ".join(texts))
    page = Size(1200, 90 * len(lines) + 200)
    for kind in set(BlockType) - {BlockType.TABLE, BlockType.FIGURE}:
        regions = [Region(kind, item.box, 0.9) for item in lines]
        content = arrange(lines, page, regions).markdown
        for renderer in RENDERERS:
            tree = html.fragment_fromstring(renderer.render(content), create_parent="body")
            assert shown(tree.text_content()) == wanted, kind


def test_a_page_that_was_read_without_markdown_is_escaped() -> None:
    page = PageResult(0, 100, 100, lines=(line("# C #", 0, 0),), text="# C #\n--\n\n&copy;")
    assert page_markdown(page) == "\\# C #  \n\\--\n\n\\&copy;"
