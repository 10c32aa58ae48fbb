"""What a model says of a picture, in the form of a schema."""

from __future__ import annotations

import json
from typing import Any

from inkgate.extraction.figures import annotation
from inkgate.fields.schema import FieldSchema

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["Photograph", "chart"], "type": "string"},
        "what_it_shows": {"type": "string"},
        "people": {"type": "integer"},
        "share": {"type": ["number", "null"]},
        "colour": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


def said(**answers: object) -> dict[str, Any]:
    schema = FieldSchema.of(SCHEMA)
    return annotation(schema, {name.replace("_", " "): value for name, value in answers.items()})


def test_answers_have_the_types_of_the_schema() -> None:
    told = said(kind="photograph", what_it_shows=" Hills. ", people="2", share=0.00001, colour="yes", name="Ulm")
    assert told == {
        "kind": "Photograph",
        "what_it_shows": "Hills.",
        "people": 2,
        "share": 0.00001,
        "colour": True,
        "tags": [],
        "place": {"name": "Ulm"},
    }


def test_what_the_schema_does_not_allow_is_null() -> None:
    empty = {"kind": None, "what_it_shows": None, "people": None, "share": None, "colour": None}
    nothing: dict[str, Any] = {**empty, "tags": [], "place": {"name": None}}
    assert said() == nothing
    wrong: list[dict[str, object]] = [
        {"kind": "map", "people": 2.5, "share": "many", "colour": "blue", "unasked": "x", "tags": "x"},
        {"kind": 1, "what_it_shows": ["x"], "people": True, "share": float("nan"), "colour": 7},
        {"what_it_shows": " ", "people": "9" * 4000, "share": float("inf"), "name": {"a": 1}},
    ]
    assert [said(**answers) for answers in wrong] == [{**nothing, "kind": None}] * 3
    assert json.dumps(said(people=10**30))
