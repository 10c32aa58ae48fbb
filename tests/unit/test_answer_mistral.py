"""Pages as Mistral's OCR answers them."""

from dataclasses import replace
from typing import Any

import pytest

from inkgate.api.mistral_response import MistralAnswer, MistralOptions
from inkgate_client.block_image import BlockImage
from inkgate_client.types import Block, BlockType, Line, PageError, PageResult, Word
from support.fake_engine import line


def block(kind: BlockType, markdown: str = "", lines: tuple[int, ...] = ()) -> Block:
    return Block(kind, (0.4, 0.6, 99.5, 50.2), lines, markdown, markdown)


FIGURE = block(BlockType.FIGURE)


def page(*blocks: Block, markdown: str, lines: tuple[Line, ...] = ()) -> PageResult:
    return PageResult(0, 100, 60, 199.8, lines=lines, blocks=blocks, markdown=markdown, text=markdown)


def shown(result: PageResult, **options: object) -> dict[str, Any]:
    return MistralAnswer(MistralOptions.model_validate(options)).page(result)


@pytest.mark.parametrize(
    ("kinds", "markdown", "expected"),
    [
        ("f", "", "![img-0.jpeg](img-0.jpeg)"),
        ("fa", "a", "![img-0.jpeg](img-0.jpeg)\n\na"),
        ("af", "a", "a\n\n![img-0.jpeg](img-0.jpeg)"),
        ("afb", "a\n\nb", "a\n\n![img-0.jpeg](img-0.jpeg)\n\nb"),
        ("affb", "a\n\nb", "a\n\n![img-0.jpeg](img-0.jpeg)\n\n![img-1.jpeg](img-1.jpeg)\n\nb"),
        ("axfb", "a\n\nb", "a\n\n![img-0.jpeg](img-0.jpeg)\n\nb"),
    ],
)
def test_figures_are_linked_where_they_are_on_the_page(kinds: str, markdown: str, expected: str) -> None:
    blocks = [
        Block(BlockType.FIGURE, (number, 0, number + 9, 9), (), "", "") if kind == "f" else block(BlockType.TEXT, kind)
        for number, kind in enumerate(kinds)
    ]
    assert shown(page(*blocks, markdown=markdown))["markdown"] == expected


def test_the_markdown_has_links_and_captions_whether_or_not_the_pixels_were_requested() -> None:
    image = BlockImage("1-1.jpeg", "image/jpeg", 10, 10, "AAAA")
    without = block(BlockType.FIGURE, "> [Figure: Figure 1: Hills]\n\n12 m")
    with_pixels = replace(without, markdown="![Figure](images/1-1.jpeg)\n\nFigure 1: Hills\n\n12 m", image=image)
    for figure in (without, with_pixels):
        around = [block(BlockType.TEXT, "a"), figure, block(BlockType.TEXT, "b")]
        read = page(*around, markdown="\n\n".join(each.markdown for each in around))
        answer = shown(read, include_blocks=True)
        assert answer["markdown"] == "a\n\n![img-0.jpeg](img-0.jpeg)\n\nFigure 1: Hills\n\n12 m\n\nb"
        assert [each["content"] for each in answer["blocks"]] == ["a", "Figure 1: Hills\n\n12 m", "b"]
        none = shown(read, image_limit=0)["markdown"]
        assert none == "a\n\nFigure 1: Hills\n\n12 m\n\nb"


def test_figures_and_tables_count_through_the_document() -> None:
    table = block(BlockType.TABLE, "| a |\n| --- |")
    pages = [
        replace(page(FIGURE, replace(FIGURE), markdown=""), index=0),
        replace(page(markdown="none"), index=1),
        replace(page(table, replace(table), FIGURE, markdown=f"{table.markdown}\n\n{table.markdown}"), index=2),
        replace(page(table, markdown=table.markdown), index=4),
    ]
    answer = MistralAnswer(MistralOptions(table_format="markdown", include_blocks=True))
    for _ in range(2):  # a page that is converted again keeps its IDs
        shown = [answer.page(each) for each in pages]
        assert [[image["id"] for image in each["images"]] for each in shown] == [
            ["img-0.jpeg", "img-1.jpeg"],
            [],
            ["img-2.jpeg"],
            [],
        ]
        assert [[each["id"] for each in one["tables"]] for one in shown] == [
            [],
            [],
            ["tbl-0.md", "tbl-1.md"],
            ["tbl-2.md"],
        ]
        assert shown[2]["markdown"].startswith("[tbl-0.md](tbl-0.md)\n\n[tbl-1.md](tbl-1.md)")
        assert [each.get("table_id") or each.get("image_id") for each in shown[2]["blocks"]] == [
            "tbl-0.md",
            "tbl-1.md",
            "img-2.jpeg",
        ]


