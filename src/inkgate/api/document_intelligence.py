"""Azure AI Document Intelligence: analyze, poll, get the text and a searchable PDF. Analyses are jobs of `/v1/jobs`.

paperless-ngx's remote OCR and Open WebUI call it. Differences from Azure: the models `prebuilt-read` and
`prebuilt-layout` only; results have lines and words, but no paragraphs, tables or styles of their own (the Markdown of
`prebuilt-layout` has tables); lengths are in pixels, also of PDFs; words only in text; spans
count characters, whatever `stringIndexType` says. Errors are problem documents, whose `code` Azure's clients show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http import uploads
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import JOB, RESULT, WRITTEN, costs
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import parse
from inkgate.api.http.sources import document
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, pages_text
from inkgate.api.jobs.results import JobResult, ResultForm, ResultReader
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.coordinates import Coordinates
from inkgate.documents.formats.areas import LineArea, page_in
from inkgate.documents.formats.markdown import page_markdown
from inkgate.documents.formats.text import printable
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.format_names import FileFormat
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate.types import PageResult, Task, TaskKind

Json = dict[str, Any]

_VERSION = "2024-11-30"
_TASKS = {"prebuilt-read": TaskKind.TEXT, "prebuilt-layout": TaskKind.PARSE}
_STATUSES = {
    JobState.QUEUED: "notStarted",
    JobState.RUNNING: "running",
    JobState.CANCELLING: "running",
    JobState.SUCCEEDED: "succeeded",
    JobState.PARTIAL: "succeeded",
    JobState.FAILED: "failed",
    JobState.QUARANTINED: "failed",
    JobState.CANCELLED: "failed",
}
_MARKDOWN = ".md"
"""An ID that ends with it stands for Markdown content, so that the store needs no field for it."""
_PAGE_BREAK = "\n\n<!-- PageBreak -->\n\n"
_POLL_S = "1"


class AnalyzeOptions(BaseModel):
    """The query. Azure's other options are accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pages: Annotated[str, Field(max_length=10_000, description="From 1: `1-3,5`.")] = ""
    output_content_format: Annotated[Literal["text", "markdown"], Field(alias="outputContentFormat")] = "text"


