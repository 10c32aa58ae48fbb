"""docling-serve's API. A document is read within its request, as by `/ocr`, or by a task: submit, poll, get the result.
Tasks are jobs of `/v1/jobs`. Open WebUI's engine *Docling* calls the first.

Differences: one document a request; the result has `md_content` and `text_content`, whatever `to_formats` says, and
`json_content` if it says so; options of docling's models are accepted and ignored; results are in the response only
(`target`); no chunks. Errors are problem documents, whose `detail` is a string, as docling's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from secrets import token_hex
from time import perf_counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.docling_document import PAGES, docling_document, pagewise_docling
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONTROL, DOCUMENT, JOB, RESULT, STREAM, costs
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem, json_error, problem_with_remedy
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Flag, Native, StopAtFirst, parse
from inkgate.api.http.sources import DEFAULT_NAME, document
from inkgate.api.http.uploads import clean_name
from inkgate.api.jobs.pagewise import PagewiseElements, PagewiseMarkdown, PagewiseText, document_of
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, file_schema, form_of
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader, filled_json
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText
from inkgate_client.formats import Format, render
from inkgate_client.types import Document, DocumentResult, DocumentStatus, Task, TaskKind

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
_JSON = "json"
_SHOWN = frozenset({"md", "text", _JSON})
_IN_RESPONSE = "inbody"
_NO_IMAGES = "placeholder"
_LONGEST_WAIT_S = 60.0


def _listed(value: object) -> object:
    """A form has one text where JSON has a list."""
    return [value] if isinstance(value, str) else value


def _page_range(value: object) -> object:
    """A form may have `1,4` or `[1, 4]`."""
    return [part for part in value.strip("[]").split(",") if part] if isinstance(value, str) else value


_LAST_PAGE = 999_999_999
_PageNumber = Annotated[int, Field(ge=1, le=2**63 - 1)]


class DoclingOptions(BaseModel):
    """The options that are used. docling's others are accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    to_formats: Annotated[
        Annotated[list[str], Field(max_length=20), StopAtFirst()] | None,
        BeforeValidator(_listed),
        Field(description="`md`, `text`, `json`. With `json`, others are ignored."),
    ] = None
    target_type: Annotated[str, Field(max_length=100, description="`inbody`; of forms.")] = _IN_RESPONSE
    page_range: Annotated[
        tuple[_PageNumber, _PageNumber] | None, BeforeValidator(_page_range), Field(description="First and last page.")
    ] = None
    do_ocr: Flag | None = None
    force_ocr: Annotated[Flag | None, Field(description="`true`: ignore the text layer of PDFs.")] = None
    include_images: Flag = True
    image_export_mode: Annotated[
        str, Field(max_length=100, description="`embedded` and `referenced`: images are inside, as `data:` URLs.")
    ] = _NO_IMAGES
    md_page_break_placeholder: Annotated[
        str, Field(max_length=100, description="Text between pages of the Markdown.")
    ] = ""

    def job_options(self) -> JobOptions:
        """How the job reads.

        Raises:
            InputRejected: no format is requested that inkgate makes, the result shall go elsewhere than into the
                response, or the pages are invalid.
        """
        others = ", ".join(f"`{name[:40]}`" for name in self.to_formats or () if name not in _SHOWN)
        if others and not self.shows_json:  # docling's client asks for `json` too, and makes the others of it
            why = (
                f"to_formats: there are only `md`, `text` and `json`, not {others}. Export it from `json` with docling."
            )
            raise InputRejected("options_invalid", why)
        if self.target_type != _IN_RESPONSE:
            # docling's client asks for `presigned_url` first, and for `inbody` if the detail has these words.
            why = f"target: `{self.target_type[:40]}` needs artifact storage to be configured; there is only `inbody`."
            raise InputRejected("options_invalid", why)
        pages = ""
        if self.page_range is not None:
            first, last = self.page_range
            if last < first:
                raise InputRejected("pages_invalid", "`page_range` ends before it starts.")
            pages = f"{min(first, _LAST_PAGE)}-{min(last, _LAST_PAGE)}"
        pdf_text = PdfText.NEVER if self.force_ocr else PdfText.ALWAYS if self.do_ocr is False else None
        images = self.include_images and self.image_export_mode != _NO_IMAGES
        task = Task(kind=TaskKind.PARSE, images=images)
        form = self.model_dump_json(include={"to_formats", "md_page_break_placeholder"})  # what the result depends on
        return JobOptions(task, pages, pdf_text, form=form)

    @property
    def shows_json(self) -> bool:
        """Whether the result has `json_content`."""
        return _JSON in (self.to_formats or ())


class DoclingSource(BaseModel):
    """A document: a URL, or a file as base64."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["http", "file"] | None = None
    url: str | None = None
    base64_string: str | None = None
    filename: Annotated[str, Field(max_length=1000)] | None = None


class DoclingTarget(BaseModel):
    """Where the result goes."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Annotated[str, Field(max_length=100, description="`inbody`.")] = _IN_RESPONSE


