"""`POST /layout-parsing`: the API of PaddleX's document parsing (PP-StructureV3, PaddleOCR-VL), in PaddleX's envelope.

Intended differences: pages after the tenth are read too; no images are drawn (`outputImages` and `inputImage` are
null); pages are not unwarped; the engine's settings define the model's sampling, not `temperature`, `maxNewTokens` and
the like.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, costs
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, document_contents, problems
from inkgate.api.http.options import Native, OcrOptions, parse
from inkgate.api.http.page_list import ShowPages
from inkgate.api.http.uploads import UploadedBody
from inkgate.api.paddlex import ERROR_SCHEMA, Envelope, PaddlexPages, success_schema
from inkgate.api.paddlex_layout import LayoutParsingRequest, layout_page


class LayoutParsing:
    """Parses one request of a PaddleX client."""

    def __init__(self) -> None:
        self._envelope = Envelope()

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        self._envelope.open(received.body.fields)
        request = parse(LayoutParsingRequest, received.body.fields)
        options = parse(OcrOptions, received.body.fields, received.query)
        shape = options.shape(received.accept)
        task = request.layout_task(invisible=options.invisible)
        if shape is not Native.FORM:
            task = replace(task, images=options.images(shape))
        found = await received.context.sources.from_text(request.file, received.caller)
        # Keeps only the options, so that the file's base64 is freed before reading.
        page = partial(layout_page, request.model_copy(update={"file": ""}))
        shown = ShowPages(PaddlexPages(self._envelope, "layoutParsingResults", page))
        order = ReadRequest(found, options.read_options(task), shape, shown, coordinates=options.coordinates)
        return replace(order, marks=bool(options.marks))

    def problem(self, problem: Problem) -> Response:
        return self._envelope.problem(problem)


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
    "title": "PaddlexParsedPage",
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
                "layout_det_res": {"type": "object", "description": "Boxes of the blocks, with labels and scores."},
                "overall_ocr_res": {"type": "object", "description": "Lines, as `/ocr` shows them, if there are any."},
                "table_res_list": {"type": "array", "items": {"type": "object"}, "description": "Cells and HTML."},
                "error": {"type": "object", "description": "Why this page was not read; an inkgate extension."},
            },
        },
        "markdown": {
            "type": "object",
            "required": ["text", "images"],
            "properties": {"text": {"type": "string"}, "images": {"type": "object"}},
        },
        "outputImages": {"type": ["object", "null"]},
        "inputImage": {"type": ["string", "null"]},
    },
}


def _responses() -> dict[int | str, Json]:
    found = problems(400, 403, 404, 406, 408, 413, 415, 422, 502, 504)
    for response in found.values():
        response["content"] = {"application/json": {"schema": ERROR_SCHEMA}}
    answer = {"schema": success_schema("PaddlexParsingResponse", "layoutParsingResults", _PAGE)}
    description = "The document. The Accept header can choose the other formats of `/ocr`."
    return {
        200: {"description": description, "content": document_contents(answer, "One line per page, then a summary.")},
        **found,
    }


LAYOUT_PARSING_OPERATION: Json = {
    "summary": "PaddleX document parsing",
    "operation_id": "read_layout_parsing",
    "description": "The protocol of PaddleX's document parsing services. Options that are not listed have no effect.",
    "responses": _responses(),
    "openapi_extra": {"requestBody": _REQUEST},
}

PATH = "/layout-parsing"

router = APIRouter(tags=["read"])


@router.post(PATH, response_class=Response, **LAYOUT_PARSING_OPERATION)
@costs(DOCUMENT)
async def read(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form)


def _form(_: UploadedBody) -> Form:
    return LayoutParsing()
