"""Fields of jobs: one extraction out of those of the parts of a long document, and corrections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inkgate.errors import InputRejected
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate.jobs.corrections import with_corrections, with_kept_corrections
from inkgate.jobs.finding import merged
from inkgate_client.fields.values import Check, Extraction, ExtractionStatus, FieldStatus, FieldValue
from inkgate_client.types import JsonValue, PageError, PageResult
from support.receipts import RECEIPT, page

SCHEMA = FieldSchema.of(
    {
        "type": "object",
        "properties": {
            "total": {"type": "string", "x-kind": "money"},
            "items": {"type": "array", "items": {"type": "object", "properties": {"amount": {"x-kind": "money"}}}},
        },
    }
)


def part(total: FieldValue, *amounts: str, checks: tuple[Check, ...] = ()) -> Extraction:
    fields = {"/total": total}
    fields |= {
        f"/items/{n}/amount": FieldValue(f"/items/{n}/amount", "money", FieldStatus.FOUND, value=amount, text=amount)
        for n, amount in enumerate(amounts)
    }
    data: dict[str, object] = {"total": total.value, "items": [{"amount": amount} for amount in amounts]}
    return Extraction("", data, fields, checks, ExtractionStatus.COMPLETE)


MISSING = FieldValue("/total", "money", FieldStatus.NOT_FOUND)
LOW = replace(MISSING, status=FieldStatus.UNCERTAIN, value="2.00", text="2.00", confidence=0.5)
HIGH = replace(MISSING, status=FieldStatus.FOUND, value="3.00", text="3.00", confidence=0.9)


def test_the_best_value_is_kept_and_items_follow_each_other() -> None:
    whole = merged([part(MISSING, "1.00"), part(LOW, "4.00", "5.00"), part(HIGH)], SCHEMA)
    assert whole.data == {"total": "3.00", "items": [{"amount": "1.00"}, {"amount": "4.00"}, {"amount": "5.00"}]}
    assert whole.fields["/total"].alternatives == ("2.00",)
    assert whole.fields["/items/2/amount"].path == "/items/2/amount"
    assert whole.fields["/items/2/amount"].value == "5.00"
    assert whole.status is ExtractionStatus.COMPLETE


def test_lists_follow_each_other_with_each_value_once() -> None:
    items = {"type": "array", "items": {"type": "string", "x-kind": "email"}}
    schema = FieldSchema.of({"type": "object", "properties": {"mails": items}})
    parts = [answer([page(text)], schema, {}) for text in ("ann@example.com", "ann@example.com\nbob@example.com")]
    whole = merged(parts, schema)
    assert whole.data == {"mails": ["ann@example.com", "bob@example.com"]}
    assert whole.fields["/mails/1"].path == "/mails/1"


def test_checks_that_need_a_parts_pages_are_kept_and_the_others_made_again() -> None:
    schema = replace(SCHEMA, checks=("mrz_check_digits", "subtotal_plus_tax"))
    code = Check("mrz_check_digits", passed=False, paths=("/total",), detail="")
    sums = Check("subtotal_plus_tax", passed=False, paths=("/total",), detail="")
    whole = merged([part(HIGH, checks=(code, sums)), part(HIGH)], schema)
    assert whole.checks == (code,)
    assert whole.status is ExtractionStatus.NEEDS_REVIEW


def test_doubt_of_a_part_is_doubt_of_the_whole() -> None:
    failed = Check("mrz_check_digits", passed=False, paths=("/total",), detail="")
    assert merged([part(HIGH), part(MISSING, checks=(failed,))], SCHEMA).status is ExtractionStatus.NEEDS_REVIEW
    assert merged([part(MISSING), part(LOW)], SCHEMA).status is ExtractionStatus.NEEDS_REVIEW
    assert merged([part(MISSING), part(MISSING)], SCHEMA).status is ExtractionStatus.NEEDS_REVIEW
    silent = replace(part(HIGH), status=ExtractionStatus.NEEDS_REVIEW)
    assert merged([silent, part(MISSING)], SCHEMA).status is ExtractionStatus.NEEDS_REVIEW


def test_a_page_without_fields_that_was_not_read_is_doubt() -> None:
    lost = PageResult(1, error=PageError("engine_failed", "", ""))
    parts = [answer(pages, SCHEMA, proposed(pages, SCHEMA)) for pages in ([page(RECEIPT)], [lost])]
    assert parts[1].status is ExtractionStatus.NEEDS_REVIEW
    whole = merged(parts, SCHEMA)
    assert whole.data["total"] == parts[0].data["total"]


def test_parts_of_one_receipt_have_the_same_fields_as_the_whole() -> None:
    schema = DocumentTypes.load().named("receipt")
    blank = PageResult(1)
    parts = [answer(pages, schema, proposed(pages, schema)) for pages in ([page(RECEIPT)], [blank])]
    assert merged(parts, schema).data == parts[0].data
    assert merged(parts[:1], schema) is parts[0]


def test_corrections_reach_every_place_and_no_other() -> None:
    data = {"a": {"b": None}, "items": [{"x": 1}], "c/d": 1}
    values: dict[str, JsonValue] = {"/a/b": "1", "/items/1/x": 2, "/items/0/x": None, "/c~1d": 3, "/new/0/y": 4}
    changed = with_corrections(data, values)
    assert changed == {"a": {"b": "1"}, "items": [{"x": None}, {"x": 2}], "c/d": 3, "new": [{"y": 4}]}
    assert data["items"] == [{"x": 1}]
    for path in ("/items/2/x", "/items/99999/x", "/items/x/x"):
        with pytest.raises(InputRejected, match="options_invalid"):
            with_corrections(data, {path: 1})


def test_a_row_at_the_end_without_values_is_removed_and_can_come_back() -> None:
    data = {"items": [{"x": 1, "y": 2}, {"x": 3, "y": None}], "phones": ["1", "2"]}
    gone: dict[str, JsonValue] = {"/items/1/x": None, "/phones/1": None}
    assert with_corrections(data, gone) == {"items": [{"x": 1, "y": 2}], "phones": ["1"]}
    again = gone | {"/items/1/x": 4}
    assert with_kept_corrections(data, again)["items"] == [{"x": 1, "y": 2}, {"x": 4, "y": None}]
    assert with_corrections(data, {"/items/0/x": None, "/items/0/y": None})["items"] == [
        {"x": None, "y": None},
        {"x": 3, "y": None},
    ]


def test_corrections_that_a_later_extraction_has_no_place_for_are_left_out() -> None:
    data = {"total": "1", "items": [{"x": 1}]}
    kept: dict[str, JsonValue] = {"/vendor": "A", "/items/5/x": 2, "/rows/0/x": 3, "/items/0/x": 4, "/total": "2"}
    assert with_kept_corrections(data, kept) == {"total": "2", "items": [{"x": 4}]}
