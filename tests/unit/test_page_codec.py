"""Results of pages as bytes and back."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import example, given

from inkgate.serving import page_codec
from inkgate.types import Attempt, Block, BlockType, Line, PageError, PageResult, Quad, TextWord, Word
from support.strategies import pages

QUAD: Quad = ((0.1, 0.2), (10.0, 0.2), (10.0, 5.123456789012345), (0.1, 5.0))
ERROR = PageError("output_truncated", "Cut off.", "Take it.")
WHOLE = PageResult(
    index=3,
    width=100,
    height=200,
    dpi=199.99999999999997,
    rotation=90,
    source="text_layer",
    lines=(Line("Größe 文", QUAD, 1 / 3, (Word("Größe", QUAD, 0.5),)),),
    blocks=(Block(BlockType.TITLE, (0.0, 1.5, 2.0, 3.0), (0,), "a", "# a", 1, 0.9, ERROR),),
    text="text",
    markdown="# markdown",
    header="header",
    footer="",
    engine="ppocr",
    timings_ms={"detect": 1.25},
    degraded=("resolution",),
    error=ERROR,
    words=(TextWord("text", 0, 0.1),),
    attempts=(Attempt("size 0.7", ERROR, 3.5),),
    fields={"total": ["1", {"tax": None}]},
)


@given(pages())
@example(WHOLE)
@example(PageResult(0))
@example(PageResult(0, text="half \ud800 a pair", markdown="\x00"))
def test_what_comes_back_is_what_went_in(page: PageResult) -> None:
    assert page_codec.loads(page_codec.dumps(page)) == page


def test_every_field_of_a_page_is_tried() -> None:
    nothing = PageResult(0)
    assert [
        field.name for field in fields(PageResult) if getattr(WHOLE, field.name) == getattr(nothing, field.name)
    ] == []
    back = page_codec.loads(page_codec.dumps(WHOLE))
    assert repr(back) == repr(WHOLE)  # types too: tuples, enums


def test_numbers_and_mappings_of_other_kinds_come_back_as_pythons() -> None:
    page = PageResult(
        0,
        width=np.int64(7),  # type: ignore[arg-type]  # what an engine may hand over all the same
        lines=(Line("a", QUAD, np.float32(0.1)),),  # type: ignore[arg-type]  # as above
        timings_ms=MappingProxyType({"read": np.float64(0.3)}),
    )
    back = page_codec.loads(page_codec.dumps(page))
    assert type(back.width) is int
    assert type(back.lines[0].confidence) is float
    assert back.lines[0].confidence == float(np.float32(0.1))
    assert back.timings_ms == {"read": 0.3}


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b"{}", b'{"blocks": null, "error": 3}', b"\xff"])
def test_what_is_no_page_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        page_codec.loads(data)


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        page_codec.dumps(PageResult(0, fields={"total": object()}))
