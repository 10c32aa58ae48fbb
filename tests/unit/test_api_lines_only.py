"""Text without coordinates, for clients that support only lines."""

from __future__ import annotations

import pytest

from inkgate.api.http.conversions import with_lines
from inkgate_client.types import Line, PageResult, TextWord

QUAD = ((0.0, 0.0), (40.0, 0.0), (40.0, 30.0), (0.0, 30.0))


def test_each_line_of_text_is_a_line_on_the_whole_page_with_the_confidence_of_its_words() -> None:
    words = (TextWord("one", 0, 0.9), TextWord("a", 4, 0.5), TextWord("two", 7, 0.7))
    page = with_lines(PageResult(0, 40, 30, text="one a\n\ntwo", words=words))
    assert [(line.text, line.quad) for line in page.lines] == [("one a", QUAD), ("two", QUAD)]
    assert [line.confidence for line in page.lines] == pytest.approx([0.8, 0.7])


def test_without_words_nothing_is_doubted() -> None:
    assert [line.confidence for line in with_lines(PageResult(0, 40, 30, text="one")).lines] == [1.0]


@pytest.mark.parametrize(
    "page", [PageResult(0, 40, 30), PageResult(0, 40, 30, lines=(Line("found", QUAD, 0.5),), text="found")]
)
def test_a_page_with_lines_or_without_text_stays_as_it_is(page: PageResult) -> None:
    assert with_lines(page) is page
