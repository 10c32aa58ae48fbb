"""docling-serve's API. A document is read within its request, as by `/ocr`, or by a task: submit, poll, get the result.
Tasks are jobs of `/v1/jobs`. Open WebUI's engine *Docling* calls the first.

Differences: one document a request; the result has `md_content` and `text_content`, whatever `to_formats` says, and
`json_content` if it says so; options of docling's models are accepted and ignored; results are in the response only
(`target`); tokens of chunks are estimated. Errors are problem documents, whose `detail` is a string, as docling's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from secrets import token_hex
from time import perf_counter
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.docling_chunks import PagewiseDoclingChunks
from inkgate.api.docling_document import PAGES, docling_document, pagewise_docling
from inkgate.api.docling_requests import (
    SHOWN,
    Chunker,
    DoclingChunkOptions,
    DoclingOptions,
    options_of_form,
    request_of_json,
)
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, JOB, RESULT, STREAM, costs
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem, json_error, problem_with_remedy
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Native
from inkgate.api.http.sources import DEFAULT_NAME, document
from inkgate.api.http.uploads import FormPart, UploadedBody, clean_name
from inkgate.api.jobs.pagewise import PagewiseElements, PagewiseMarkdown, PagewiseText, document_of
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, file_schema, form_of
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader, filled_json
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobSource, JobState, NewJob
from inkgate.service.reader import CheckedOptions
from inkgate_client.formats import Format, render
from inkgate_client.types import Document, DocumentResult, DocumentStatus

_STATUSES = {
    JobState.QUEUED: "pending",
    JobState.RUNNING: "started",
    JobState.CANCELLING: "started",
    JobState.SUCCEEDED: "success",
    JobState.PARTIAL: "success",
    JobState.FAILED: "failure",
    JobState.QUARANTINED: "failure",
    JobState.CANCELLED: "failure",
}
_LONGEST_WAIT_S = 60.0


class DoclingTask(BaseModel):
    """A task."""

    task_id: str
    task_type: str = "convert"
    task_status: Literal["pending", "started", "success", "failure"]
    task_position: int | None = Field(description="Tasks before it.")
    task_meta: dict[str, int] | None = None
    error_message: str | None = Field(default=None, description="Why it failed.")


class DoclingDocument(BaseModel):
    """The document that was read."""

    filename: str
    md_content: str | None = None
    json_content: dict[str, Any] | None = Field(default=None, description="A `DoclingDocument` of docling-core.")
    html_content: str | None = None
    text_content: str | None = None
    doctags_content: str | None = None


class DoclingResult(BaseModel):
    """The result of a task or a conversion."""

    document: DoclingDocument
    status: Literal["success", "partial_success", "failure"]
    errors: list[dict[str, str]]
    processing_time: float = Field(description="Seconds.")
    timings: dict[str, Any]


class DoclingChunk(BaseModel):
    """A chunk."""

    filename: str
    chunk_index: int
    text: str
    raw_text: str | None = None
    num_tokens: int | None = None
    headings: list[str] | None = None
    captions: list[str] | None = None
    doc_items: list[str] = Field(description="References of texts, tables and pictures of the `DoclingDocument`.")
    page_numbers: list[int] | None = None
    metadata: dict[str, Any] | None = None


class DoclingExport(BaseModel):
    """A document that was divided."""

    kind: str = "ExportResult"
    content: DoclingDocument
    status: Literal["success", "partial_success", "failure"]
    errors: list[dict[str, str]]
    timings: dict[str, Any]


class DoclingChunks(BaseModel):
    """The chunks of a document."""

    chunks: list[DoclingChunk]
    documents: list[DoclingExport]
    processing_time: float = Field(description="Seconds.")


def _file_of(body: UploadedBody) -> FormPart:
    """The file of a form."""
    part = body.files.get("files")
    if part is None:
        raise InputRejected("file_missing", "The form has no part `files` with a filename.")
    return part


async def _from_form(received: ReceivedJob, chunker: Chunker | None = None) -> JobDraft:
    part = _file_of(received.body)
    found = checked(document(part.data, part.filename))
    options = options_of_form({**received.body.fields, **received.body.repeated}, chunker)
    return _draft(received, options, JobSource(), found.data, found.name)


async def _from_json(received: ReceivedJob, chunker: Chunker | None = None) -> JobDraft:
    options, source = request_of_json(received.body.fields, chunker)
    if source.url is not None:
        place, data, name = await received.from_url(source.url, source.filename or "document")
        return _draft(received, options, place, data, name)
    if source.base64_string is None:
        raise InputRejected("file_missing", "The source has neither `url` nor `base64_string`.")
    text = source.base64_string
    data = await received.context.sources.decoded(text, received.caller)
    found = checked(document(data, clean_name(source.filename or "")))
    return _draft(received, options, JobSource(), found.data, found.name)


def _draft(
    received: ReceivedJob, options: DoclingOptions, source: JobSource, data: bytes | None, name: str
) -> JobDraft:
    job = NewJob(received.tenant, source, name, options.job_options(), priority=received.priority(), key=received.key)
    return JobDraft(job, data)


async def _task(call: JobCall, job: Job) -> Response:
    forecast = await call.forecast(job)
    task = DoclingTask(
        task_id=job.id,
        task_type="chunk" if form_of(DoclingChunkOptions, job).chunker else "convert",
        task_status=_STATUSES[job.state],
        task_position=forecast.ahead + 1 if forecast and job.state is JobState.QUEUED else None,
        error_message=job.failure.detail if job.failure else None,
    )
    return json_response(task.model_dump())


router = APIRouter(prefix="/v1", tags=["docling"], responses=PROBLEM_RESPONSES)

TaskId = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]
_FILE: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["files"],
                "properties": {
                    "files": file_schema(),
                    "to_formats": {"type": "string", "enum": sorted(SHOWN)},
                    "force_ocr": {"type": "string", "enum": ["true", "false"]},
                },
            }
        }
    },
}
_SOURCE: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DoclingRequest"}}},
}
_REFUSED = problems(400, 403, 404, 408, 413, 415, 422, 501)


@router.post(
    "/convert/file/async",
    operation_id="docling_convert_file",
    summary="docling-serve: add a file",
    response_model=DoclingTask,
    responses=_REFUSED,
    openapi_extra={"requestBody": _FILE},
)
@costs(JOB)
async def convert_file(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    return await _task(call, (await submit(call, _from_form)).job)


@router.post(
    "/convert/source/async",
    operation_id="docling_convert_source",
    summary="docling-serve: add a source",
    response_model=DoclingTask,
    responses=_REFUSED,
    openapi_extra={"requestBody": _SOURCE},
)
@costs(JOB)
async def convert_source(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    return await _task(call, (await submit(call, _from_json)).job)


@router.get(
    "/status/poll/{task_id}",
    operation_id="docling_poll",
    summary="docling-serve: poll a task",
    response_model=DoclingTask,
    responses=problems(404, 410, 422, 501),
)
@costs(STREAM)
async def poll(
    request: Request,
    task_id: TaskId,
    wait: Annotated[float, Query(ge=0, description="Seconds to wait for its end, at most 60.")] = 0.0,
) -> Response:
    """State of a task."""
    call = job_call(request)
    job = await call.job(task_id)
    if wait and not job.state.ended:
        with call.watches.stream(call.tenant):
            job = await call.watches.until_ended(job, min(wait, _LONGEST_WAIT_S))
    return await _task(call, job)


@router.get(
    "/result/{task_id}",
    operation_id="docling_result",
    summary="docling-serve: get the result of a task",
    response_model=DoclingResult | DoclingChunks,
    responses=problems(404, 409, 410, 422, 501),
)
@costs(RESULT)
async def result(request: Request, task_id: TaskId) -> Response:
    """The result of a task that has ended, also of one that failed."""
    call = job_call(request)
    job = await call.job(task_id)
    error = error_of(job)
    if error is not None and not job.state.ended:
        raise error
    pages = f"{job.failed} pages could not be read." if job.failed else ""
    status = "partial_success" if job.state is JobState.PARTIAL else "success"
    answer = DoclingResult(
        document=DoclingDocument(filename=job.name),
        status="failure" if error else status,
        errors=_errors(error.detail if error else pages),
        processing_time=round((job.ended or 0.0) - (job.started or job.ended or 0.0), 3),
        timings={},
    )
    options = form_of(DoclingChunkOptions, job)
    if error is not None:
        return json_response((_with_chunks(answer) if options.chunker else answer).model_dump())
    pieces = _chunk_pieces if options.chunker else _pieces
    return PiecewiseResponse(
        call, "application/json", lambda permit: pieces(answer, options, ResultReader(call, job, permit))
    )


def _pieces(answer: DoclingResult, options: DoclingOptions, reader: ResultReader) -> AsyncGenerator[bytes]:
    """The result with the texts of the document."""
    answer.document.md_content, answer.document.text_content = markdown, text = token_hex(16), token_hex(16)
    parts = {markdown: reader.json_text(PagewiseMarkdown(page_break=options.md_page_break_placeholder))}
    if options.shows_json:
        parts |= _json_pieces(answer, reader)
    parts[text] = reader.json_text(PagewiseText())
    return filled_json(answer.model_dump(), parts)


def _json_pieces(answer: DoclingResult, reader: ResultReader) -> dict[str, AsyncGenerator[bytes]]:
    """Puts docling's document with marks into the result, and returns what the marks stand for."""
    found = document_of(reader.job, ())
    shown, made = pagewise_docling(reader.job.name, found.mime_type, found.byte_count)
    answer.document.json_content = shown
    brackets = {shown[PAGES]: ("{", "}")}
    return {token: reader.rendered(PagewiseElements(part, *brackets.get(token, ()))) for token, part in made.items()}


