"""Extractions as JSON."""

from __future__ import annotations

from typing import Any

from inkgate.codec import encodable
from inkgate.fields.values import Check, Extraction, FieldValue, Source
from inkgate.types import DocumentResult, PageResult

Json = dict[str, Any]


def extraction_to_dict(extraction: Extraction) -> Json:
    """The published form: `data` as the schema has it, and beside it what is known of each field."""
    return {
        "document_type": extraction.document_type or None,
        "status": extraction.status.value,
        "data": _clean(extraction.data),
        "fields": {encodable(path): _field(field) for path, field in extraction.fields.items()},
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


def _page(page: PageResult) -> Json:
    """Of a page, what drawing boxes on its picture needs. The size is of the upright page, in pixels."""
    return {"index": page.index, "width": page.width, "height": page.height, "rotation": page.rotation}


def _field(field: FieldValue) -> Json:
    return {
        "status": field.status.value,
        "kind": field.kind,
        "value": _clean(field.value),
        "text": None if field.text is None else encodable(field.text),
        "confidence": None if field.confidence is None else round(field.confidence, 4),
        "origin": field.origin or None,
        "sources": [_source(source) for source in field.sources],
        "alternatives": [encodable(text) for text in field.alternatives],
        "checks": list(field.checks),
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
