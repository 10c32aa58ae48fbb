"""A wire format outside of inkgate: `POST /parse/image`, for clients of OCR.space.

INKGATE_SERVER__FORMATS='["ocr_space:router"]' PYTHONPATH=examples/extending inkgate serve
curl -F file=@scan.png http://127.0.0.1:7860/parse/image
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.options import Native
from inkgate.errors import InputRejected
from inkgate.service.reader import CheckedOptions
from inkgate_client.types import Document, DocumentResult

router = APIRouter(tags=["read"])


@router.post("/parse/image", response_class=Response)
async def parse_image(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), lambda _: ParseImage())


class ParseImage:
    """A Form: parses requests, and formats results and errors."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        file = received.body.files.get("file")
        if file is None:
            raise InputRejected("file_missing", "The form has no part `file`.")
        return ReadRequest(Document(file.data, file.filename or "file"), CheckedOptions(), Native.FORM, parsed)

    def problem(self, problem: Problem) -> Response:
        return JSONResponse({"IsErroredOnProcessing": True, "ErrorMessage": [problem.detail]}, problem.status)


def parsed(result: DocumentResult) -> dict[str, Any]:
    pages = [{"ParsedText": page.text, "FileParseExitCode": 1 if page.error is None else -10} for page in result.pages]
    return {"ParsedResults": pages, "IsErroredOnProcessing": False}