def _chunk_pieces(answer: DoclingResult, options: DoclingChunkOptions, reader: ResultReader) -> AsyncGenerator[bytes]:
    """The result with chunks."""
    chunks = token_hex(16)
    parts = {chunks: reader.rendered(PagewiseDoclingChunks(reader.job.name, options))}
    parts |= _json_pieces(answer, reader) if options.shows_json else {}
    return filled_json(_with_chunks(answer).model_dump() | {"chunks": chunks}, parts)


def _with_chunks(answer: DoclingResult) -> DoclingChunks:
    """The result of a request for chunks, without these."""
    document = DoclingExport(
        content=answer.document, status=answer.status, errors=answer.errors, timings=answer.timings
    )
    return DoclingChunks(chunks=[], documents=[document], processing_time=answer.processing_time)


def _errors(message: str) -> list[dict[str, str]]:
    """The errors of a result; none if `message` is empty."""
    if not message:
        return []
    return [{"component_type": "document_backend", "module_name": "inkgate", "error_message": message}]


# -- within the request


class DoclingFile:
    """A form with a part `files`, and the options as fields."""

    def __init__(self, chunker: Chunker | None = None) -> None:
        self._chunker = chunker

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        part = _file_of(received.body)
        options = options_of_form({**received.body.fields, **received.body.repeated}, self._chunker)
        return _read_request(options, document(part.data, part.filename))

    def problem(self, problem: Problem) -> Response:
        return json_error(problem, problem_with_remedy(problem))


