"""JSON, against its published schema."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import jsonschema_rs
import numpy as np
import orjson
from hypothesis import given

from inkgate_client.codec import document_to_dict, page_to_dict
from inkgate_client.formats import Format, render
from inkgate_client.formats.json import json_schema, page_json_schema
from inkgate_client.types import (
    Attempt,
    Block,
    BlockType,
    DocumentResult,
    DocumentStatus,
    Line,
    PageError,
    PageResult,
    TextWord,
    Word,
)
from support import sample_results as sample
from support import strategies


def objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every part of the schema that describes an object with known keys."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)


def closed(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """The schema without any other keys: inkgate writes none that it doesn't describe."""
    for part in objects(schema):
        part["additionalProperties"] = False
    return jsonschema_rs.Draft202012Validator(schema)


DOCUMENT, PAGE = closed(json_schema()), closed(page_json_schema())


@strategies.examples
@given(strategies.documents())
def test_every_document_follows_the_schema(result: DocumentResult) -> None:
    DOCUMENT.validate(orjson.loads(render(result, Format.JSON)))


@strategies.examples
@given(strategies.pages())
def test_every_page_alone_follows_its_schema(page: PageResult) -> None:
    PAGE.validate(orjson.loads(orjson.dumps(page_to_dict(page))))


def test_the_schema_is_a_json_schema() -> None:
    assert jsonschema_rs.meta.is_valid(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_lets_no_key_be_missing() -> None:
    found = list(objects(json_schema()))
    assert len(found) == 18
    for part in found:
        assert sorted(part["required"]) == sorted(part["properties"])


def test_a_key_of_a_later_version_is_allowed_everywhere() -> None:
    def later(value: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {key: later(item) for key, item in value.items()} | {"later": 1}
        return [later(item) for item in value] if isinstance(value, list) else value

    document = later(document_to_dict(sample.DOCUMENT))
    assert jsonschema_rs.Draft202012Validator(json_schema()).is_valid(document)
    assert jsonschema_rs.Draft202012Validator(page_json_schema()).is_valid(document["pages"][1])
    assert not DOCUMENT.is_valid(document)


def test_nothing_of_a_result_is_left_out() -> None:
    cases = [
        ("page", PageResult, {"confidence", "coordinates"}),
        ("line", Line, set()),
        ("word", Word, set()),
        ("text_word", TextWord, set()),
        ("attempt", Attempt, set()),
        ("block", Block, set()),
        ("error", PageError, set()),
    ]
    wrong = [
        (definition, of, computed)
        for definition, of, computed in cases
        if set(json_schema()["$defs"][definition]["properties"]) != {field.name for field in fields(of)} | computed
    ]
    assert wrong == []


def test_the_schema_lists_the_values_that_enumerations_have() -> None:
    schema = json_schema()
    assert schema["properties"]["status"]["enum"] == [status.value for status in DocumentStatus]
    assert schema["$defs"]["block"]["properties"]["type"]["enum"] == [kind.value for kind in BlockType]


def test_every_key_of_a_page_is_described() -> None:
    assert all("description" in part for part in json_schema()["$defs"]["page"]["properties"].values())


def test_numbers_are_rounded_to_what_they_are_worth() -> None:
    quad = ((-0.01, 1.26), (10.04, 1.0), (10.0, 20.0), (0.0, 20.0))
    page = PageResult(0, 100, 100, dpi=72.009, lines=(Line("a", quad, 0.123456),), timings_ms={"detect": 1.26})
    found = page_to_dict(replace(page, confidence=0.654321))
    assert found["lines"][0]["quad"] == [[0.0, 1.3], [10.0, 1.0], [10.0, 20.0], [0.0, 20.0]]
    assert b"-0.0" not in orjson.dumps(found)
    assert (found["lines"][0]["confidence"], found["confidence"]) == (0.1235, 0.6543)
    assert (found["dpi"], found["timings_ms"]) == (72.0, {"detect": 1.3})


def test_words_without_places_say_where_they_begin() -> None:
    words = (TextWord("certain", 0, 1.0), TextWord("eh", 8, 0.1))
    found = page_to_dict(PageResult(0, text="certain eh", words=words))
    assert found["words"][1] == {"text": "eh", "start": 8, "confidence": 0.1}


def test_attempts_say_what_was_changed_and_why() -> None:
    error = PageError("output_repeats", "Round and round.", "Try again.", 2)
    attempts = (Attempt("", error, 12.34), Attempt("temperature 0.2", None, 1))
    assert page_to_dict(PageResult(0, attempts=attempts))["attempts"] == [
        {
            "change": "",
            "error": {
                "code": "output_repeats",
                "detail": "Round and round.",
                "remedy": "Try again.",
                "retry_after_s": 2.0,
            },
            "duration_ms": 12.3,
        },
        {"change": "temperature 0.2", "error": None, "duration_ms": 1.0},
    ]


def test_numbers_of_numpy_become_plain_ones() -> None:
    value = float(np.float32(0.25))
    quad = sample.upright(*np.array([1, 2, 3, 4], np.float32))
    page = PageResult(0, 9, 9, lines=(Line("a", quad, np.float32(0.25)),))  # type: ignore[arg-type] # engines slip
    found = orjson.loads(orjson.dumps(page_to_dict(page)))
    assert found["lines"][0]["confidence"] == value
    assert found["lines"][0]["quad"][0] == [1.0, 2.0]


def test_blocks_are_null_where_nobody_asked_and_empty_where_there_are_none() -> None:
    assert page_to_dict(PageResult(0))["blocks"] is None
    assert page_to_dict(PageResult(0, blocks=()))["blocks"] == []


def test_a_failed_page_carries_code_detail_and_remedy() -> None:
    found = document_to_dict(sample.DOCUMENT)
    assert found["status"] == "partial"
    assert found["pages"][0]["error"] is None
    assert found["pages"][1]["error"] == {
        "code": "page_broken",
        "detail": "its content stream ends -- early",
        "remedy": "Repair the file.",
        "retry_after_s": None,
    }


def test_lone_surrogates_are_replaced() -> None:
    assert page_to_dict(PageResult(0, text="a\ud800b"))["text"] == "a\ufffdb"
