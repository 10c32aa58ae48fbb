"""The simple forms of `POST /ocr`: JSON `{"image": "<base64>"}`, and a multipart part `file`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from inkgate.api.document_response import ReadRequest, ReceivedRequest
from inkgate.api.errors import Problem
from inkgate.api.options import OcrOptions, parse
from inkgate.api.sources import document
from inkgate.codec import document_to_dict
from inkgate.coordinates import Coordinates
from inkgate.documents.formats import Format, render
from inkgate.errors import InputRejected
from inkgate.types import Document, DocumentResult, Task


class SimpleJson:
    """`{"image": "<base64>", ...options}`; the response is `{"text": "...", ...the document}`."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        image = received.body.fields["image"]
        if not isinstance(image, str):
            raise InputRejected("options_invalid", "`image` must be a string: base64, or a URL.")
        found = await received.context.sources.from_text(image, received.caller)
        return _simple(received, found, simple_json)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class SimpleMultipart:
    """A part `file`; the response is `{"result": "...", "text": "...", ...the document}`."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        file = received.body.files.get("file")
        if file is not None:
            return _simple(received, document(file.data, file.filename), simple_multipart)
        text = received.body.fields["file"]
        if not text:
            raise InputRejected("file_missing", "The part `file` is empty and has no filename.")
        return _simple(received, await received.context.sources.from_text(text, received.caller), simple_multipart)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def ordered(received: ReceivedRequest, found: Document, show: Callable[[DocumentResult], Any]) -> ReadRequest:
    """The order for `found` with the options that all forms share."""
    options = parse(OcrOptions, received.body.fields, received.query)
    shape = options.shape(received.accept)
    task = Task(kind=options.task_kind(shape), fields=options.field_names(), language=options.language)
    return ReadRequest(found, options.read_options(task), shape, show, coordinates=options.coordinates)


def _simple(
    received: ReceivedRequest, found: Document, show: Callable[[Coordinates, DocumentResult], Any]
) -> ReadRequest:
    order = ordered(received, found, partial(show, Coordinates.UPRIGHT))
    return order if order.coordinates is None else replace(order, show=partial(show, order.coordinates))


def simple_json(coordinates: Coordinates, result: DocumentResult) -> dict[str, Any]:
    """The document, with its whole text first."""
    return {"text": render(result, Format.TEXT).decode(), **document_to_dict(result, coordinates)}


def simple_multipart(coordinates: Coordinates, result: DocumentResult) -> dict[str, Any]:
    """As `simple_json`, with the text also as `result`, for older clients."""
    answer = simple_json(coordinates, result)
    return {"result": answer["text"], **answer}
