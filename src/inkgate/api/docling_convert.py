"""The synchronous API of docling-serve: a document is read within its request, as by `/ocr`.

Open WebUI's engine *Docling* calls it. Differences from docling-serve: as in docling.py, and no zip (`target`).
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.docling import (
    CONVERT_FILE,
    CONVERT_SOURCE,
    DoclingDocument,
    DoclingOptions,
    DoclingRequest,
    DoclingResult,
    docling_errors,
)
from inkgate.api.http.context import context_of
from inkgate.api.http.decoding import decode_base64
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Native, parse
from inkgate.api.http.sources import DEFAULT_NAME, document
from inkgate.api.http.uploads import UploadedBody, clean_name
from inkgate.documents.formats import Format, render
from inkgate.documents.formats.markdown import page_markdown
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.reader import ReadOptions
from inkgate.types import Document, DocumentResult, DocumentStatus


class DoclingFile:
    """A form with a part `files`, and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        part = received.body.files.get("files")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `files` with a filename.")
        options = parse(DoclingOptions, {**received.body.fields, **received.body.repeated})
        return _read_request(options, document(part.data, part.filename))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


class DoclingSources:
    """JSON with one source: a URL, or a file as base64."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        asked = parse(DoclingRequest, received.body.fields)
        options, source = asked.options or DoclingOptions(), asked.source()
        name = clean_name(source.filename or "") or DEFAULT_NAME
        if source.url is not None:
            return _read_request(options, await received.context.sources.from_url(source.url, received.caller, name))
        if source.base64_string is None:
            raise InputRejected("file_missing", "The source has neither `url` nor `base64_string`.")
        text = source.base64_string
        data = await received.context.bodies.run(len(text), decode_base64, text)
        return _read_request(options, document(data, name))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _read_request(options: DoclingOptions, found: Document) -> ReadRequest:
    wanted = options.job_options()
    how = ReadOptions(wanted.task, select(wanted.pages or None, first=1), wanted.pdf_text)
    answer = partial(_answer, found.name, options.md_page_break_placeholder, perf_counter())
    return ReadRequest(found, how, Native.FORM, answer)


def _answer(name: str, page_break: str, begun: float, result: DocumentResult) -> dict[str, Any]:
    failed = sum(page.error is not None for page in result.pages)
    return DoclingResult(
        document=DoclingDocument(
            filename=name,
            md_content=_markdown(result, page_break),
            text_content=render(result, Format.TEXT).decode(),
        ),
        status="success" if result.status is DocumentStatus.COMPLETE else "partial_success",
        errors=docling_errors(f"{failed} pages could not be read." if failed else ""),
        processing_time=round(perf_counter() - begun, 3),
        timings={},
    ).model_dump()


def _markdown(result: DocumentResult, page_break: str) -> str:
    """The Markdown, with `page_break` between pages if it isn't empty. A blank page has its break too, so that clients
    can count pages.
    """
    if not page_break:
        return render(result, Format.MARKDOWN).decode()
    return f"\n\n{page_break}\n\n".join(page_markdown(page) for page in result.pages)


router = APIRouter(prefix="/v1", tags=["docling"], responses=PROBLEM_RESPONSES)

_REFUSED = problems(400, 403, 404, 408, 413, 415, 422, 502, 504)


@router.post(
    "/convert/file",
    operation_id="docling_file_now",
    summary="docling-serve: convert a file",
    response_model=DoclingResult,
    responses=_REFUSED,
    openapi_extra={"requestBody": CONVERT_FILE},
)
async def convert_file(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form_of_file)


@router.post(
    "/convert/source",
    operation_id="docling_source_now",
    summary="docling-serve: convert a source",
    response_model=DoclingResult,
    responses=_REFUSED,
    openapi_extra={"requestBody": CONVERT_SOURCE},
)
async def convert_source(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form_of_sources)


def _form_of_file(_: UploadedBody) -> Form:
    return DoclingFile()


def _form_of_sources(_: UploadedBody) -> Form:
    return DoclingSources()