class AnalyzeRequest(BaseModel):
    """A document as base64, or its URL."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    base64_source: Annotated[str | None, Field(alias="base64Source", repr=False)] = None
    url_source: Annotated[str | None, Field(alias="urlSource", repr=False)] = None


class AnalyzeOperation(BaseModel):
    """The state of an analysis, with its result once it has succeeded."""

    status: Literal["notStarted", "running", "succeeded", "failed"]
    createdDateTime: str  # noqa: N815 - Azure's names
    lastUpdatedDateTime: str  # noqa: N815
    error: dict[str, str] | None = None
    analyzeResult: Json | None = None  # noqa: N815


class AnalyzedPages:
    """Collects what Azure's result has of each page, as JSON, which needs a fifth of the memory of its objects;
    `content` of the whole document.
    """

    is_document = True

    def __init__(self, *, markdown: bool) -> None:
        self.pages: list[orjson.Fragment] = []
        self._markdown = markdown
        self._parts: list[str] = []
        self._length = 0

    @property
    def content(self) -> str:
        return "".join(self._parts)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        if self.pages:
            self._add(_PAGE_BREAK if self._markdown else "\n")
        start = self._length
        shown = page_markdown(page) if self._markdown else printable(page.text)
        self._add(shown)
        rows = [row for area in page_in(page, Coordinates.UPRIGHT).areas for row in area.rows]
        lines, words, at = [], [], 0
        for row in rows:
            found = -1 if self._markdown else shown.find(row.text, at)
            lines.append(_line(row, start + found if found >= 0 else None))
            if found >= 0:
                words += _words(row, start + found)
                at = found + len(row.text)
        found_page = {
            "pageNumber": page.index + 1,
            "angle": 0,
            "width": page.width,
            "height": page.height,
            "unit": "pixel",
            "spans": [_span(start, len(shown))],
            "lines": lines,
            "words": words,
        }
        self.pages.append(orjson.Fragment(orjson.dumps(found_page)))
        return b""

    def end(self) -> bytes:
        return b""


def _span(offset: int, length: int) -> dict[str, int]:
    return {"offset": offset, "length": length}


def _line(row: LineArea, offset: int | None) -> Json:
    """`offset`: in the content; None where the content has the line otherwise, or elsewhere."""
    spans = [] if offset is None else [_span(offset, len(row.text))]
    return {"content": row.text, "polygon": _polygon(row.quad), "spans": spans}


def _words(row: LineArea, offset: int) -> list[Json]:
    found, at = [], 0
    for word in row.words:
        at = max(row.text.find(word.text, at), at)
        place = {"polygon": _polygon(word.quad), "span": _span(offset + at, len(word.text))}
        found.append({"content": word.text, "confidence": word.confidence or 0.0, **place})
        at += len(word.text)
    return found


def _polygon(quad: Any) -> list[float]:  # noqa: ANN401 - a Quad
    return [round(float(value), 1) for point in quad for value in point]


async def _draft(received: ReceivedJob, kind: TaskKind, options: AnalyzeOptions) -> JobDraft:
    source, name = JobSource(), "document"
    if (raw := received.body.raw) is not None:
        data: bytes | None = checked(document(raw.data, raw.filename or name)).data
    else:
        requested = parse(AnalyzeRequest, received.body.fields)
        if requested.url_source is not None:
            source, data, name = await received.from_url(requested.url_source, name)
        elif requested.base64_source is not None:
            text = requested.base64_source
            data = checked(document(await received.context.sources.decoded(text, received.caller), name)).data
        else:
            raise InputRejected("file_missing", "The request has neither `base64Source` nor `urlSource`.")
    pages = pages_text(select(options.pages or None, first=1))
    how = JobOptions(Task(kind=kind), pages)
    job = NewJob(received.tenant, source, name, how, priority=received.priority(), key=received.key)
    return JobDraft(job, data)


router = APIRouter(
    prefix="/documentintelligence/documentModels", tags=["document-intelligence"], responses=PROBLEM_RESPONSES
)

ModelId = Annotated[Literal["prebuilt-read", "prebuilt-layout"], Path()]
ResultId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}(\.md)?$")]
_BODY: Json = {
    "required": True,
    "content": {
        "application/json": {"schema": {"$ref": "#/components/schemas/AnalyzeRequest"}},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}


def _query(name: str, schema: Mapping[str, object]) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema}


@router.post(
    "/{model}:analyze",
    operation_id="azure_analyze",
    summary="Azure Document Intelligence: analyze a document",
    status_code=202,
    response_class=Response,
    responses={
        202: {
            "description": "Added. `Operation-Location` is where to poll.",
            "headers": {"Operation-Location": {"schema": {"type": "string"}}},
        },
        **problems(400, 403, 404, 408, 413, 415, 422, 501),
    },
    openapi_extra={
        "requestBody": _BODY,
        "parameters": [
            _query("pages", {"type": "string"}),
            _query("outputContentFormat", {"type": "string", "enum": ["text", "markdown"]}),
        ],
    },
)
@costs(JOB)
async def analyze(request: Request, model: ModelId) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call, options = job_call(request), parse(AnalyzeOptions, dict(request.query_params))

    async def draft(received: ReceivedJob) -> JobDraft:
        return await _draft(received, _TASKS[model], options)

    added = await submit(call, draft, uploads.receive_document)
    result_id = added.job.id + (_MARKDOWN if options.output_content_format == "markdown" else "")
    root = str(request.base_url).rstrip("/")
    place = f"{root}{router.prefix}/{model}/analyzeResults/{result_id}?api-version={_VERSION}"
    return Response(status_code=202, headers={"Operation-Location": place, "Retry-After": _POLL_S})


@router.get(
    "/{model}/analyzeResults/{result_id}",
    operation_id="azure_get_result",
    summary="Azure Document Intelligence: get a result",
    response_model=AnalyzeOperation,
    responses=problems(404, 410, 422, 501),
)
@costs(RESULT)
async def get(request: Request, model: ModelId, result_id: ResultId) -> Response:
    """State of an analysis, and its result."""
    call = job_call(request)
    job = await call.job(result_id.removesuffix(_MARKDOWN))
    found = AnalyzeOperation(
        status=_STATUSES[job.state],
        createdDateTime=rfc3339(job.created),
        lastUpdatedDateTime=rfc3339(job.ended or job.started or job.created),
    )
    if not job.state.ended:
        return json_response(found.model_dump(exclude_none=True), headers={"Retry-After": _POLL_S})
    if (error := error_of(job)) is not None:
        found.error = {"code": error.code, "message": error.detail}
    else:
        return await _result(call, job, model, found, markdown=result_id.endswith(_MARKDOWN))
    return json_response(found.model_dump(exclude_none=True))


async def _result(call: JobCall, job: Job, model: str, found: AnalyzeOperation, *, markdown: bool) -> Response:
    threads, collected = context_of(call.request).threads, AnalyzedPages(markdown=markdown)
    with call.watches.stream(call.tenant):
        async with call.watches.whole:
            await ResultReader(call.jobs, threads, call.caller).text(job, collected)
            return await threads.run(call.caller, job.saved, _answered, found, model, collected, markdown)


def _answered(found: AnalyzeOperation, model: str, collected: AnalyzedPages, markdown: bool) -> Response:
    """Serializes the result of an analysis. Blocking."""
    result = {
        "apiVersion": _VERSION,
        "modelId": model,
        "stringIndexType": "unicodeCodePoint",
        "content": collected.content,
        "contentFormat": "markdown" if markdown else "text",
        "pages": collected.pages,
    }
    return json_response({**found.model_dump(exclude_none=True), "analyzeResult": result})


@router.get(
    "/{model}/analyzeResults/{result_id}/pdf",
    operation_id="azure_get_pdf",
    summary="Azure Document Intelligence: get the searchable PDF",
    response_class=Response,
    responses={
        200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}},
        **problems(404, 409, 410, 413, 422, 501, 502, 504),
    },
)
@costs(WRITTEN)
async def get_pdf(request: Request, model: ModelId, result_id: ResultId) -> Response:  # noqa: ARG001 - in the path
    """The document with its text inside, also if `output=pdf` was not requested."""
    call = job_call(request)
    job = await call.job(result_id.removesuffix(_MARKDOWN))
    if (error := error_of(job)) is not None:
        raise error
    return JobResult(call, job, ResultForm(FileFormat.PDF))
