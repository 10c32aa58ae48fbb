"""Extractions as JSON and back: the published form, as codec.py has it of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter

from inkgate_client.codec import encodable
from inkgate_client.fields.values import Check, Extraction, ExtractionStatus, FieldValue, Source
from inkgate_client.types import DocumentResult, PageResult

Json = dict[str, Any]


def extraction_to_dict(extraction: Extraction) -> Json:
    """The published form: `data` as the schema has it, and beside it what is known of each field."""
    return {
        "document_type": extraction.document_type or None,
        "status": extraction.status.value,
        "data": _clean(extraction.data),
        "fields": {encodable(path): _field(each) for path, each in extraction.fields.items()},
        "checks": [_check(check) for check in extraction.checks],
        "notes": list(extraction.notes),
    }


def document_fields_to_dict(extraction: Extraction, result: DocumentResult) -> Json:
    """The extraction, and what is known of the document that was read for it."""
    errors = {str(page.index): page.error.code for page in result.pages if page.error is not None}
    return {
        **extraction_to_dict(extraction),
        "document": about_document(result),
        "pages": [_page(page) for page in result.pages],
        "page_errors": errors,
    }


def about_document(result: DocumentResult) -> Json:
    """A document without its pages."""
    return {
        "name": result.name,
        "page_count": result.page_count,
        "engine": result.engine,
        "status": result.status.value,
        "needs_review": list(result.needs_review),
    }


@dataclass(frozen=True, slots=True)
class PublishedFields:
    """An extraction that was published. `page_errors`: codes of the pages that were not read, by their index."""

    extraction: Extraction
    page_errors: Mapping[int, str]


def parse_fields(body: bytes) -> PublishedFields:
    """What `extraction_to_dict` or `document_fields_to_dict` published. Keys of later versions are ignored.

    Raises:
        ValueError: `body` is no published extraction.
    """
    published = _PUBLISHED(body)
    extraction = Extraction(
        published.document_type,
        published.data,
        {path: each.field(path) for path, each in published.fields.items()},
        tuple(Check(each.code, each.passed, each.fields, each.detail) for each in published.checks),
        published.status,
        published.notes,
    )
    return PublishedFields(extraction, published.page_errors)


def _page(page: PageResult) -> Json:
    """Returns what drawing boxes on a page's picture needs. The size is of the upright page, in pixels."""
    return {"index": page.index, "width": page.width, "height": page.height, "rotation": page.rotation}


def _field(found: FieldValue) -> Json:
    return {
        "status": found.status.value,
        "kind": found.kind,
        "value": _clean(found.value),
        "text": None if found.text is None else encodable(found.text),
        "confidence": None if found.confidence is None else round(found.confidence, 4),
        "origin": found.origin or None,
        "sources": [_source(source) for source in found.sources],
        "alternatives": [encodable(text) for text in found.alternatives],
        "checks": list(found.checks),
    }


def _source(source: Source) -> Json:
    return {
        "page": source.page,
        "box": [round(value, 1) for value in source.box],
        "lines": list(source.lines),
        "text": encodable(source.text),
        "match": source.match.value,
        "confidence": round(source.confidence, 4),
        "label": encodable(source.label) or None,
        **({"read_as": encodable(source.read_as)} if source.read_as else {}),
    }


def _check(check: Check) -> Json:
    return {
        "code": check.code,
        "passed": check.passed,
        "fields": [encodable(path) for path in check.paths],
        "detail": encodable(check.detail),
    }


def _clean(value: object) -> Any:  # noqa: ANN401 - JSON of any schema
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(str(name)): _clean(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return value


Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]
"""Empty instead of null."""


@dataclass(frozen=True, slots=True)
class _PublishedSource(Source):
    label: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublishedField(FieldValue):
    path: str = ""
    origin: Text = ""
    sources: tuple[_PublishedSource, ...] = ()

    def field(self, path: str) -> FieldValue:
        sources = tuple(Source(**_values(each, Source)) for each in self.sources)
        return FieldValue(**_values(self, FieldValue) | {"path": path, "sources": sources})


@dataclass(frozen=True, slots=True)
class _PublishedCheck:
    code: str
    passed: bool
    fields: tuple[str, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class _PublishedExtraction:
    document_type: Text
    status: ExtractionStatus
    data: dict[str, Any]
    fields: dict[str, _PublishedField]
    checks: tuple[_PublishedCheck, ...]
    page_errors: dict[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


_PUBLISHED = TypeAdapter(_PublishedExtraction).validate_json


def _values(published: object, kind: type[Source | FieldValue]) -> Json:
    return {each.name: getattr(published, each.name) for each in fields(kind)}