_Sources = Annotated[list[DoclingSource], Field(max_length=100), StopAtFirst()] | None


class DoclingRequest(BaseModel):
    """`/v1/convert/source` and `/v1/convert/source/async`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    options: DoclingOptions | None = None
    sources: Annotated[_Sources, Field(description="One.")] = None
    http_sources: Annotated[_Sources, Field(description="As `sources`, by older clients.")] = None
    file_sources: Annotated[_Sources, Field(description="As `sources`, by older clients.")] = None
    target: DoclingTarget | None = None

    def all_options(self) -> DoclingOptions:
        """The options, with the target."""
        options = self.options or DoclingOptions()
        return options if self.target is None else options.model_copy(update={"target_type": self.target.kind})

    def source(self) -> DoclingSource:
        """The only source. Raises InputRejected if there is none, or several."""
        found: list[DoclingSource] = [*(self.sources or ()), *(self.http_sources or ()), *(self.file_sources or ())]
        if not found:
            raise InputRejected("file_missing", "The request has no `sources`.")
        if len(found) > 1:
            raise InputRejected("options_invalid", "sources: send one document.")
        return found[0]


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


async def _from_form(received: ReceivedJob) -> JobDraft:
    part = received.body.files.get("files")
    if part is None:
        raise InputRejected("file_missing", "The form has no part `files` with a filename.")
    found = checked(document(part.data, part.filename))
    options = parse(DoclingOptions, {**received.body.fields, **received.body.repeated})
    return _draft(received, options, JobSource(), found.data, found.name)


async def _from_json(received: ReceivedJob) -> JobDraft:
    requested = parse(DoclingRequest, received.body.fields)
    options, source = requested.all_options(), requested.source()
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
                    "to_formats": {"type": "string", "enum": sorted(_SHOWN)},
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
    response_model=DoclingResult,
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
    if error is not None:
        return json_response(answer.model_dump())
    return PiecewiseResponse(call, "application/json", lambda permit: _pieces(answer, ResultReader(call, job, permit)))


def _pieces(answer: DoclingResult, reader: ResultReader) -> AsyncGenerator[bytes]:
    """The result with the texts of the document."""
    answer.document.md_content, answer.document.text_content = markdown, text = token_hex(16), token_hex(16)
    job = reader.job
    options = form_of(DoclingOptions, job)
    parts = {markdown: reader.json_text(PagewiseMarkdown(page_break=options.md_page_break_placeholder))}
    if options.shows_json:
        found = document_of(job, ())
        shown, made = pagewise_docling(job.name, found.mime_type, found.byte_count)
        answer.document.json_content = shown
        brackets = {shown[PAGES]: ("{", "}")}
        parts |= {
            token: reader.rendered(PagewiseElements(part, *brackets.get(token, ()))) for token, part in made.items()
        }
    parts[text] = reader.json_text(PagewiseText())
    return filled_json(answer.model_dump(), parts)


def _errors(message: str) -> list[dict[str, str]]:
    """The errors of a result; none if `message` is empty."""
    if not message:
        return []
    return [{"component_type": "document_backend", "module_name": "inkgate", "error_message": message}]


# -- within the request


class DoclingFile:
    """A form with a part `files`, and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        part = received.body.files.get("files")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `files` with a filename.")
        options = parse(DoclingOptions, {**received.body.fields, **received.body.repeated})
        return _read_request(options, document(part.data, part.filename))

    def problem(self, problem: Problem) -> Response:
        return json_error(problem, problem_with_remedy(problem))


class DoclingSources:
    """JSON with one source: a URL, or a file as base64."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        request = parse(DoclingRequest, received.body.fields)
        options, source = request.all_options(), request.source()
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
    markdown = PagewiseMarkdown(page_break=options.md_page_break_placeholder)
    return DoclingResult(
        document=DoclingDocument(
            filename=name,
            md_content=(b"".join(map(markdown.page, result.pages)) + markdown.end()).decode(),
            json_content=docling_document(name, result) if options.shows_json else None,
            text_content=render(result, Format.TEXT).decode(),
        ),
        status="success" if result.status is DocumentStatus.COMPLETE else "partial_success",
        errors=_errors(f"{failed} pages could not be read." if failed else ""),
        processing_time=round(perf_counter() - begun, 3),
        timings={},
    ).model_dump()


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
    return DocumentResponse(context_of(request), lambda _: DoclingSources())


@router.post("/chunk/{path:path}", include_in_schema=False)
@costs(CONTROL)
async def chunk(path: str) -> Response:
    """Raises InputRejected("route_unknown"), whose detail says what to call. Clients retry 501."""
    why = f"There are no chunks (/v1/chunk/{path}). Convert to `json`, and split that with docling's HybridChunker."
    raise InputRejected("route_unknown", why[:500])
