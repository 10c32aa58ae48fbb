"""Results as JSON and back: exact, as inkgate keeps them, and as published."""

from __future__ import annotations

import re
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inkgate_client.codec import (
    EXACT_VERSION,
    SCHEMA_VERSION,
    document_to_dict,
    dump_page,
    load_page,
    page_to_dict,
    parse_document,
    parse_page,
)
from inkgate_client.coordinates import Coordinates
from inkgate_client.term_correction import TermCorrection
from inkgate_client.types import (
    Attempt,
    Barcode,
    Block,
    BlockType,
    CheckMark,
    DocumentResult,
    LeftOut,
    LeftOutReason,
    Line,
    PageError,
    PageResult,
    Quad,
    ReviewNote,
    ReviewReason,
    Stamp,
    Table,
    TableCell,
    TextWord,
    Word,
)
from support import sample_results, strategies
from support.strategies import pages

QUAD: Quad = ((0.1, 0.2), (10.0, 0.2), (10.0, 5.123456789012345), (0.1, 5.0))
ERROR = PageError("output_truncated", "Cut off.", "Take it.")
TABLE = Table(
    2,
    2,
    (TableCell(0, 0, "a", 1, 2, (0,), (0.0, 1.0, 2.0, 3.0), 0.5, header=True), TableCell(1, 0, "", 1, 2)),
    continues=True,
)
WHOLE = PageResult(
    index=3,
    width=100,
    height=200,
    dpi=199.99999999999997,
    rotation=90,
    source="text_layer",
    lines=(Line("Größe 文", QUAD, 1 / 3, (Word("Größe", QUAD, 0.5),)),),
    blocks=(
        Block(BlockType.TITLE, (0.0, 1.5, 2.0, 3.0), (0,), "a", "# a", 1, 0.9, ERROR, 0.7, TABLE),
        Block(BlockType.TABLE, (0.0, 1.5, 2.0, 3.0), (0,), "a", "", table=TABLE),
        Block(
            BlockType.BARCODE, (0.0, 1.5, 2.0, 3.0), (), "", "", barcode=Barcode("QRCode", "a", QUAD, "x", {"b": "c"})
        ),
        Block(BlockType.STAMP, (0.0, 1.5, 2.0, 3.0), (), "", "", stamp=Stamp("公章", "round", "red", 0.5)),
        Block(BlockType.CHECKBOX, (0.0, 1.5, 2.0, 3.0), (), "", "", checkbox=CheckMark(True, "Yes", 0.75)),
    ),
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
    left_out=(
        LeftOut("7", LeftOutReason.PAGE_NUMBER, (0,)),
        LeftOut("", LeftOutReason.INVISIBLE, (), (5.0, 6.0, 7.0, 8.0)),
    ),
    corrections=(TermCorrection(0, "Aspirin", "Asp1rin"),),
    review=(ReviewReason.UNCERTAIN_TEXT,),
    review_notes=(ReviewNote(ReviewReason.CUT_OFF, "the last line", (1.0, 2.0, 3.0, 4.0)),),
    attachments=("notes.txt",),
    links=("https://example.org/",),
    confidence=1 / 3,
)


@given(pages())
@example(WHOLE)
@example(PageResult(0))
@example(PageResult(0, text="half \ud800 a pair", markdown="\x00"))
@example(PageResult(0, text="\ud800", timings_ms={"read": np.float64(0.3)}, lines=(Line("a", QUAD, 1e-300),)))
@example(PageResult(0, fields={"large": 1 << 70, "small": 5e-324}))
def test_what_comes_back_is_what_went_in(page: PageResult) -> None:
    back = load_page(dump_page(page))
    assert back == page
    assert dump_page(back) == dump_page(page)


def test_every_field_of_a_page_is_tried() -> None:
    nothing = PageResult(0)
    assert [
        field.name for field in fields(PageResult) if getattr(WHOLE, field.name) == getattr(nothing, field.name)
    ] == []
    back = load_page(dump_page(WHOLE))
    assert repr(back) == repr(WHOLE)  # types too: tuples, enums


def test_numbers_and_mappings_of_other_kinds_come_back_as_pythons() -> None:
    page = PageResult(
        0,
        width=np.int64(7),  # type: ignore[arg-type]  # what an engine may hand over all the same
        lines=(Line("a", QUAD, np.float32(0.1)),),  # type: ignore[arg-type]  # as above
        timings_ms=MappingProxyType({"read": np.float64(0.3)}),
    )
    back = load_page(dump_page(page))
    assert type(back.width) is int
    assert type(back.lines[0].confidence) is float
    assert back.lines[0].confidence == float(np.float32(0.1))
    assert back.timings_ms == {"read": 0.3}


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b"{}", b'{"blocks": null, "error": 3}', b"\xff"])
def test_what_is_no_page_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        load_page(data)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_nested_too_deeply_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="deeply"):
        load_page(data)


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        dump_page(PageResult(0, fields={"total": object()}))


@pytest.mark.parametrize("version", [None, 0, EXACT_VERSION - 1, EXACT_VERSION + 1, "2.0"])
def test_another_version_is_refused(version: object) -> None:
    stored = orjson.loads(dump_page(WHOLE))
    assert stored["version"] == EXACT_VERSION
    with pytest.raises(ValueError, match="version"):
        load_page(orjson.dumps({**stored, "version": version}))


