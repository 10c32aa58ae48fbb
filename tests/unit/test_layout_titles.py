"""Headings of a page by size and weight, and titles of the layout model that are none."""

from collections.abc import Sequence

import numpy as np
import pytest

from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import PageEvidence, Region
from inkgate.layout.regions.strokes import line_styles
from inkgate.page import LineStyle, RgbArray
from inkgate_client.types import BlockType, Line
from support.layouts import PAGE, PITCH, column, line, prose, region

BODY = LineStyle(20.0)
BOLD = LineStyle(20.0, bold=True)
LARGE = LineStyle(26.0)


def titles(styled: Sequence[tuple[Line, LineStyle]], regions: Sequence[Region] = ()) -> list[str]:
    lines, styles = zip(*styled, strict=True)
    result = arrange(lines, PAGE, PageEvidence(regions, styles=styles))
    return [block.text for block in result.blocks if block.type is BlockType.TITLE]


def text(name: str, top: float, count: int = 5) -> list[tuple[Line, LineStyle]]:
    return [(item, BODY) for item in column([part.capitalize() for part in prose(name, count)], 100, top, 800)]


def under(heading: str, style: LineStyle, *, gap: float = PITCH) -> list[tuple[Line, LineStyle]]:
    """A page with this line between two paragraphs, `gap` above the second."""
    top = 100 + 6 * PITCH
    height = style.size
    return [*text("a", 100), (line(heading, 100, top, height=height), style), *text("b", top + gap + height - 20)]


@pytest.mark.parametrize("style", [BOLD, LARGE])
@pytest.mark.parametrize("gap", [PITCH, 2 * PITCH])
def test_bold_and_large_lines_over_text_are_headings(style: LineStyle, gap: float) -> None:
    assert titles(under("Results of the study", style, gap=gap)) == ["Results of the study"]


@pytest.mark.parametrize(
    "heading",
    ["and a sentence goes on", "This is a sentence.", "Total: 450", "Amount due $ 12", "May 29, 2020",
     "x = 3 * (y + 2)", "Introduction ..... 4", "www.example.com", "someone@example.com"],
)  # fmt: skip
def test_bold_lines_that_read_like_something_else_are_no_headings(heading: str) -> None:
    assert titles(under(heading, BOLD, gap=2 * PITCH)) == []


def test_a_line_like_the_text_is_no_heading() -> None:
    assert titles(under("Results of the study", BODY, gap=2 * PITCH)) == []


def test_weight_tells_nothing_where_most_text_is_bold() -> None:
    page = [(item, BOLD) for item, _ in under("Results of the study", BODY, gap=2 * PITCH)]
    assert titles(page) == []


def test_a_bold_line_within_a_sentence_is_no_heading() -> None:
    page = text("a", 100, 9)
    page[4] = (page[4][0], BOLD)
    assert titles(page) == []


def test_bold_lines_of_a_page_without_running_text_are_no_headings() -> None:
    texts = ["The Corner Shop", "12 High Street", "Springfield", "Bread and butter", "Thank you"]
    page = [(item, BOLD if i in {0, 3} else BODY) for i, item in enumerate(column(texts, 100, 100))]
    assert titles(page) == []


def test_large_print_over_an_address_is_a_logo() -> None:
    page = [*text("a", 100, 8), *[(item, BODY) for item in column(["Acme, Inc.", "1 High St."], 100, 600)]]
    page.insert(8, (line("Acme", 100, 550, height=40), LineStyle(40.0)))
    assert titles(page) == []


def test_a_numbered_heading_may_have_its_number_set_apart() -> None:
    page = [*text("a", 100), (line("2", 100, 300, 12), BOLD), (line("Background", 160, 300), BOLD), *text("b", 350)]
    assert titles(page, [region(BlockType.TITLE, 95, 295, 300, 325)]) == ["2 Background"]


@pytest.mark.parametrize(
    "words",
    [
        "118",
        "Payment Amount: $61.56",
        "It was " + "a very " * 8 + "long day.",
        "so" * 101,
        "当然在媒介越来越多的情形下。",
    ],
)
def test_titles_of_the_layout_model_that_do_not_read_like_one_are_text(words: str) -> None:
    page = [(line(words, 100, 100, 900), BODY), *text("a", 200)]
    assert titles(page, [region(BlockType.TITLE, 90, 95, 1010, 125)]) == []


def test_the_order_of_lines_does_not_matter_for_their_styles() -> None:
    page = under("Results of the study", BOLD)
    assert titles(page[::-1]) == titles(page)


def drawn(stroke: int, pitch: int = 12) -> tuple[RgbArray, Line]:
    """A row of upright strokes, 20 pixels high."""
    image = np.full((40, 400, 3), 255, np.uint8)
    for x in range(20, 380, pitch):
        image[10:30, x : x + stroke] = 0
    return image, line("Illumination hill", 15, 8, 370, 24)


def test_thick_strokes_are_bold_and_the_height_of_the_ink_tells_the_size() -> None:
    (thin, first), (thick, second) = drawn(2), drawn(4)
    below = Line(second.text, tuple((x, y + 40) for x, y in second.quad), 0.9)  # type: ignore[arg-type]
    styles = line_styles(np.concatenate([thin, thick, thin]), 1.0, [first, below, first])
    assert [style.bold for style in styles if style] == [False, True, False]
    assert styles[0] is not None
    assert styles[0].size == pytest.approx(20 / 0.72, rel=0.1)


def test_what_is_too_small_or_empty_has_no_style() -> None:
    image = np.full((40, 400, 3), 255, np.uint8)
    lines = [line("text", 10, 10, 100, 5), line("text", 10, 10, 100, 20), line("text", 900, 900), line("12", 10, 10)]
    assert line_styles(image, 1.0, lines) == [None] * 4


def test_the_first_row_of_a_paragraph_is_no_title_though_the_model_says_so() -> None:
    rows = [
        "This is a lot of text to test whether a sentence that",
        "goes on below is taken for what it is, which is prose",
    ]
    page = [(line(row, 100, 100 + i * PITCH, 800), BODY) for i, row in enumerate(rows)] + text("b", 100 + 2 * PITCH)
    assert titles(page, [region(BlockType.TITLE, 90, 95, 910, 125)]) == []


@pytest.mark.parametrize("names", ["N Hirschhorn", "J. R. Doe, K. Roe and P. Low-Poe"])
def test_names_with_initials_below_a_title_are_no_heading(names: str) -> None:
    page = [(line("Smoking and what to do", 100, 100, height=40), LineStyle(40.0)), (line(names, 100, 160), BOLD)]
    regions = [region(BlockType.TITLE, 90, 95, 910, 145), region(BlockType.TITLE, 90, 155, 910, 185)]
    assert titles([*page, *text("b", 220)], regions) == ["Smoking and what to do"]


def test_a_subtitle_that_begins_with_an_article_is_a_heading() -> None:
    page = [(line("Smoking and what to do", 100, 100, height=40), LineStyle(40.0)), (line("A Guide", 100, 160), BOLD)]
    regions = [region(BlockType.TITLE, 90, 95, 910, 145), region(BlockType.TITLE, 90, 155, 910, 185)]
    assert titles([*page, *text("b", 220)], regions) == ["Smoking and what to do", "A Guide"]


def test_an_address_is_no_title_though_the_model_says_so() -> None:
    rows = ["Jane Roe", "Mill Lane 32", "1025 RX Lowertown"]
    page = [(line(row, 100, 100 + i * PITCH), BODY) for i, row in enumerate(rows)]
    assert titles([*page, *text("b", 300)], [region(BlockType.TITLE, 90, 95, 400, 200)]) == []
