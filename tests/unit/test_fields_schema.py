"""Schemas: what they ask for, and hostile ones."""

from typing import Any

import pytest
from pydantic import BaseModel

from inkgate.errors import InputRejected
from inkgate.fields.schema import MAX_LEAVES, FieldSchema, words_of


class Seller(BaseModel):
    name: str
    vat_id: str | None = None


class Bill(BaseModel):
    number: str
    issue_date: str | None
    total: float
    seller: Seller | None = None
    items: list[Seller] = []


def leaves(schema: object) -> dict[str, str]:
    return {leaf.path: leaf.kind for leaf in FieldSchema.of(schema).leaves}


def test_a_pydantic_model_s_schema_is_understood() -> None:
    assert leaves(Bill.model_json_schema()) == {
        "/number": "text",
        "/issue_date": "date",
        "/total": "number",
        "/seller/name": "text",
        "/seller/vat_id": "text",
        "/items/-/name": "text",
        "/items/-/vat_id": "text",
    }


def test_kinds_come_from_x_kind_format_type_and_name_in_that_order() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "x-kind": "money"},
            "b": {"type": "string", "format": "date"},
            "c": {"type": ["integer", "null"]},
            "grandTotal": {"type": "string"},
            "开票日期": {"type": "string"},
            "note": {"type": "string"},
        }
    }
    assert list(leaves(schema).values()) == ["money", "date", "number", "money", "date", "text"]


def test_labels_are_the_name_the_title_and_x_labels() -> None:
    (leaf,) = FieldSchema.of(
        {"properties": {"dueDate": {"title": "Pay by", "x-labels": {"en": ["due"], "zh": ["到期日"]}}}}
    ).leaves
    assert leaf.labels == ("due", "到期日", "Pay by", "due date")
    assert words_of("VATNumber_2") == "vat number 2"


def test_names_make_a_schema() -> None:
    assert [leaf.path for leaf in FieldSchema.of_names(["姓名", "a/b"]).leaves] == ["/姓名", "/a~1b"]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        (None, "schema_invalid"),
        ([], "schema_invalid"),
        ({}, "schema_invalid"),
        ({"properties": {}}, "schema_invalid"),
        ({"properties": {"a": 3}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "https://example.org/schema.json"}}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "schema_invalid"),
        ({"properties": {"a": {"$ref": "#"}}}, "schema_invalid"),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array"}]}}}, "schema_invalid"),
        ({"properties": {"a": {"properties": {"b": {"$ref": "#/properties/a"}}}}}, "schema_invalid"),
        (nested(9), "schema_invalid"),
        ({"properties": {f"p{i}": {"type": "string"} for i in range(MAX_LEAVES + 1)}}, "schema_too_large"),
        ({"properties": {"a": {"type": "string", "title": "x" * 70_000}}}, "schema_too_large"),
        ({"properties": {"a": {"type": {1, 2}}}}, "schema_invalid"),
    ],
)
def test_what_can_not_be_used_is_refused_by_name(schema: object, code: str) -> None:
    with pytest.raises(InputRejected) as refused:
        FieldSchema.of(schema)
    assert refused.value.code == code


def test_a_schema_that_branches_into_itself_ends() -> None:
    twice = {"$ref": "#/$defs/a"}
    schema = {"$defs": {"a": {"properties": {"x": twice, "y": twice}}}, "properties": {"z": twice}}
    with pytest.raises(InputRejected):
        FieldSchema.of(schema)


def test_numbers_that_may_be_text_are_exact_text() -> None:
    decimal = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^x*$"}, {"type": "null"}]}  # pydantic's
    leaves = FieldSchema.of({"properties": {"total": decimal, "weight": decimal}}).leaves
    assert [(leaf.kind, leaf.json_type) for leaf in leaves] == [("money", "string"), ("number", "string")]
