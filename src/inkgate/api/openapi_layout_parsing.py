"""`POST /layout-parsing` in OpenAPI, by hand, as in openapi_ocr.py."""

from __future__ import annotations

from typing import Any

from inkgate.api.openapi import problems
from inkgate.api.sample import SAMPLE_PNG_BASE64

Json = dict[str, Any]

_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/LayoutParsingRequest"},
            "examples": {
                "page": {"summary": "A page", "value": {"file": SAMPLE_PNG_BASE64, "fileType": 1}},
                "whole": {
                    "summary": "A page read without layout",
                    "value": {
                        "file": SAMPLE_PNG_BASE64,
                        "fileType": 1,
                        "useLayoutDetection": False,
                        "promptLabel": "ocr",
                    },
                },
            },
        }
    },
}
_BLOCK: Json = {
    "type": "object",
    "required": ["block_label", "block_content", "block_bbox", "block_id", "block_order"],
    "properties": {
        "block_label": {"type": "string", "examples": ["paragraph_title"]},
        "block_content": {"type": "string", "description": "Text. A table is HTML."},
        "block_bbox": {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
        "block_id": {"type": "integer"},
        "block_order": {"type": ["integer", "null"], "description": "From 1; null for running headers and footers."},
    },
}
_PAGE: Json = {
    "type": "object",
    "required": ["prunedResult", "markdown", "outputImages", "inputImage"],
    "properties": {
        "prunedResult": {
            "type": "object",
            "required": ["page_count", "width", "height", "model_settings", "parsing_res_list"],
            "properties": {
                "page_count": {"type": ["integer", "null"], "description": "Pages of a PDF."},
                "width": {"type": "integer"},
                "height": {"type": "integer"},
                "model_settings": {"type": "object"},
                "parsing_res_list": {"type": "array", "items": _BLOCK},
                "error": {"type": "object", "description": "Why this page was not read; an inkgate extension."},
            },
        },
        "markdown": {
            "type": "object",
            "required": ["text", "images"],
            "properties": {"text": {"type": "string"}, "images": {"type": "object"}},
        },
        "outputImages": {"type": "null"},
        "inputImage": {"type": "null"},
    },
}
_ANSWER: Json = {
    "type": "object",
    "required": ["logId", "errorCode", "errorMsg", "result"],
    "properties": {
        "logId": {"type": "string"},
        "errorCode": {"const": 0},
        "errorMsg": {"const": "Success"},
        "result": {
            "type": "object",
            "required": ["layoutParsingResults", "dataInfo"],
            "properties": {
                "layoutParsingResults": {"type": "array", "items": _PAGE},
                "dataInfo": {"type": "object"},
            },
        },
    },
}
_ERROR: Json = {
    "type": "object",
    "required": ["logId", "errorCode", "errorMsg", "code"],
    "properties": {
        "logId": {"type": "string"},
        "errorCode": {"type": "integer", "description": "The HTTP status."},
        "errorMsg": {"type": "string"},
        "code": {"type": "string"},
        "remedy": {"type": "string"},
        "request_id": {"type": "string"},
    },
}


def _responses() -> dict[int | str, Json]:
    found = problems(400, 403, 404, 406, 408, 413, 415, 422, 502, 504)
    for response in found.values():
        response["content"] = {"application/json": {"schema": _ERROR}}
    answers = {
        "application/json": {"schema": _ANSWER},
        "application/x-ndjson": {"schema": {"type": "string", "description": "One line per page, then a summary."}},
        "text/plain": {"schema": {"type": "string"}},
        "text/markdown": {"schema": {"type": "string"}},
        "text/html": {"schema": {"type": "string", "description": "hOCR"}},
        "application/xml": {"schema": {"type": "string", "description": "ALTO 4"}},
    }
    description = "The document. The Accept header can choose the other formats of `/ocr`."
    return {200: {"description": description, "content": answers}, **found}


LAYOUT_PARSING_OPERATION: Json = {
    "summary": "PaddleX document parsing",
    "operation_id": "read_layout_parsing",
    "description": "The protocol of PaddleX's document parsing services. Options that are not listed have no effect.",
    "responses": _responses(),
    "openapi_extra": {"requestBody": _REQUEST},
}
