"""`POST /v1/ocr` in OpenAPI, by hand, as in openapi_ocr.py."""

from __future__ import annotations

from typing import Any

from inkgate.api.openapi import pages_pattern, problems
from inkgate.api.sample import SAMPLE_PNG_BASE64

Json = dict[str, Any]

_DATA_URL = f"data:image/png;base64,{SAMPLE_PNG_BASE64}"
_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/MistralRequest"},
            "examples": {
                "image": {
                    "summary": "An image in a data: URL",
                    "value": {
                        "model": "mistral-ocr-latest",
                        "document": {"type": "image_url", "image_url": _DATA_URL},
                        "include_blocks": True,
                        "confidence_scores_granularity": "word",
                    },
                },
                "file": {
                    "summary": "An uploaded file",
                    "value": {
                        "model": "mistral-ocr-latest",
                        "document": {"type": "file", "file_id": "00000000-0000-4000-8000-000000000000"},
                        "pages": "0,2-4",
                    },
                },
            },
        },
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"},
                    "model": {"type": "string", "enum": ["mistral-ocr-latest"]},
                    "pages": {"type": "string", "pattern": pages_pattern(0), "description": "From 0: `0,2-4`."},
                    "table_format": {"type": "string", "enum": ["markdown", "html"]},
                    "extract_header": {"type": "boolean"},
                    "extract_footer": {"type": "boolean"},
                    "include_blocks": {"type": "boolean"},
                    "confidence_scores_granularity": {"type": "string", "enum": ["word", "page"]},
                },
            }
        },
    },
}
_INTEGER_OR_NULL: Json = {"type": ["integer", "null"]}
_STRING_OR_NULL: Json = {"type": ["string", "null"]}
_CORNERS = ("top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y")
_PAGE: Json = {
    "type": "object",
    "required": ["index", "markdown", "images", "dimensions"],
    "properties": {
        "index": {"type": "integer", "description": "From 0."},
        "markdown": {"type": "string"},
        "images": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    **dict.fromkeys(_CORNERS, _INTEGER_OR_NULL),
                    "image_base64": {"type": "null", "description": "Always null: figures are located, not cut out."},
                },
            },
        },
        "dimensions": {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in ("dpi", "height", "width")},
        },
        "tables": {"type": "array", "items": {"type": "object"}},
        "hyperlinks": {"type": "array", "items": {"type": "string"}},
        "header": _STRING_OR_NULL,
        "footer": _STRING_OR_NULL,
        "confidence_scores": {"type": ["object", "null"]},
        "blocks": {"type": ["array", "null"], "items": {"type": "object"}},
        "error": {"type": ["object", "null"], "description": "Why this page was not read; an inkgate extension."},
    },
}
_ANSWER: Json = {
    "type": "object",
    "required": ["pages", "model", "usage_info"],
    "properties": {
        "pages": {"type": "array", "items": _PAGE},
        "model": {"type": "string"},
        "usage_info": {
            "type": "object",
            "properties": {"pages_processed": {"type": "integer"}, "doc_size_bytes": {"type": "integer"}},
        },
        "document_annotation": {"type": "null"},
        "status": {"enum": ["complete", "partial"], "description": "An inkgate extension."},
    },
}

MISTRAL_OPERATION: Json = {
    "summary": "Mistral OCR",
    "operation_id": "read_mistral",
    "description": "`document_annotation_format`, `document_annotation_prompt` and "
    "`bbox_annotation_format` return 501 unless they are null.",
    "responses": {
        200: {
            "description": "The document. The Accept header can choose the other formats of `/ocr`.",
            "content": {
                "application/json": {"schema": _ANSWER},
                "application/x-ndjson": {
                    "schema": {"type": "string", "description": "One line for each of `pages`, then a summary."}
                },
                "text/plain": {"schema": {"type": "string"}},
                "text/markdown": {"schema": {"type": "string"}},
                "text/html": {"schema": {"type": "string", "description": "hOCR"}},
                "application/xml": {"schema": {"type": "string", "description": "ALTO 4"}},
            },
        },
        **problems(400, 403, 404, 406, 408, 413, 415, 422, 501, 502, 504),
    },
    "openapi_extra": {"requestBody": _REQUEST},
}
