"""`POST /v1/ocr`, the API of Mistral's OCR service: requests and route; mistral_response.py has the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, costs
from inkgate.api.http.decoding import parse_json
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, document_contents, pages_pattern, problems
from inkgate.api.http.options import Native, choose, flag, parse
from inkgate.api.http.page_list import ShowPages
from inkgate.api.http.sources import DEFAULT_NAME, document
from inkgate.api.http.uploads import UploadedBody
from inkgate.api.mistral_response import (
    DocumentSource,
    MistralAnswer,
    MistralOptions,
    MistralRequest,
    figures_of,
)
from inkgate.caller import Caller
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.extraction.figures import FigureAnnotator
from inkgate.service.reader import CheckedOptions
from inkgate_client.fields.as_json import extraction_to_dict
from inkgate_client.fields.asked import WantedFields
from inkgate_client.types import Document, DocumentResult, Task, TaskKind

_LISTS = frozenset({"pages", "document", "document_annotation_format", "bbox_annotation_format"})
"""Fields that forms send as JSON text."""
_FLAGS = frozenset({"include_image_base64", "extract_header", "extract_footer", "include_blocks"})
_DIGITS = 10
_NUMBERS = frozenset({"image_limit", "image_min_size"})


class Mistral:
    """JSON, or a form with a part `file` (or a `document` in JSON) and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        shape = choose(received.query.get("format"), received.accept)
        if received.body.is_form:
            options, found = await self._from_form(received)
        else:
            if received.body.fields.get("document") is None:
                raise InputRejected("file_missing", "The request has no `document`.")
            options = parse(MistralOptions, received.body.fields)
            options.refuse_what_is_missing(await _names(received))
            found = await _get(parse(MistralRequest, received.body.fields).document, received)
        task = Task(kind=TaskKind.PARSE, images=options.images)
        requested = CheckedOptions(task=task, pages=select(options.pages, first=0))
        answer = MistralAnswer(options)
        request = ReadRequest(found, requested, shape, ShowPages(answer), answer.page)
        if options.annotation_schema() or options.figure_schema():
            return await _annotated(request, answer, received)
        return request

    async def _from_form(self, received: ReceivedRequest) -> tuple[MistralOptions, Document]:
        fields = {key: await _decoded(key, value, received) for key, value in received.body.fields.items()}
        options = parse(MistralOptions, fields)
        options.refuse_what_is_missing(await _names(received))
        if file := received.body.files.get("file") or received.body.files.get("document"):
            return options, document(file.data, file.filename)
        if fields.get("document") is None:
            raise InputRejected("file_missing", "The form has no part `file`.")
        return options, await _get(parse(MistralRequest, fields).document, received)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


async def _annotated(request: ReadRequest, answer: MistralAnswer, received: ReceivedRequest) -> ReadRequest:
    """The request, with fields in `document_annotation` and a model's description of figures in `image_annotation`.

    Raises:
        InputRejected: a schema can't be used (that of figures not with arrays alone), or the response has another form
            than Mistral's.
    """
    if request.shape is not Native.FORM:
        raise InputRejected("not_acceptable", "Annotations are answered in Mistral's JSON only.")
    service, options = received.context.service, answer.options
    finder, limits = service.fields, received.context.settings.limits
    of_document, of_figures = [
        await finder.wanted(WantedFields(schema=schema), received.caller) if schema else None
        for schema in (options.annotation_schema(), options.figure_schema())
    ]
    if of_figures is not None and of_figures.schema is not None and not of_figures.schema.questions:
        raise InputRejected("feature_unavailable", "`bbox_annotation_format`: the schema has only arrays.")
    annotator = FigureAnnotator(service.gateway.reader, limits.page_window, limits.time_s)
    private = any(fields.private for fields in (of_document, of_figures) if fields is not None)

    async def find(result: DocumentResult, caller: Caller) -> Callable[[DocumentResult], Json]:
        shown = answer
        if of_figures is not None and of_figures.schema is not None:
            figures = [figure.image for page in result.pages for figure in figures_of(page, options) if figure.image]
            annotations = await annotator.annotate(figures, of_figures.schema, caller, private=private)
            shown = replace(answer, annotations=annotations)
        if of_document is None:
            return shown.document
        extraction = await finder.find(result, of_document, caller)
        return partial(shown.annotated, extraction_to_dict(extraction)["data"])

    requested = request.options if of_document is None else finder.read_options(of_document, request.options)
    return replace(request, options=replace(requested, private=private), find=find)