class DoclingJson:
    """JSON with one source: a URL, or a file as base64."""

    def __init__(self, chunker: Chunker | None = None) -> None:
        self._chunker = chunker

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        options, source = request_of_json(received.body.fields, self._chunker)
        name = clean_name(source.filename or "") or DEFAULT_NAME
        if source.url is not None:
            return _read_request(options, await received.context.sources.from_url(source.url, received.caller, name))
        if source.base64_string is None:
            raise InputRejected("file_missing", "The source has neither `url` nor `base64_string`.")
        text = source.base64_string
        data = await received.context.sources.decoded(text, received.caller)
        return _read_request(options, document(data, name))

    def problem(self, problem: Problem) -> Response:
        return json_error(problem, problem_with_remedy(problem))


def _read_request(options: DoclingOptions, found: Document) -> ReadRequest:
    requested = options.job_options()
    how = CheckedOptions(requested.task, select(requested.pages or None, first=1), requested.pdf_text)
    answer = partial(_answer, found.name, options, perf_counter())
    return ReadRequest(found, how, Native.FORM, answer)


def _answer(name: str, options: DoclingOptions, begun: float, result: DocumentResult) -> dict[str, Any]:
    failed = sum(page.error is not None for page in result.pages)
    chunker = options if isinstance(options, DoclingChunkOptions) else None
    markdown = PagewiseMarkdown(page_break=options.md_page_break_placeholder)
    shown = DoclingDocument(filename=name, json_content=docling_document(name, result) if options.shows_json else None)
    if chunker is None:
        shown.md_content = (b"".join(map(markdown.page, result.pages)) + markdown.end()).decode()
        shown.text_content = render(result, Format.TEXT).decode()
    answer = DoclingResult(
        document=shown,
        status="success" if result.status is DocumentStatus.COMPLETE else "partial_success",
        errors=_errors(f"{failed} pages could not be read." if failed else ""),
        processing_time=round(perf_counter() - begun, 3),
        timings={},
    )
    if chunker is None:
        return answer.model_dump()
    chunks = PagewiseDoclingChunks(name, chunker)
    array = b"".join([chunks.begin(), *map(chunks.page, result.pages), chunks.end()])
    return _with_chunks(answer).model_dump() | {"chunks": orjson.Fragment(array)}


