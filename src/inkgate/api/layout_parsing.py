"""`POST /layout-parsing`: the API of PaddleX's document parsing (PP-StructureV3, PaddleOCR-VL), in PaddleX's envelope.

Intended differences: pages after the tenth are read too; no images are drawn (`outputImages` and `inputImage` are
null), and figures are cut out only with `include=images` (`markdown.images`); pages are not unwarped; the engine's
settings define the model's sampling, not `temperature`, `maxNewTokens` and the like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.conversions import pipe_table_to_html
from inkgate.api.http.costs import DOCUMENT, costs
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, document_contents, problems
from inkgate.api.http.options import OcrOptions, parse
from inkgate.api.http.page_list import AboutDocument, ShowPages
from inkgate.api.http.uploads import UploadedBody
from inkgate.api.paddlex import ERROR_SCHEMA, Envelope, PaddlexFile, data_info, success_schema
from inkgate.errors import InputRejected
from inkgate_client.codec import encodable, page_to_dict
from inkgate_client.image_links import IMAGE_FOLDER, images_on
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Task, TaskKind

_WHOLE_PAGE = {
    "ocr": TaskKind.TEXT,
    "formula": TaskKind.FORMULA,
    "table": TaskKind.TABLE,
    "chart": TaskKind.CHART,
    "spotting": TaskKind.SPOT,
}
_LABELS = {
    BlockType.TITLE: "paragraph_title",
    BlockType.TEXT: "text",
    BlockType.LIST: "text",
    BlockType.TABLE: "table",
    BlockType.FIGURE: "image",
    BlockType.CAPTION: "figure_title",
    BlockType.HEADER: "header",
    BlockType.FOOTER: "footer",
    BlockType.REFERENCE: "reference",
    BlockType.FORMULA: "formula",
    BlockType.BARCODE: "image",
    BlockType.STAMP: "seal",
}
_UNORDERED = frozenset({BlockType.HEADER, BlockType.FOOTER, BlockType.BARCODE, BlockType.STAMP})
_AS_MARKDOWN = frozenset({BlockType.LIST, BlockType.FORMULA})


class LayoutParsingRequest(PaddlexFile):
    """The request, as PaddleX's PaddleOCR-VL and PP-StructureV3 pipelines define it."""

    useLayoutDetection: bool | None = None  # noqa: N815 - PaddleX's names
    promptLabel: Literal["ocr", "formula", "table", "chart", "seal", "spotting"] | None = None  # noqa: N815

    @property
    def label(self) -> str:
        """Label of the single block of a page read without layout; empty for a page with layout."""
        return (self.promptLabel or "ocr") if self.useLayoutDetection is False else ""

    def task(self) -> Task:
        """The task of the request. `promptLabel` applies only to pages read without layout.

        Raises:
            InputRejected: "task_unsupported": no engine reads seals.
        """
        if self.label and self.label not in _WHOLE_PAGE:
            raise InputRejected("task_unsupported", f"This service has no engine that reads {self.label!r}.")
        kind = _WHOLE_PAGE[self.label] if self.label else TaskKind.PARSE
        rotated = self.useDocOrientationClassify is not False
        return Task(kind=kind, detect_rotation=rotated, whole_page=bool(self.label))


class LayoutParsing:
    """Parses one request of a PaddleX client."""

    def __init__(self) -> None:
        self._envelope = Envelope()

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        self._envelope.open(received.body.fields)
        request = parse(LayoutParsingRequest, received.body.fields)
        options = parse(OcrOptions, received.body.fields, received.query)
        shape = options.shape(received.accept)
        task = replace(request.task(), images=options.images(shape), invisible=options.invisible)
        found = await received.context.sources.from_text(request.file, received.caller)
        # Keeps only the options, so that the file's base64 is freed before reading.
        shown = ShowPages(_LayoutParsingOutput(self._envelope, request.model_copy(update={"file": ""})))
        order = ReadRequest(found, options.read_options(task), shape, shown, coordinates=options.coordinates)
        return replace(order, marks=bool(options.marks))

    def problem(self, problem: Problem) -> Response:
        return self._envelope.problem(problem)


@dataclass(frozen=True, slots=True)
class _LayoutParsingOutput:
    envelope: Envelope
    request: LayoutParsingRequest

    def page(self, page: PageResult, about: AboutDocument) -> dict[str, Any]:
        page_count = about.page_count if about.mime_type == "application/pdf" else None
        return {
            "prunedResult": self._pruned(page, page_count),
            "markdown": {"text": _markdown(page), "images": _images(page)},
            "outputImages": None,
            "inputImage": None,
        }

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> dict[str, Any]:
        return self.envelope.success({"layoutParsingResults": pages, "dataInfo": data_info(result)})

    def _pruned(self, page: PageResult, page_count: int | None) -> dict[str, Any]:
        oriented = self.request.useDocOrientationClassify is not False
        pruned = {
            "page_count": page_count,
            "width": page.width,
            "height": page.height,
            "model_settings": {
                "use_doc_preprocessor": oriented,
                "use_doc_orientation_classify": oriented,
                "use_doc_unwarping": False,
                "use_layout_detection": not self.request.label,
            },
            "parsing_res_list": _blocks(page) if page.blocks else self._whole(page),
        }
        if page.error is not None:
            pruned["error"] = page_to_dict(page)["error"]
        return pruned

    def _whole(self, page: PageResult) -> list[dict[str, Any]]:
        """The page as one block, if it has no blocks."""
        content = _markdown(page)
        if not content:
            return []
        box = [0, 0, page.width, page.height]
        label = self.request.label or "text"
        return [{"block_label": label, "block_content": content, "block_bbox": box, "block_id": 0, "block_order": 1}]


def _blocks(page: PageResult) -> list[dict[str, Any]]:
    shown = []
    order = 0
    titled = False
    for number, block in enumerate(block for block in page.blocks or () if block.type in _LABELS):
        ordered = block.type not in _UNORDERED
        order += ordered
        # PaddleX has one document title, and paragraph titles.
        first_title = block.type is BlockType.TITLE and block.level == 1 and not titled
        titled = titled or first_title
        shown.append(
            {
                "block_label": "doc_title" if first_title else _LABELS[block.type],
                "block_content": encodable(_content(block)),
                "block_bbox": [round(side) for side in block.box],
                "block_id": number,
                "block_order": order if ordered else None,
            }
        )
    return shown


def _content(block: Block) -> str:
    """The block's content in PaddleX's form: tables as HTML, everything else without Markdown syntax."""
    if block.type is BlockType.TABLE:
        return pipe_table_to_html(block.markdown)
    if block.stamp is not None:
        return block.stamp.text
    return block.markdown if block.type in _AS_MARKDOWN else block.text


def _images(page: PageResult) -> dict[str, str]:
    """Base64 by the path to which the Markdown links."""
    return {f"{IMAGE_FOLDER}/{image.name}": image.base64 for image in images_on(page)}


def _markdown(page: PageResult) -> str:
    return encodable(page.text if page.markdown is None else page.markdown)


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
