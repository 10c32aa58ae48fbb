"""What the OpenAPI document says of `/extract`, `/verify` and `/document-types`."""

from __future__ import annotations

from typing import Any

from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, pages_pattern, problems
from inkgate_client.fields.values import ExtractionStatus, FieldStatus, Match

Json = dict[str, Any]

_OBJECT: Json = {"type": "object"}
_REQUESTED: Json = {
    "type": {"type": "string", "maxLength": 100, "description": "A document type, as GET /document-types lists."},
    "schema": {**_OBJECT, "description": "A JSON Schema of the object to find. In forms: its text, or a file."},
    "fields": {"type": "string", "description": "Names, separated by commas."},
}
_OPTIONS: Json = {
    "pages": {"type": "string", "pattern": pages_pattern(1), "description": "Pages from 1: `1-3,7`."},
    "pdf_text": {"type": "string", "enum": ["auto", "never", "always"]},
    "password": {"type": "string", "format": "password", "maxLength": 500},
}
_DATA: Json = {"data": {**_OBJECT, "description": "The values to look up. In forms: its text, or a file."}}
_IMAGE: Json = {"image": {"type": "string", "format": "byte", "minLength": 4, "description": "The file as base64."}}
_FILE: Json = {"file": {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}}


def request_body(*, verify: bool) -> Json:
    """The request: a file, at most one of `type`, `schema` and `fields`, and for /verify the values."""
    given = _DATA if verify else {}
    needed = ["data"] if verify else []
    rest = {**_REQUESTED, **given, **_OPTIONS}
    as_text = {name: {**value, "type": "string"} for name, value in rest.items()}
    example = {"image": SAMPLE_PNG_BASE64, "type": "receipt", **({"data": {"total": "30.20"}} if verify else {})}
    name = "Verify" if verify else "Extract"
    in_json: Json = {
        "title": f"{name}DocumentRequest",
        "type": "object",
        "required": ["image", *needed],
        "properties": {**_IMAGE, **rest},
    }
    in_form: Json = {
        "title": f"{name}DocumentForm",
        "type": "object",
        "required": ["file", *needed],
        "properties": {**_FILE, **as_text},
    }
    return {
        "required": True,
        "content": {
            "application/json": {"schema": in_json, "examples": {"type": {"value": example}}},
            "multipart/form-data": {"schema": in_form},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }


_TEXT: Json = {"type": ["string", "null"]}
_SOURCE: Json = {
    "title": "FieldSource",
    "type": "object",
    "required": ["page", "box", "lines", "text", "match", "confidence", "label"],
    "properties": {
        "page": {"type": "integer", "minimum": 0, "description": "From 0."},
        "box": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 4,
            "maxItems": 4,
            "description": "Left, top, right and bottom in pixels of the page.",
        },
        "lines": {"type": "array", "items": {"type": "integer"}, "description": "Indexes of the page's lines."},
        "text": {"type": "string", "description": "As printed."},
        "match": {"enum": [each.value for each in Match]},
        "confidence": {"type": "number"},
        "label": _TEXT,
        "read_as": {"type": "string", "description": "As it was read, where a word became a term of `fields.terms`."},
    },
}
_FIELD: Json = {
    "title": "ExtractedField",
    "type": "object",
    "required": ["status", "kind", "value", "text", "confidence", "origin", "sources", "alternatives", "checks"],
    "properties": {
        "status": {"enum": [each.value for each in FieldStatus]},
        "kind": {"type": "string"},
        "value": {"description": "As in `data`."},
        "text": {**_TEXT, "description": "As printed."},
        "confidence": {"type": ["number", "null"]},
        "origin": {**_TEXT, "description": "`rules`, or `given` for /verify."},
        "sources": {"type": "array", "items": _SOURCE},
        "alternatives": {"type": "array", "items": {"type": "string"}},
        "checks": {"type": "array", "items": {"type": "string"}},
    },
}
_CHECK: Json = {
    "title": "FieldCheck",
    "type": "object",
    "required": ["code", "passed", "fields", "detail"],
    "properties": {
        "code": {"type": "string"},
        "passed": {"type": "boolean"},
        "fields": {"type": "array", "items": {"type": "string"}},
        "detail": {"type": "string"},
    },
}
_DOCUMENT: Json = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "page_count": {"type": "integer"},
        "engine": {"type": "string"},
        "status": {"enum": ["complete", "partial"]},
        "needs_review": {"type": "array", "description": "Pages to look at, as for /ocr."},
    },
}
_PAGE = ("index", "width", "height", "rotation")
_EXTRACTION: Json = {
    "title": "ExtractionResponse",
    "type": "object",
    "required": ["document_type", "status", "data", "fields", "checks", "document", "pages", "page_errors"],
    "properties": {
        "document_type": _TEXT,
        "status": {"enum": [each.value for each in ExtractionStatus]},
        "data": {**_OBJECT, "description": "As the schema has it; null where nothing was found."},
        "fields": {"type": "object", "additionalProperties": _FIELD, "description": "By JSON Pointer into `data`."},
        "checks": {"type": "array", "items": _CHECK},
        "document": _DOCUMENT,
        "pages": {
            "type": "array",
            "description": "Sizes of the upright pages, in pixels, and how they were turned. Boxes are within them.",
            "items": {"type": "object", "properties": {name: {"type": "integer"} for name in _PAGE}},
        },
        "page_errors": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Codes by page."},
    },
}
_TYPES: Json = {
    "title": "DocumentTypes",
    "type": "object",
    "required": ["types"],
    "properties": {
        "types": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "fields"],
                "properties": {
                    "name": {"type": "string"},
                    "fields": {"type": "array", "items": {"type": "string"}, "description": "JSON Pointers."},
                },
            },
        }
    },
}


def operation(summary: str, description: str, *, verify: bool) -> Json:
    """The operation of /extract or /verify."""
    answer = {"description": "The fields.", "content": {"application/json": {"schema": _EXTRACTION}}}
    return {
        "summary": summary,
        "description": description,
        "responses": {200: answer, **problems(400, 403, 404, 406, 408, 413, 415, 422, 502, 504)},
        "openapi_extra": {"requestBody": request_body(verify=verify)},
    }


def listing(description: str, schema: Json) -> dict[int | str, Json]:
    """The responses of /document-types."""
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}, **problems(422)}


TYPES_LISTED = listing("The types.", _TYPES)
TYPE_SHOWN = listing("A JSON Schema.", _OBJECT)
