"""What the OpenAPI document says of `/ocr`: its five request forms, and their responses."""

from __future__ import annotations

from typing import Any

from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, document_contents, pages_pattern, problems
from inkgate.api.http.options import BODY_ONLY, LONGEST_PASSWORD
from inkgate.api.paddlex import ERROR_SCHEMA, success_schema
from inkgate.documents.files import names_of_formats

Json = dict[str, Any]

_PAGES: Json = {"type": "string", "pattern": pages_pattern(1), "examples": ["1"]}
_OPTIONS: dict[str, tuple[str, Json]] = {
    "pages": ("Pages from 1, such as `1-3,7` or `5-`.", _PAGES),
    "format": (
        "The response's format; overrides the Accept header. `json` is the document as in the published schema.",
        {"type": "string", "enum": [*names_of_formats(), "ndjson"]},
    ),
    "task": ("`text`: lines. `parse`: blocks and Markdown as well.", {"type": "string", "enum": ["text", "parse"]}),
    "blocks": ("`true`: blocks and Markdown too; the same as `task=parse`.", {"type": "boolean"}),
    "include": (
        "`images`: figures as images too, in JSON, Markdown and Word; the same as `task=parse` otherwise.",
        {"type": "string", "enum": ["images"]},
    ),
    "pdf_text": (
        "When to use the text layer of PDF pages instead of OCR.",
        {"type": "string", "enum": ["auto", "never", "always"]},
    ),
    "password": (
        "Password of an encrypted PDF. Only in the body, because URLs are logged.",
        {"type": "string", "format": "password", "maxLength": LONGEST_PASSWORD},
    ),
    "marks": (
        "`true`: doubtful words are `<mark>`ed in the Markdown, and doubtful blocks noted in comments.",
        {"type": "boolean"},
    ),
    "chunk_tokens": ("Largest chunk in tokens, which are estimated. Default: 512.", {"type": "integer"}),
    "chunk_characters": ("Largest chunk in characters, in place of tokens.", {"type": "integer"}),
    "chunk_overlap": ("How much of a chunk the next one has, too, in the same unit.", {"type": "integer"}),
    "chunk_headings": ("`true`: the headings above a chunk stand in front of its text.", {"type": "boolean"}),
    "coordinates": (
        "Coordinates of the image as `sent` (default for hOCR and ALTO) or of the `upright` page (default for JSON).",
        {"type": "string", "enum": ["upright", "sent"]},
    ),
}
_PARAMETERS = [
    {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
    for name, (description, schema) in _OPTIONS.items()
    if name not in BODY_ONLY
]
_FIELDS: Json = {name: {**schema, "description": description} for name, (description, schema) in _OPTIONS.items()}
_BINARY: Json = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
_SWITCH: Json = {"type": "string", "enum": ["true", "false"]}

_SIMPLE: Json = {
    "title": "OcrRequest",
    "type": "object",
    "required": ["image"],
    "additionalProperties": False,
    "properties": {
        "image": {
            "type": "string",
            "format": "byte",
            "minLength": 4,
            "description": "The file as base64, a data: URL, or (if the settings allow it) an http(s) URL.",
        },
        **_FIELDS,
    },
}
_FORM: Json = {
    "title": "OcrForm",
    "type": "object",
    "additionalProperties": False,
    "properties": {"file": {**_BINARY, "description": "The file."}, **_FIELDS},
    "required": ["file"],
}
_RAPIDOCR_FORM: Json = {
    "title": "RapidocrForm",
    "type": "object",
    "properties": {
        "image_file": {**_BINARY, "description": "The file."},
        "use_det": {**_SWITCH, "description": "`false` omits `dt_boxes` from the response."},
        "use_cls": {**_SWITCH, "description": "`false` skips the check for upside-down lines."},
        "use_rec": {**_SWITCH, "description": "`false` omits `rec_txt` and `score` from the response."},
        **_FIELDS,
    },
    "required": ["image_file"],
}
_RAPIDOCR_FIELDS: Json = {
    "title": "RapidocrRequest",
    "type": "object",
    "properties": {"image_data": {"type": "string", "format": "byte", "minLength": 4}},
    "required": ["image_data"],
}
_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"anyOf": [_SIMPLE, {"$ref": "#/components/schemas/PaddlexRequest"}]},
            "examples": {
                "simple": {"summary": "Simple JSON", "value": {"image": SAMPLE_PNG_BASE64}},
                "markdown": {
                    "summary": "Simple JSON with options",
                    "value": {"image": SAMPLE_PNG_BASE64, "task": "parse", "pages": "1"},
                },
                "paddlex": {
                    "summary": "PaddleX",
                    "value": {"file": SAMPLE_PNG_BASE64, "fileType": 1, "textRecScoreThresh": 0.5},
                },
            },
        },
        "multipart/form-data": {"schema": {"anyOf": [_FORM, _RAPIDOCR_FORM]}},
        "application/x-www-form-urlencoded": {"schema": _RAPIDOCR_FIELDS},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}