def test_a_header_comes_once_whether_it_is_extracted_or_not() -> None:
    blocks = (block(BlockType.HEADER, "Journal"), block(BlockType.TEXT, "a"), block(BlockType.FOOTER, "17"))
    result = replace(page(*blocks, markdown="Journal\n\na"), header="Journal", footer="17")
    assert shown(result)["markdown"] == "Journal\n\na\n\n17"
    extracted = shown(result, extract_header=True, extract_footer=True)
    assert (extracted["header"], extracted["markdown"], extracted["footer"]) == ("Journal", "a", "17")


def test_a_page_without_blocks_is_its_text() -> None:
    answer = shown(PageResult(3, 10, 20, text="plain", lines=(line("plain", 0),)), include_blocks=True)
    assert (answer["index"], answer["markdown"], answer["blocks"], answer["tables"]) == (3, "plain", [], [])


def test_a_failed_page_is_empty_and_says_why() -> None:
    failed = PageResult(1, error=PageError("page_broken", "Torn.", "Mend it."))
    answer = shown(failed, confidence_scores_granularity="word", include_blocks=True)
    assert answer["error"] == {"code": "page_broken", "detail": "Torn.", "remedy": "Mend it.", "retry_after_s": None}
    assert (answer["markdown"], answer["confidence_scores"]) == ("", None)


def test_lone_surrogates_do_not_break_the_answer() -> None:
    word = Word("a\ud800", line("a", 0).quad, 0.5)
    broken = Line("a\ud800", word.quad, 0.5, (word,))
    result = page(block(BlockType.TEXT, "a\ud800", (0,)), markdown="a\ud800", lines=(broken,))
    answer = shown(result, confidence_scores_granularity="word", include_blocks=True)
    assert str(answer).encode()
    assert answer["markdown"] == "a\ufffd"


def test_numbers_are_whole() -> None:
    answer = shown(page(FIGURE, markdown=""))
    assert answer["dimensions"] == {"dpi": 200, "height": 60, "width": 100}
    images = answer["images"]
    assert isinstance(images, list)
    assert [images[0][key] for key in ("top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y")] == [
        0,
        1,
        100,
        50,
    ]


def test_a_word_that_is_escaped_in_the_markdown_keeps_the_place_of_the_one_before() -> None:
    result = page(markdown="Price 3\\*4 paid", lines=(line("Price 3*4 paid", 0),))
    answer = shown(result, confidence_scores_granularity="word")
    scores = answer["confidence_scores"]
    assert isinstance(scores, dict)
    assert [word["start_index"] for word in scores["word_confidence_scores"]] == [0, 5, 11]


def test_hyperlinks_are_the_links_of_the_pdf_and_the_addresses_in_the_text() -> None:
    lines = (line("See https://b.example/x_y, (http://c.example)", 0),)
    linked = replace(
        page(markdown="", lines=lines), text=lines[0].text, links=("https://a.example/", "http://c.example")
    )
    assert shown(linked)["hyperlinks"] == ["https://a.example/", "http://c.example", "https://b.example/x_y"]
    written = PageResult(0, text="b", markdown="[b](https://b.example/1) and <https://b.example/2>.")
    assert shown(written)["hyperlinks"] == ["https://b.example/1", "https://b.example/2"]


def test_confidence_by_block() -> None:
    lines = (line("one two", 0, 0.8), line("three", 30, 0.5))
    blocks = (replace(block(BlockType.TEXT, "one two three", (0, 1)), type_confidence=0.7), FIGURE)
    answer = shown(page(*blocks, markdown="", lines=lines), confidence_scores_granularity="block", include_blocks=True)
    found = answer["blocks"]
    assert isinstance(found, list)
    assert [list(each["confidence_scores"].values()) for each in found] == [[0.7, 0.5, 0.7], [None, None, None]]
    scores = answer["confidence_scores"]
    assert isinstance(scores, dict)
    assert (scores["average_page_confidence_score"], scores["word_confidence_scores"]) == (0.7, [])