_REFUSED_NOW = problems(400, 403, 404, 408, 413, 415, 422, 502, 504)


@router.post(
    "/convert/file",
    operation_id="docling_file_now",
    summary="docling-serve: convert a file",
    response_model=DoclingResult,
    responses=_REFUSED_NOW,
    openapi_extra={"requestBody": _FILE},
)
@costs(DOCUMENT)
async def convert_file_now(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), lambda _: DoclingFile())


@router.post(
    "/convert/source",
    operation_id="docling_source_now",
    summary="docling-serve: convert a source",
    response_model=DoclingResult,
    responses=_REFUSED_NOW,
    openapi_extra={"requestBody": _SOURCE},
)
@costs(DOCUMENT)
async def convert_source_now(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), lambda _: DoclingJson())


# -- chunks

_CHUNK_SOURCE: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DoclingChunkRequest"}}},
}


@router.post(
    "/chunk/{chunker}/file",
    operation_id="docling_file_chunks",
    summary="docling-serve: chunk a file",
    response_model=DoclingChunks,
    responses=_REFUSED_NOW,
    openapi_extra={"requestBody": _FILE},
)
@costs(DOCUMENT)
async def chunk_file_now(request: Request, chunker: Chunker) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), lambda _: DoclingFile(chunker))


@router.post(
    "/chunk/{chunker}/source",
    operation_id="docling_source_chunks",
    summary="docling-serve: chunk a source",
    response_model=DoclingChunks,
    responses=_REFUSED_NOW,
    openapi_extra={"requestBody": _CHUNK_SOURCE},
)
@costs(DOCUMENT)
async def chunk_source_now(request: Request, chunker: Chunker) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), lambda _: DoclingJson(chunker))


@router.post(
    "/chunk/{chunker}/file/async",
    operation_id="docling_chunk_file",
    summary="docling-serve: add a file to chunk",
    response_model=DoclingTask,
    responses=_REFUSED,
    openapi_extra={"requestBody": _FILE},
)
@costs(JOB)
async def chunk_file(request: Request, chunker: Chunker) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    return await _task(call, (await submit(call, partial(_from_form, chunker=chunker))).job)


@router.post(
    "/chunk/{chunker}/source/async",
    operation_id="docling_chunk_source",
    summary="docling-serve: add a source to chunk",
    response_model=DoclingTask,
    responses=_REFUSED,
    openapi_extra={"requestBody": _CHUNK_SOURCE},
)
@costs(JOB)
async def chunk_source(request: Request, chunker: Chunker) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    return await _task(call, (await submit(call, partial(_from_json, chunker=chunker))).job)