_TEXT: Json = {"type": "string", "description": "The text of all pages."}
_ANSWER: Json = {
    "title": "OcrResponse",
    "description": "The document, and the text of all its pages as `text`; /infer also as `result` if a form was sent. "
    "With `format=json`, the document alone.",
    "allOf": [
        {"$ref": "#/components/schemas/Document"},
        {"type": "object", "properties": {"text": _TEXT, "result": _TEXT}},
    ],
}
_RAPIDOCR_ANSWER: Json = {
    "title": "RapidocrResponse",
    "type": "object",
    "propertyNames": {"pattern": "^[0-9]+$"},
    "additionalProperties": {
        "type": "object",
        "properties": {
            "rec_txt": {"type": "string"},
            "dt_boxes": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "score": {"type": "number"},
        },
    },
}
_EXAMPLES: Json = {
    "simple": {"summary": "Simple JSON", "value": {"text": "Hello ink 42", "status": "complete", "pages": []}},
    "form": {
        "summary": "Form",
        "value": {"text": "Hello ink 42", "status": "complete", "pages": []},
    },
    "rapidocr": {
        "summary": "rapidocr_api",
        "value": {"0": {"rec_txt": "Hello", "dt_boxes": [[9, 8], [80, 8], [80, 36], [9, 36]], "score": 0.99}},
    },
}
_OK: Json = {
    "description": "The document. Each protocol has its own JSON; the other formats are the same for all.",
    "headers": {
        "X-Inkgate-Status": {
            "description": "`complete`, or `partial` if some pages failed. Streams have it in their last line instead.",
            "schema": {"type": "string", "enum": ["complete", "partial"]},
        }
    },
    "content": document_contents(
        {
            "schema": {
                "anyOf": [
                    _ANSWER,
                    success_schema("PaddlexOcrResponse", "ocrResults", {"type": "object"}),
                    _RAPIDOCR_ANSWER,
                ]
            },
            "examples": _EXAMPLES,
        },
        "One line per page (`DocumentPage`), then a summary.",
    ),
}


def _responses() -> dict[int | str, Json]:
    found = problems(400, 403, 404, 406, 408, 413, 415, 422, 502, 504)
    for status, response in found.items():
        if status not in {401, 429}:
            response["content"]["application/json"] = {"schema": ERROR_SCHEMA}
    return {200: _OK, **found}


OCR_OPERATION: Json = {
    "summary": "Read a document",
    "operation_id": "read_ocr",
    "description": "Reads an image or a PDF. The content type and the keys select one of five "
    "protocols; see the examples. A body of type `application/octet-stream`, `application/pdf`, `image/*` or another "
    "`application/*` is the document itself, with the options in the query; so are the bytes of a file without a type. "
    "PaddleX requests get errors in PaddleX's "
    "envelope, all others problem documents.",
    "responses": _responses(),
    "openapi_extra": {"parameters": _PARAMETERS, "requestBody": _REQUEST},
}
