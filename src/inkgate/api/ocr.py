"""`POST /ocr`: content type and keys select one of five request forms. Here: the route and the three simple forms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, costs
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest, ordered
from inkgate.api.http.errors import Problem
from inkgate.api.http.options import OcrOptions, check_names
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
        _check_names(received, "image")
        image = received.body.fields["image"]
        if not isinstance(image, str):
            raise InputRejected("options_invalid", "`image` must be a string: base64, or a URL.")
        found = await received.context.sources.from_text(image, received.caller)
        return _simple(received, found)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class SimpleMultipart:
    """A part `file`; the response is that of `SimpleJson`, with the text by each of `names`."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        _check_names(received, "file")
        file = received.body.files.get("file")
        if file is not None:
            return _simple(received, document(file.data, file.filename), self._names)
        text = received.body.fields["file"]
        if not text:
            raise InputRejected("file_missing", "The part `file` is empty and has no filename.")
        return _simple(received, await received.context.sources.from_text(text, received.caller), self._names)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class RawBody:
    """The body is the document; the query has the options. The response is that of `SimpleJson`."""

    def __init__(self, file: FormPart) -> None:
        self._file = file

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        _check_names(received)
        return _simple(received, document(self._file.data, self._file.filename))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _check_names(received: ReceivedRequest, *document: str) -> None:
    check_names(OcrOptions, received.body.names, received.query, document)


def _simple(received: ReceivedRequest, found: Document, names: tuple[str, ...] = ("text",)) -> ReadRequest:
    order = ordered(received, found, ShowPages(SimpleForm(names=names)))
    return order if order.coordinates is None else replace(order, show=ShowPages(SimpleForm(order.coordinates, names)))


@dataclass(frozen=True, slots=True)
class SimpleForm(PublishedForm):
    """The document, with its whole text first, by each of `names`."""

    names: tuple[str, ...] = ("text",)

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> Any:  # noqa: ANN401 - see PageListForm
        text = render(result, Format.TEXT).decode()
        return {**dict.fromkeys(self.names, text), **PublishedForm.document(self, result, pages)}


router = APIRouter(tags=["read"])


@router.post("/ocr", response_class=Response, **OCR_OPERATION)
@costs(DOCUMENT)
async def read(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), find_form, receive_document)


@router.post("/infer", response_class=Response, **OCR_OPERATION | {"operation_id": "infer", "summary": "As /ocr"})
@costs(DOCUMENT)
async def infer(request: Request) -> Response:
    """The name that older clients and their dashboards use. They expect the text of a form's file as `result`."""
    return DocumentResponse(context_of(request), partial(find_form, names=("result", "text")), receive_document)


def find_form(body: UploadedBody, names: tuple[str, ...] = ("text",)) -> Form:
    """The form of a body. `names`: of the text in the response to a form with a `file`.

    Raises:
        InputRejected: "file_missing", no key holds a file in any form.
    """
    if body.raw is not None:
        return RawBody(body.raw)
    keys = body.fields.keys() | body.files.keys()
    if body.is_form:
        if "file" in keys:
            return SimpleMultipart(names)
        if keys & {"image_file", "image_data"}:
            return RapidOcrForm()
        raise InputRejected("file_missing", f"The form has no part `file`{_instead(keys)}.")
    if "file" in keys:
        return Paddlex()
    if "image" in keys:
        return SimpleJson()
    detail = f"The JSON has no key `image`{_instead(keys)}. It has base64, or a URL that the service may fetch."
    raise InputRejected("file_missing", detail)


def _instead(keys: Collection[str]) -> str:
    """What the body has in the document's place, such as a part with another name."""
    names = [name for name in keys - OcrOptions.model_fields.keys() if len(name) <= 40 and name.isidentifier()]
    return f", but `{min(names)}`" if names else ""