def published(result: PageResult | DocumentResult, coordinates: Coordinates) -> dict[str, Any]:
    """The published form."""
    if isinstance(result, PageResult):
        return page_to_dict(result, coordinates)
    pages = [published(page, coordinates) for page in result.pages]
    return {**document_to_dict(result, coordinates), "pages": pages}


@given(pages(), st.sampled_from(Coordinates))
@example(WHOLE, Coordinates.SENT)
def test_a_published_page_is_read_as_published(page: PageResult, coordinates: Coordinates) -> None:
    back = parse_page(orjson.dumps(page_to_dict(page, coordinates)))
    assert published(back, coordinates) == published(page, coordinates)
    assert type(back) is PageResult
    assert back.confidence == (None if page.confidence is None else pytest.approx(page.confidence, abs=1e-4))


@given(strategies.documents(), st.sampled_from(Coordinates))
@example(sample_results.DOCUMENT, Coordinates.SENT)
def test_a_published_document_is_read_as_published(result: DocumentResult, coordinates: Coordinates) -> None:
    back = parse_document(orjson.dumps(document_to_dict(result, coordinates)))
    assert published(back, coordinates) == published(result, coordinates)
    assert type(back) is DocumentResult


def test_coordinates_as_sent_are_read_as_upright() -> None:
    sent = orjson.dumps(page_to_dict(WHOLE, Coordinates.SENT))
    upright = orjson.dumps(page_to_dict(WHOLE, Coordinates.UPRIGHT))
    assert page_to_dict(parse_page(sent)) == page_to_dict(parse_page(upright))


def test_keys_of_later_versions_are_ignored_and_another_schema_is_refused() -> None:
    document = document_to_dict(sample_results.DOCUMENT)
    later = {**document, "later": 1, "pages": [{**page, "later": 1} for page in document["pages"]]}
    assert parse_document(orjson.dumps(later)) == parse_document(orjson.dumps(document))
    with pytest.raises(ValueError, match="schema_version"):
        parse_document(orjson.dumps({**document, "schema_version": SCHEMA_VERSION + 1}))


CELL = {"row": 0, "column": 0, "text": "x"}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"rows": 1, "columns": 2, "cells": [{**CELL, "column_span": 0}]},
            r"blocks\[0\].table.cells\[0\] is not within",
        ),
        ({"rows": 1, "columns": 2, "cells": [{**CELL, "row_span": -1}]}, "is not within"),
        ({"rows": 1, "columns": 2, "cells": [{**CELL, "column_span": 10**9}]}, "is not within"),
        ({"rows": 1, "columns": 2, "cells": [{**CELL, "row": -1}]}, "is not within"),
        ({"rows": 1, "columns": 2, "cells": [CELL, CELL, CELL]}, "3 places with cells, and 1 x 2 in all"),
        ({"rows": 0, "columns": 0, "cells": []}, "0 x 0 in all"),
        ({"rows": 10**6, "columns": 10**3, "cells": [CELL]}, "more than 200,000 places"),
    ],
)
def test_a_table_that_no_page_could_hold_is_refused(table: dict[str, object], reason: str) -> None:
    block = {"type": "table", "box": [0, 0, 9, 9], "lines": [], "text": "x", "markdown": "x", "table": table}
    with pytest.raises(ValueError, match=reason):
        parse_page(orjson.dumps({"index": 0, "width": 100, "height": 100, "blocks": [block]}))


@pytest.mark.parametrize(
    "changed",
    [
        {"width": -1},
        {"left_out": [{"text": "x", "reason": "invisible", "lines": [], "box": [0, 1, "nan", 1]}]},
        {"height": 10**9},
        {"lines": [{"text": "x", "quad": [[0, 0], [9, 0], [9, 1e300], [0, 9]], "confidence": 1}]},
        {"left_out": [{"text": "x", "reason": "invisible", "lines": [], "box": [0, 0, -1e7, 1]}]},
    ],
)
def test_a_page_whose_coordinates_lie_outside_every_page_is_refused(changed: dict[str, object]) -> None:
    page = {"index": 0, "width": 100, "height": 100}
    assert parse_page(orjson.dumps(page)).width == 100
    with pytest.raises(ValueError, match=r"must be from 0|is not from"):
        parse_page(orjson.dumps({**page, **changed}))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"[" * 5000, "Invalid JSON: recursion limit exceeded at line 1 column 202"),
        (b'{"index": 0, "width": "%s"}' % (b"a" * 5000), "width: Input should be a valid integer"),
        (b'{"index": 0, "timings_ms": {"%s": "x"}}' % (b"<b>" * 500), f"timings_ms.{'<b>' * 13}<: Input should be"),
        (b'{"index": 0, "lines": [{"text": 1}]}', "lines[0].text: Input should be a valid string"),
    ],
)
def test_a_page_that_is_refused_says_where_and_why_without_what_was_sent(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)) as refused:
        parse_page(body)
    assert type(refused.value) is ValueError
    assert len(str(refused.value)) <= 200
    assert refused.value.__cause__ is None
