"""`POST /ocr`: content type and keys select one of five request forms. Here: the route and the three simple forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, costs
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest, ordered
from inkgate.api.http.errors import Problem
from inkgate.api.http.page_list import PublishedForm, ShowPages
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import FormPart, UploadedBody, receive_document
from inkgate.api.ocr_openapi import OCR_OPERATION
from inkgate.api.paddlex import Paddlex
from inkgate.api.rapidocr import RapidOcrForm
from inkgate.errors import InputRejected
from inkgate_client.formats import Format, render
from inkgate_client.types import Document, DocumentResult


class SimpleJson:
    """`{"image": "<base64>", ...options}`; the response is `{"text": "...", ...the document}`."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        image = received.body.fields["image"]
        if not isinstance(image, str):
            raise InputRejected("options_invalid", "`image` must be a string: base64, or a URL.")
        found = await received.context.sources.from_text(image, received.caller)
        return _simple(received, found, ("text",))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class SimpleMultipart:
    """A part `file`; the response is `{"result": "...", "text": "...", ...the document}`."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        file = received.body.files.get("file")
        if file is not None:
            return _simple(received, document(file.data, file.filename), _TEXT_TWICE)
        text = received.body.fields["file"]
        if not text:
            raise InputRejected("file_missing", "The part `file` is empty and has no filename.")
        return _simple(received, await received.context.sources.from_text(text, received.caller), _TEXT_TWICE)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class RawBody:
    """The body is the document; the query has the options. The response is that of `SimpleJson`."""

    def __init__(self, file: FormPart) -> None:
        self._file = file

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        return _simple(received, document(self._file.data, self._file.filename), ("text",))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _simple(received: ReceivedRequest, found: Document, names: tuple[str, ...]) -> ReadRequest:
    order = ordered(received, found, ShowPages(SimpleForm(names=names)))
    return order if order.coordinates is None else replace(order, show=ShowPages(SimpleForm(order.coordinates, names)))


@dataclass(frozen=True, slots=True)
class SimpleForm(PublishedForm):
    """The document, with its whole text first, by each of `names`."""

    names: tuple[str, ...] = ("text",)

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> Any:  # noqa: ANN401 - see PageListForm
        text = render(result, Format.TEXT).decode()
        return {**dict.fromkeys(self.names, text), **PublishedForm.document(self, result, pages)}


_TEXT_TWICE = ("result", "text")
"""The names under which the text stands in the response, twice for older clients."""

router = APIRouter(tags=["read"])


@router.post("/infer", response_class=Response, **OCR_OPERATION | {"operation_id": "infer", "summary": "As /ocr"})
@router.post("/ocr", response_class=Response, **OCR_OPERATION)
@costs(DOCUMENT)
async def read(request: Request) -> Response:
    """`/infer` is the name that older clients and their dashboards use.

    Takes the raw request, so that admission comes before reading the body.
    """
    return DocumentResponse(context_of(request), find_form, receive_document)


def find_form(body: UploadedBody) -> Form:
    """The form of a body.

    Raises:
        InputRejected: "file_missing", no key holds a file in any form.
    """
    if body.raw is not None:
        return RawBody(body.raw)
    keys = body.fields.keys() | body.files.keys()
    if body.is_form:
        if "file" in keys:
            return SimpleMultipart()
        if keys & {"image_file", "image_data"}:
            return RapidOcrForm()
        raise InputRejected("file_missing", "The form has no part `file`, `image_file` or `image_data`.")
    if "file" in keys:
        return Paddlex()
    if "image" in keys:
        return SimpleJson()
    raise InputRejected("file_missing", "The JSON has no key `image` (or `file`, as PaddleX clients send).")
