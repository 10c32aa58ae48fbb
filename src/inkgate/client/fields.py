"""Fields of documents: what is asked for, and what the service answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import orjson
from pydantic import TypeAdapter

from inkgate.client.requests import ClientRequest, ReadAs, options_of, read_headers
from inkgate.fields.as_json import parse_fields
from inkgate.fields.asked import FieldsAsked, ModelClass, ModelT, instance_of, schema_text
from inkgate.fields.values import Extraction, ExtractionStatus, FieldValue

DataT = TypeVar("DataT")


@dataclass(frozen=True, slots=True)
class ExtractedFields(Generic[DataT]):
    """The fields of a document.

    Attributes:
        data: the values; of a model class, an instance, or None if the values don't fit it: see `errors`.
        errors: why they don't fit, one text for each value. Most often nothing was found where the model needs a value:
            give such fields a default of None.
        extraction: beside each value, its text as printed, places, confidence, checks and alternatives.
        page_errors: codes of pages that were not read, by their index.
        answer: the whole response as JSON, with `document` and `pages`.
    """

    data: DataT
    errors: tuple[str, ...]
    extraction: Extraction
    page_errors: Mapping[int, str]
    answer: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """What is known of each value, by JSON Pointer into the data, such as `/total`."""
        return self.extraction.fields

    @property
    def needs_review(self) -> bool:
        """Whether a person should look at it."""
        return self.extraction.status is ExtractionStatus.NEEDS_REVIEW


def extracting(file: tuple[str, bytes], asked: FieldsAsked, read_as: ReadAs, wait_s: float) -> ClientRequest:
    """The request for fields of `file` (name and bytes)."""
    schema = "" if asked.schema is None else schema_text(asked.schema)
    wanted = {"type": asked.type, "fields": ",".join(asked.names), "schema": schema}
    options = options_of(read_as) | {"task": ""} | wanted
    if asked.data is not None:
        options["data"] = asked.data if isinstance(asked.data, str) else json.dumps(asked.data)
    given = {option: value for option, value in options.items() if value}
    path = "/extract" if asked.data is None else "/verify"
    return ClientRequest("POST", path, headers=read_headers(read_as), data=given, file=file, wait_s=wait_s)


@dataclass(frozen=True, slots=True)
class _TypeAnswer:
    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TypesAnswer:
    types: tuple[_TypeAnswer, ...]


_parse_types = TypeAdapter(_TypesAnswer).validate_json


def parse_answer(body: bytes) -> ExtractedFields[dict[str, Any]]:
    """The answer to a request for fields. Raises ValueError."""
    found = parse_fields(body)
    return ExtractedFields(dict(found.extraction.data), (), found.extraction, found.page_errors, orjson.loads(body))


def fitted(found: ExtractedFields[dict[str, Any]], schema: ModelClass[ModelT]) -> ExtractedFields[ModelT | None]:
    """The same fields, with an instance of a model class as data."""
    data, errors = instance_of(schema, found.data)
    return ExtractedFields(data, errors, found.extraction, found.page_errors, found.answer)


def parse_document_types(body: bytes) -> dict[str, tuple[str, ...]]:
    """The paths of the fields of each document type. Raises ValueError."""
    return {each.name: each.fields for each in _parse_types(body).types}
