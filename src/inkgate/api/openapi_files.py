"""The upload of `POST /v1/files` in OpenAPI, by hand, as in openapi_ocr.py."""

from __future__ import annotations

from typing import Any

UPLOAD_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"},
                    "purpose": {"type": "string", "examples": ["ocr"]},
                },
            }
        }
    },
}