async def _names(received: ReceivedRequest) -> tuple[str, ...]:
    """Accepted model names besides Mistral's."""
    return await received.context.served.accepted()


async def _get(source: DocumentSource, received: ReceivedRequest) -> Document:
    name = source.document_name or DEFAULT_NAME
    if source.url is not None and source.type != "file":
        return await received.context.sources.from_url(source.url, received.caller, name)
    if source.file_id is not None:
        return await received.context.sources.from_file_id(source.file_id, received.caller.tenant)
    raise InputRejected(
        "file_missing", "`document` has no `document_url`, `image_url` or `file_id` that matches its `type`."
    )


async def _decoded(key: str, value: str, received: ReceivedRequest) -> object:
    if key in _FLAGS:
        return flag(value)
    if key in _NUMBERS:
        return int(value) if value.isascii() and value.isdigit() and len(value) < _DIGITS else value
    if key not in _LISTS or value[:1] not in {"[", "{"}:
        return value
    try:
        return await received.context.bodies.run(received.caller, len(value), _parsed, value)
    except InputRejected as error:
        raise InputRejected(error.code, f"Field `{key}`: {error.detail}") from error


def _parsed(text: str) -> object:
    return parse_json(text.encode("utf-8", "surrogatepass"))


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
                "title": "MistralForm",
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
                    "confidence_scores_granularity": {"type": "string", "enum": ["word", "page", "block"]},
                    "document_annotation_format": {"type": "string", "description": "As JSON."},
                    "bbox_annotation_format": {"type": "string", "description": "As JSON."},
                    "include_image_base64": {"type": "boolean"},
                    "image_limit": {"type": "integer", "minimum": 0, "description": "Images of a page."},
                    "image_min_size": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "Least width and height of an image, in pixels of the page.",
                    },
                },
            }
        },
    },
}
_INTEGER_OR_NULL: Json = {"type": ["integer", "null"]}
_STRING_OR_NULL: Json = {"type": ["string", "null"]}
_CORNERS = ("top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y")
_PAGE: Json = {
    "title": "MistralPage",
    "type": "object",
    "required": ["index", "markdown", "images", "dimensions"],
    "properties": {
        "index": {"type": "integer", "description": "From 0."},
        "markdown": {"type": "string"},
        "images": {
            "type": "array",
            "items": {
                "title": "MistralImage",
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    **dict.fromkeys(_CORNERS, _INTEGER_OR_NULL),
                    "image_base64": {
                        **_STRING_OR_NULL,
                        "description": "A `data:` URL, with `include_image_base64`.",
                    },
                    "image_annotation": {
                        **_STRING_OR_NULL,
                        "description": "What the model says of the figure, as JSON in a string.",
                    },
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
    "title": "MistralResponse",
    "type": "object",
    "required": ["pages", "model", "usage_info"],
    "properties": {
        "pages": {"type": "array", "items": _PAGE},
        "model": {"type": "string"},
        "usage_info": {
            "type": "object",
            "properties": {"pages_processed": {"type": "integer"}, "doc_size_bytes": {"type": "integer"}},
        },
        "document_annotation": {**_STRING_OR_NULL, "description": "The fields of the schema, as JSON in a string."},
        "status": {"enum": ["complete", "partial"], "description": "An inkgate extension."},
    },
}

MISTRAL_OPERATION: Json = {
    "summary": "Mistral OCR",
    "operation_id": "read_mistral",
    "description": "`document_annotation_format` with a JSON Schema finds fields, as `/extract` does. "
    "`bbox_annotation_format` asks the model about each figure. `document_annotation_prompt` returns 501 unless it is "
    "null, and so does `bbox_annotation_format` without a model that answers questions about images.",
    "responses": {
        200: {
            "description": "The document. The Accept header can choose the other formats of `/ocr`.",
            "content": document_contents({"schema": _ANSWER}, "One line for each of `pages`, then a summary."),
        },
        **problems(400, 403, 404, 406, 408, 413, 415, 422, 501, 502, 504),
    },
    "openapi_extra": {"requestBody": _REQUEST},
}

router = APIRouter(tags=["read"])


@router.post("/v1/ocr", response_class=Response, **MISTRAL_OPERATION)
@costs(DOCUMENT)
async def read(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form)


def _form(_: UploadedBody) -> Form:
    return Mistral()
