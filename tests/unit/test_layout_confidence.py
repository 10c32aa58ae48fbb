"""Confidence of blocks and pages falls with doubt, stays a probability, and says which pages to review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.layout.confidence import MAX_CONFIDENCE, NOTE, is_unreadable, judged, text_right
from inkgate.layout.doubt import text_measures
from inkgate.layout.doubt_data import BLOCK_RIGHT, PAGE_ORDER_RIGHT, PAGE_TEXT_RIGHT, REVIEW_TEXT
from inkgate.layout.evidence import Region
from inkgate.layout.text.surprise import surprise
from inkgate_client.types import BlockType, Line, PageError, PageResult, ReviewReason, TextWord
from support.layouts import PAGE, arrange, column, line, prose, region, turned

UPSIDE = PageError("engine_failed", "It failed.", "Retry.")


def page_of(lines: list[Line], confidence: float = 0.99, regions: Sequence[Region] = ()) -> PageResult:
    """The lines as a page with blocks and Markdown, before it is judged."""
    sure = [replace(each, confidence=confidence) for each in lines]
    empty = PageResult(0, PAGE.width, PAGE.height)
    return arrange(sure, PAGE, regions).put_into(empty, parse=True)


def test_no_measure_of_doubt_raises_a_confidence() -> None:
    for model in (BLOCK_RIGHT, PAGE_ORDER_RIGHT, PAGE_TEXT_RIGHT):
        assert all(weight <= 0 for name, weight in model.items() if name), model


@given(st.floats(0, 1), st.floats(0, 1))
def test_confidence_is_a_probability_and_falls_with_that_of_the_lines(one: float, other: float) -> None:
    low, high = (judged(page_of(column(prose("a", 4), 100, 100), value)) for value in sorted((one, other)))
    for worse, better in ((low.confidence, high.confidence), *zip(blocks_of(low), blocks_of(high), strict=True)):
        assert worse is not None
        assert better is not None
        assert 0 < worse <= better < 1


def blocks_of(page: PageResult) -> list[float | None]:
    return [block.confidence for block in page.blocks or ()]


def test_sure_prose_is_trusted_and_curved_paper_with_unsure_lines_is_not() -> None:
    flat = judged(page_of(column(prose("a", 10), 100, 100), 0.999))
    assert (flat.confidence or 0) > 0.8
    assert flat.review == ()
    lines = [turned([each], angle)[0] for angle, each in enumerate(column(prose("a", 10), 100, 100), start=-5)]
    bent = judged(page_of(lines, 0.93))
    assert (bent.confidence or 1) < 0.5
    assert bent.review == (ReviewReason.UNCERTAIN_TEXT, ReviewReason.UNCERTAIN_ORDER)


def test_the_order_is_uncertain_where_sure_lines_stand_side_by_side_on_curved_paper() -> None:
    rows = [line(f"name {row}", 100, 100 + 40 * row) for row in range(10)]
    rows += [line(f"value {row} of it", 600, 100 + 40 * row) for row in range(10)]
    lines = [turned([each], 3 * (number % 10) - 13)[0] for number, each in enumerate(rows)]
    assert ReviewReason.UNCERTAIN_ORDER in judged(page_of(lines, 0.9999)).review
    assert ReviewReason.UNCERTAIN_ORDER not in judged(page_of(rows, 0.9999)).review


def test_a_few_unsure_words_make_the_text_of_a_page_uncertain_whatever_the_mean_is() -> None:
    lines = column(prose("a", 20), 100, 100)
    sure = [replace(each, confidence=0.9995) for each in lines]
    unsure = [replace(each, confidence=0.6) if number % 5 == 0 else each for number, each in enumerate(sure)]
    assert judged(replace(page_of(lines), lines=tuple(sure))).review == ()
    assert ReviewReason.UNCERTAIN_TEXT in judged(replace(page_of(lines), lines=tuple(unsure))).review


def test_lines_of_a_text_layer_are_certain_however_small_and_odd() -> None:
    small = [line("xqzv wvkt bjqpx zzkqw", 100, 100 + 8 * row, height=6) for row in range(10)]
    page = replace(page_of(small, 1.0), source="text_layer")
    assert text_right(page) == MAX_CONFIDENCE
    doubtful = replace(line("qwvk zzxq", 100, 500, height=6), confidence=0.6)
    assert text_right(replace(page, lines=(*page.lines, doubtful))) < REVIEW_TEXT


def test_measures_of_text_grow_with_doubt() -> None:
    plain = column(prose("a", 10), 100, 100)
    best = text_measures([replace(each, confidence=1.0) for each in plain])
    worse = {
        "worst": [replace(each, confidence=0.99) for each in plain],
        "unsure": [replace(each, confidence=0.9) for each in plain],
        "small": [line(each.text, 100, 100 + 12 * row, height=10) for row, each in enumerate(plain)],
        "odd": column(["xqzv wvkt bjqpx zzkqw"] * 5, 100, 100),
        "codes": column(["serial A4B7 of TNFRSF12A"] * 5, 100, 100),
        "bend": [turned([each], 3 * (number % 5))[0] for number, each in enumerate(plain)],
    }
    assert [name for name, lines in worse.items() if text_measures(lines)[name] <= best[name]] == []


def test_the_confidence_of_lines_stays_the_recognisers() -> None:
    page = page_of(column(prose("a", 3), 100, 100), 0.9123)
    assert [each.confidence for each in judged(page).lines] == [0.9123] * 3


def test_a_page_without_markdown_has_a_confidence() -> None:
    page = replace(page_of(column(prose("a", 10), 100, 100), 0.999), blocks=None, markdown=None)
    found = judged(page)
    assert (found.confidence or 0) > 0.8
    assert (found.blocks, found.markdown) == (None, None)


def test_a_page_of_words_has_their_mean_and_none_without_any() -> None:
    words = (TextWord("ab", 0, 0.9), TextWord("cdef", 3, 0.6))
    assert judged(PageResult(0, text="ab cdef", words=words)).confidence == pytest.approx(0.7)
    assert judged(PageResult(0, text="ab cdef", words=words)).review == (ReviewReason.UNCERTAIN_TEXT,)
    assert judged(PageResult(0)).confidence is None
    assert judged(PageResult(0)).review == ()


def test_a_page_with_an_error_was_not_read() -> None:
    assert judged(PageResult(0, error=UPSIDE)).review == (ReviewReason.NOT_READ,)


def test_an_uncertain_table_is_to_be_reviewed() -> None:
    cells = [line(f"{row}{name}", left, 100 + 40 * row) for row in range(5) for name, left in (("a", 100), ("b", 400))]
    table = region(BlockType.TABLE, 90, 90, 600, 320)
    page = page_of(cells, 0.5, regions=[table])
    assert [block.type for block in page.blocks or ()] == [BlockType.TABLE]
    assert ReviewReason.UNCERTAIN_TABLE in judged(page).review


SALAD = (
    ("SMT Adlidy Lincr", 0.70),
    ("xqzv wvkt bjqpx zzkqw", 0.86),
    ("LQzKw hYtRbVx qWpLk jXvZ", 0.88),
    ("ILlVE 0l1L tTaQ aNxA wKq", 0.76),
    ("龘靐齉爩麤灪龖厵", 0.85),
    ("卡女女女卡女", 0.65),
    ("\u0436\u0449\u044a \u0444\u044b\u0432\u0430", 0.6),
)
TEXT = (
    ("The quick brown fox jumps over the lazy dog.", 0.75),
    ("Straße der Jugend, zweiter Stock", 0.78),
    ("À bientôt, chère amie", 0.76),
    ("今天天气很好，我们去公园散步。", 0.76),
    ("臺灣繁體中文的一個句子", 0.76),
    ("東京都港区の美術館へ行きました", 0.76),
    ("Москва, улица Ленина", 0.76),
    ("GST 6% 10.61 0.64 RM 165.00", 0.76),
    ("4006381333931 978-3-16-148410-0", 0.76),
    ("for (int i = 0; i < n; i++) x[i] += y[i];", 0.76),
    ("def f(x): return x**2 + _cache[x]", 0.76),
    ("https://example.org/a/b?c=d name@example.org", 0.76),
    ("12 Baker St, London NW1 6XE", 0.76),
    ("AJTPM7071RSD0 ISO-9001 A4B7", 0.76),
    ("McDonald's iPhone eBay", 0.76),
    ("TOTAL DUE VAT ISBN NASDAQ", 0.76),
)


def test_word_salad_is_unreadable_and_text_of_the_same_confidence_is_not() -> None:
    assert [text for text, confidence in SALAD if not is_unreadable(text, confidence)] == []
    assert [text for text, confidence in TEXT if is_unreadable(text, confidence)] == []


@pytest.mark.parametrize("text", [text for text, _ in (*SALAD, *TEXT)])
def test_sure_text_is_never_unreadable(text: str) -> None:
    assert not is_unreadable(text, 0.95)


@given(st.text(max_size=60))
def test_surprise_is_a_share(text: str) -> None:
    assert 0 <= surprise(text) <= 1


def test_salad_is_a_note_in_the_markdown_with_its_text_kept() -> None:
    sure = [replace(each, confidence=0.99) for each in column(prose("a", 4), 100, 100)]
    salad = [replace(each, confidence=0.7) for each in column(["xqzv wvkt bjqpx zz", "LQzKw hYtR"], 100, 700)]
    page = arrange([*sure, *salad], PAGE, ()).put_into(PageResult(0, PAGE.width, PAGE.height), parse=True)
    found = judged(page)
    assert ReviewReason.UNCERTAIN_TEXT in found.review
    note = found.markdown[found.markdown.index(NOTE) :] if found.markdown else ""
    assert note.startswith(f"{NOTE}xqzv wvkt bjqpx zz")
    assert "LQzKw hYtR" in note
    assert all(part.startswith("> ") for part in note.split("\n"))
    assert (found.blocks or ())[-1].markdown == note
    assert found.text == page.text


def test_a_page_without_salad_keeps_its_markdown() -> None:
    page = page_of(column(prose("a", 4), 100, 100), 0.9)
    assert judged(page).markdown == page.markdown


def test_what_is_doubtful_in_the_structure_is_named_with_its_place() -> None:
    page = page_of(column(prose("a", 10), 100, 100), 0.999)
    (block,) = page.blocks or ()
    sure = judged(replace(page, blocks=(replace(block, type_confidence=0.999, order_confidence=0.999),)))
    assert (sure.review, sure.review_notes) == ((), ())
    unsure = judged(replace(page, blocks=(replace(block, type_confidence=0.1, order_confidence=0.001),)))
    assert unsure.review == (ReviewReason.UNCERTAIN_ORDER, ReviewReason.UNCERTAIN_HEADINGS)
    assert {note.box for note in unsure.review_notes} == {block.box}
    (low,), (high,) = blocks_of(unsure), blocks_of(sure)
    assert low is not None
    assert high is not None
    assert (low < 0.2, high > 0.85) == (True, True)


def test_doubt_in_the_blocks_around_a_block_lowers_its_confidence() -> None:
    page = page_of(column(prose("a", 10), 100, 100), 0.999)
    (block,) = page.blocks or ()
    own = replace(block, type_confidence=0.999, order_confidence=0.999)

    def confidence(*others: float) -> float:
        around = tuple(replace(own, order_confidence=other) for other in others)
        first, *_ = judged(replace(page, blocks=(own, *around))).blocks or ()
        return first.confidence or 0.0

    assert confidence(0.999) > confidence(0.6) > confidence(0.6, 0.5)
    assert confidence(0.999, 0.5) > confidence(0.5, 0.999)
