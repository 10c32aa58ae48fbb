"""Published extractions come back as they were."""

from __future__ import annotations

import orjson
import pytest

from inkgate.errors import EngineFailed
from inkgate_client.fields.as_json import document_fields_to_dict, extraction_to_dict, parse_fields
from inkgate_client.fields.values import Check, Extraction, ExtractionStatus, FieldStatus, FieldValue, Match, Source
from inkgate_client.types import DocumentResult, PageResult

PLACE = Source(2, (4, 5), (10.5, 20.0, 30.0, 40.1), "TOTAL 30.20", Match.VALUE, 0.9123, "TOTAL", read_as="T0TAL 30.20")
TOTAL = FieldValue(
    "/total", "decimal", FieldStatus.FOUND, "30.20", "30.20", 0.91, "rules", (PLACE,), ("30.00",), ("sum_of_items",)
)
BARE = Source(0, (), (0.0, 0.0, 1.0, 1.0), "Tea", Match.EXACT, 1.0, "")
ITEM = FieldValue("/items/0/name", "string", FieldStatus.UNCERTAIN, "Tea", "Tea", 0.5, sources=(BARE,))
GONE = FieldValue("/date", "date", FieldStatus.NOT_FOUND)
FOUND = Extraction(
    "receipt",
    {"total": "30.20", "items": [{"name": "Tea", "count": 2, "price": 1.5, "paid": True}], "date": None},
    {each.path: each for each in (TOTAL, ITEM, GONE)},
    (Check("sum_of_items", False, ("/total", "/items"), "1.5 is not 30.20"),),
    ExtractionStatus.NEEDS_REVIEW,
    ("text_model_failed",),
)


def test_an_extraction_comes_back_equal_with_the_errors_of_its_pages() -> None:
    failed = PageResult(1, error=EngineFailed("upstream_failed", "It failed.").as_page_error())
    read = DocumentResult("r.pdf", "application/pdf", 9, 2, "fake", (PageResult(0), failed))
    published = parse_fields(orjson.dumps(document_fields_to_dict(FOUND, read)))
    assert published.extraction == FOUND
    assert published.page_errors == {1: "upstream_failed"}
    untyped = Extraction("", {}, {}, (), ExtractionStatus.COMPLETE)
    assert parse_fields(orjson.dumps(extraction_to_dict(untyped))).extraction == untyped


def test_what_was_not_published_is_refused() -> None:
    good = extraction_to_dict(FOUND)
    total = good["fields"]["/total"]
    bad: tuple[object, ...] = (
        {**good, "status": "splendid"},
        {**good, "fields": []},
        {**good, "fields": {"/total": {**total, "sources": [{"page": 1}]}}},
        {**good, "checks": [{"code": 1}]},
        {name: value for name, value in good.items() if name != "data"},
        [],
    )
    for answer in bad:
        with pytest.raises(ValueError, match="validation error"):
            parse_fields(orjson.dumps(answer))
    with pytest.raises(ValueError, match="JSON"):
        parse_fields(b"{")
    later = parse_fields(orjson.dumps({**good, "later": 1, "fields": {"/total": {**total, "later": 1}}}))
    assert later.extraction.fields == {"/total": TOTAL}
