"""Fields of documents: how they are requested, and what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import orjson
from pydantic import TypeAdapter

from inkgate_client.fields.as_json import parse_fields
from inkgate_client.fields.asked import ModelClass, ModelT, WantedFields, instance_of, schema_text
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus, FieldValue
from inkgate_client.requests import ClientRequest, ReadOptions, options_of, read_headers
from inkgate_client.types import DocumentResult

DataT = TypeVar("DataT")


@dataclass(frozen=True, slots=True, repr=False)
class Fields(Generic[DataT]):
    """The fields of a document.

    Attributes:
        extraction: beside each value, its text as printed, places, confidence, checks and alternatives.
        data: the values: an instance of the pydantic class that was asked for, else as `values`. None if they don't fit
            the class, such as null for a text that must be there; `errors` says why. Most often nothing was found where
            the class needs a value: give such fields a default of None.
        errors: why there is no instance, one text for each value, without the value.
        answer: what POST /extract answers, as JSON, with `document` and `pages`.
        document: as it was read for its fields; None from a service.
    """

    extraction: Extraction
    data: DataT
    errors: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict, compare=False)
    document: DocumentResult | None = None

    @property
    def values(self) -> Mapping[str, object]:
        """The values, as the schema has them; null where nothing was found."""
        return self.extraction.data

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """What is known of each value, by JSON Pointer into the data, such as `/total`."""
        return self.extraction.fields

    @property
    def page_errors(self) -> Mapping[int, str]:
        """Codes of the pages that were not read, by their index."""
        return {int(index): code for index, code in self.answer.get("page_errors", {}).items()}

    @property
    def needs_review(self) -> bool:
        """Whether a person should look at it."""
        return self.extraction.status is ExtractionStatus.NEEDS_REVIEW

    def __repr__(self) -> str:
        """Leaves the values out: it may end in logs."""
        found = sum(each.status is FieldStatus.FOUND for each in self.fields.values())
        kind = self.extraction.document_type or "document"
        name = self.answer.get("document", {}).get("name", "")
        return f"<{type(self).__name__} of {kind} {name!r}: {found} of {len(self.fields)} found for sure>"


def extracting(file: tuple[str, bytes], asked: WantedFields, read_as: ReadOptions, wait_s: float) -> ClientRequest:
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


def parse_answer(body: bytes) -> Fields[dict[str, Any]]:
    """The answer to a request for fields. Raises ValueError."""
    found = parse_fields(body)
    return Fields(found.extraction, dict(found.extraction.data), (), orjson.loads(body))


def fitted(found: Fields[dict[str, Any]], schema: ModelClass[ModelT]) -> Fields[ModelT | None]:
    """The same fields, with an instance of a model class as data."""
    data, errors = instance_of(schema, found.data)
    return Fields(found.extraction, data, errors, found.answer)


def parse_document_types(body: bytes) -> dict[str, tuple[str, ...]]:
    """The paths of the fields of each document type. Raises ValueError."""
    return {each.name: each.fields for each in _parse_types(body).types}
