"""The job API of PaddleOCR's own client, which loaders of LangChain and Haystack use: add a job, poll it, and fetch the
pages as JSON lines. Jobs are those of `/v1/jobs`; the protocol has no way to cancel one, `DELETE /v1/jobs/{id}` has.

The client fetches results and figures without its key, so their URLs have a signature: a secret of the job, which is
stored with it, so that every instance of the service knows it, and is gone with the job.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.auth import PADDLEOCR_JOBS
from inkgate.api.http.costs import CONTROL, JOB, RESULT, costs
from inkgate.api.http.errors import Problem, request_id_of
from inkgate.api.http.openapi import problems
from inkgate.api.http.options import NDJSON_TYPE, parse
from inkgate.api.http.sources import MAX_URL_LENGTH, document
from inkgate.api.jobs.pagewise import document_of
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, file_schema, of_text, pages_text
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, expired_error, json_response
from inkgate.api.paddlex import PaddlexOcrOptions, data_info, ocr_page
from inkgate.api.paddlex_layout import LayoutParsingOptions, layout_page
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobFilter, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate.serving.permits import Permit
from inkgate_client.block_image import BlockImage
from inkgate_client.image_links import images_on
from inkgate_client.types import PageResult, TaskKind

_STATES = {
    JobState.QUEUED: "pending",
    JobState.RUNNING: "running",
    JobState.CANCELLING: "running",
    JobState.SUCCEEDED: "done",
    JobState.PARTIAL: "done",
    JobState.FAILED: "failed",
    JobState.QUARANTINED: "failed",
    JobState.CANCELLED: "failed",
}
_LINES_OF = "PP-OCR"
_BLOCKS_OF = ("PaddleOCR-VL", "PP-Structure")
_LONGEST_BATCH = 1000
_TOKEN_BYTES = 16


class PaddleocrJobRequest(BaseModel):
    """A job. A form has the part `file` instead of `fileUrl`, and `optionalPayload` as JSON."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Annotated[str, Field(max_length=100, description="`PP-OCR...`: lines; others: blocks and Markdown.")]
    fileUrl: Annotated[str, Field(max_length=MAX_URL_LENGTH)] | None = None  # noqa: N815 - PaddleOCR's names
    optionalPayload: Annotated[  # noqa: N815
        dict[str, Any] | None,
        BeforeValidator(of_text),
        Field(description="Options, as `/ocr` and `/layout-parsing` take."),
    ] = None
    pageRanges: Annotated[str, Field(max_length=1000, description="Such as `2,4-6`.")] | None = None  # noqa: N815
    batchId: Annotated[str, Field(max_length=200, description="The same for several jobs.")] | None = None  # noqa: N815


class _JobForm(BaseModel):
    """What is stored with the job, in `JobOptions.form`. `batch`: as `_batch_key` makes it."""

    paddleocr: str
    lines: bool
    batch: str
    options: dict[str, Any]


class PaddleocrProgress(BaseModel):
    """Progress of a job, once the document is open."""

    totalPages: int  # noqa: N815
    extractedPages: int  # noqa: N815
    startTime: str | None  # noqa: N815
    endTime: str | None  # noqa: N815


class PaddleocrJob(BaseModel):
    """A job."""

    jobId: str  # noqa: N815
    state: Literal["pending", "running", "done", "failed"]
    extractProgress: PaddleocrProgress | None = None  # noqa: N815
    resultUrl: dict[str, str] | None = Field(None, description="`jsonUrl`: the pages as JSON lines.")  # noqa: N815
    errorMsg: str | None = Field(None, description="Why it failed, or how many pages of it did.")  # noqa: N815


class PaddleocrJobAnswer(BaseModel):
    """A job in PaddleOCR's envelope."""

    traceId: str  # noqa: N815
    code: Literal[0] = 0
    msg: str = "Success"
    data: PaddleocrJob


def paddleocr_error(problem: Problem) -> dict[str, Any]:
    """`problem` in PaddleOCR's envelope. `code`: the HTTP status; `inkgate_code` is an addition."""
    return {
        "traceId": problem.request_id,
        "code": problem.status,
        "msg": problem.message,
        "data": None,
        "inkgate_code": problem.code,
    }


def _batch_key(batch_id: str) -> str:
    """The batch's ID as it is stored: without characters that JSON or SQL escape."""
    return f"batch-{hashlib.sha256(batch_id.encode()).hexdigest()[:32]}"


async def _parse(received: ReceivedJob) -> JobDraft:
    requested = parse(PaddleocrJobRequest, received.body.fields)
    lines = requested.model.startswith(_LINES_OF)
    if not lines and not requested.model.startswith(_BLOCKS_OF):
        known = ", ".join(f"`{name}...`" for name in (_LINES_OF, *_BLOCKS_OF))
        raise InputRejected("options_invalid", f"model: must be {known}.")
    payload = requested.optionalPayload or {}
    if payload.get("outputFormats"):
        why = "`outputFormats` is not supported; `GET /v1/jobs/{id}/result?format=docx` makes a Word file."
        raise InputRejected("feature_unavailable", why)
    options: PaddlexOcrOptions
    if lines:
        options = parse(PaddlexOcrOptions, payload)
        task = options.task(TaskKind.TEXT)
    else:
        options = layout = parse(LayoutParsingOptions, payload)
        task = layout.layout_task()
    token = secrets.token_hex(_TOKEN_BYTES)
    if received.key:  # a request that is sent again must be the same
        secret, key = await received.context.files.secret(), f"{received.tenant} {received.key}"
        token = hmac.new(secret, key.encode(), hashlib.sha256).hexdigest()[: 2 * _TOKEN_BYTES]
    form = _JobForm(
        paddleocr=token,
        lines=lines,
        batch="" if requested.batchId is None else _batch_key(requested.batchId),
        options=options.model_dump(exclude_none=True),
    )
    pages = pages_text(select(requested.pageRanges or None, first=1))
    source, data, name = await _source(requested, received)
    how = JobOptions(task, pages, form=form.model_dump_json())
    job = NewJob(received.tenant, source, name, how, priority=received.priority(), key=received.key)
    return JobDraft(job, data)


async def _source(requested: PaddleocrJobRequest, received: ReceivedJob) -> tuple[JobSource, bytes | None, str]:
    part = received.body.files.get("file")
    if part is not None:
        found = checked(document(part.data, part.filename))
        return JobSource(), found.data, found.name
    if not requested.fileUrl:
        raise InputRejected("file_missing", "The request has neither `fileUrl` nor a part `file` with a filename.")
    return await received.from_url(requested.fileUrl, "document")


def _form_of(job: Job) -> _JobForm:
    """What is stored with the job. Raises InputRejected("job_unknown") for jobs of other protocols."""
    if not job.options.form.startswith('{"paddleocr":'):
        raise _unknown_error()
    return _JobForm.model_validate_json(job.options.form)


def _unknown_error() -> InputRejected:
    return InputRejected("job_unknown", "No job of PaddleOCR's API has this ID and signature.")


def _url(call: JobCall, job: Job, form: _JobForm, place: str) -> str:
    root = str(call.request.base_url).rstrip("/")
    return f"{root}{PADDLEOCR_JOBS}/{job.id}/{place}?signature={form.paddleocr}"


def _shown(call: JobCall, job: Job) -> dict[str, Any]:
    """The job for clients. Raises InputRejected("job_unknown") as `_form_of` does."""
    form = _form_of(job)
    found = PaddleocrJob(jobId=job.id, state=_STATES[job.state])
    if job.pages is not None:
        times = [None if time is None else rfc3339(time) for time in (job.started, job.ended)]
        found.extractProgress = PaddleocrProgress(
            totalPages=job.pages, extractedPages=job.saved - job.failed, startTime=times[0], endTime=times[1]
        )
    error = error_of(job) if job.state.ended else None
    if error is not None:
        found.errorMsg = f"{error.title}: {error.detail}"
    elif job.state.ended:
        found.errorMsg = f"{job.failed} of {job.pages} pages could not be read." if job.failed else None
        found.resultUrl = {"jsonUrl": _url(call, job, form, "result.jsonl")}
    return found.model_dump(exclude_none=True)


def _answer(call: JobCall, data: Mapping[str, Any]) -> Response:
    return json_response({"traceId": request_id_of(call.request), "code": 0, "msg": "Success", "data": data})


router = APIRouter(prefix=PADDLEOCR_JOBS, tags=["paddleocr"])

JobId = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$", description="The `jobId`.")]
Signature = Annotated[str, Query(max_length=100, description="As in the URL that the job has.")]
_ERROR = {
    "title": "PaddleocrError",
    "type": "object",
    "required": ["traceId", "code", "msg", "inkgate_code"],
    "properties": {
        "traceId": {"type": "string"},
        "code": {"type": "integer", "description": "The HTTP status."},
        "msg": {"type": "string"},
        "inkgate_code": {"type": "string"},
    },
}
_JSON_BODY = {"schema": {"$ref": "#/components/schemas/PaddleocrJobRequest"}}
_FORM_BODY = {
    "schema": {
        "type": "object",
        "required": ["file", "model"],
        "properties": {
            "file": file_schema(),
            **{name: {"type": "string"} for name in ("model", "optionalPayload", "pageRanges", "batchId")},
        },
    }
}
_BODY = {"required": True, "content": {"multipart/form-data": _FORM_BODY, "application/json": _JSON_BODY}}


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    found = problems(*statuses)
    for response in found.values():
        response["content"] = {"application/json": {"schema": _ERROR}}
    return found


@router.post(
    "",
    operation_id="paddleocr_create_job",
    summary="PaddleOCR: add a job",
    response_model=PaddleocrJobAnswer,
    responses=_errors(400, 401, 404, 408, 413, 415, 422, 429, 501, 503),
    openapi_extra={"requestBody": _BODY},
)
@costs(JOB)
async def create(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    try:
        added = await submit(call, _parse)
    except InputRejected as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        # The client takes 403 for a wrong key.
        raise InputRejected("options_invalid", f"fileUrl: {error.detail} {error.remedy}") from error
    return _answer(call, _shown(call, added.job))


@router.get(
    "/batch/{batch_id}",
    operation_id="paddleocr_get_batch",
    summary="PaddleOCR: get the jobs of a batch",
    response_class=Response,
    responses=_errors(401, 404, 422, 429, 501),
)
@costs(CONTROL)
async def batch(
    request: Request, batch_id: Annotated[str, Path(max_length=200, description="The `batchId` of its jobs.")]
) -> Response:
    """State of the jobs with this `batchId`, in the order in which they were added."""
    call = job_call(request)
    which = JobFilter(form=_batch_key(batch_id), oldest_first=True)
    jobs = await call.jobs.store.list(call.tenant, which, limit=_LONGEST_BATCH + 1)
    if not jobs:
        raise InputRejected("job_unknown", "No job has this `batchId`.")
    if len(jobs) > _LONGEST_BATCH:
        why = f"The batch has more than {_LONGEST_BATCH} jobs. Poll its jobs."
        raise InputRejected("options_invalid", why)
    return _answer(call, {"batchId": batch_id, "extractResult": [_shown(call, job) for job in jobs]})


@router.get(
    "/{job_id}",
    operation_id="paddleocr_get_job",
    summary="PaddleOCR: get a job",
    response_model=PaddleocrJobAnswer,
    responses=_errors(401, 404, 410, 422, 429, 501),
)
@costs(CONTROL)
async def get(request: Request, job_id: JobId) -> Response:
    """State and progress of a job."""
    call = job_call(request)
    return _answer(call, _shown(call, await call.job(job_id)))


async def _signed(request: Request, job_id: str, signature: str) -> tuple[JobCall, Job, _JobForm]:
    """The job of a signed URL, and a call of its owner. Raises InputRejected("job_unknown")."""
    job = await job_call(request).jobs.store.get(job_id, None)
    form = _form_of(job)
    if not hmac.compare_digest(form.paddleocr.encode(), signature.encode()):
        raise _unknown_error()
    request.scope["state"]["caller"] = job.tenant
    return job_call(request), job, form


@router.get(
    "/{job_id}/result.jsonl",
    operation_id="paddleocr_get_result",
    summary="PaddleOCR: get the pages of a job",
    response_class=Response,
    responses={
        200: {"content": {NDJSON_TYPE: {"schema": {"type": "string", "description": "A line for each page."}}}},
        **_errors(404, 409, 410, 422, 429, 501),
    },
)
@costs(RESULT)
async def result(request: Request, job_id: JobId, signature: Signature = "") -> Response:
    """A line for each page, in PaddleX's envelope. Needs no key."""
    call, job, form = await _signed(request, job_id, signature)
    if (error := error_of(job)) is not None:
        raise error
    lines = _Lines(job, form, partial(_url, call, job, form), request_id_of(request))
    return PiecewiseResponse(call, NDJSON_TYPE, lambda permit: ResultReader(call, job, permit).rendered(lines))


class _Lines:
    """The pages as JSON lines: a PagewiseFormat. The last has `dataInfo` of all: the client merges those of lines."""

    def __init__(self, job: Job, form: _JobForm, url: partial[str], request_id: str) -> None:
        self.is_document = not form.lines
        self._job = job
        self._form = form
        self._url = url
        self._request_id = request_id
        self._about = document_of(job, ())
        self._sizes: list[PageResult] = []

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        self._sizes.append(PageResult(page.index, page.width, page.height))
        found: dict[str, Any]
        if self._form.lines:
            options = PaddlexOcrOptions.model_validate(self._form.options)
            found = {"ocrResults": [ocr_page(options, page, self._about)]}
        else:
            found = {"layoutParsingResults": [self._parsed(page)]}
        if len(self._sizes) == self._job.saved:
            found["dataInfo"] = data_info(document_of(self._job, self._sizes))
        line = {"logId": self._request_id, "result": found, "errorCode": 0, "errorMsg": "Success"}
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def _parsed(self, page: PageResult) -> dict[str, Any]:
        options = LayoutParsingOptions.model_validate(self._form.options)
        return layout_page(options, page, self._about, self._linked) | {"outputImages": {}}

    def _linked(self, page: PageResult, image: BlockImage) -> tuple[str, str]:
        """The URL of an image by its name: the client saves files by these, and takes none with a folder."""
        return image.name, self._url(f"images/{page.index + 1}/{image.name}")

    def end(self) -> bytes:
        return b""


@router.get(
    "/{job_id}/images/{page}/{name}",
    operation_id="paddleocr_get_image",
    summary="PaddleOCR: get a figure of a job",
    response_class=Response,
    responses={
        200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
        **_errors(404, 409, 410, 422, 429, 501),
    },
)
@costs(RESULT)
async def image(
    request: Request,
    job_id: JobId,
    page: Annotated[int, Path(ge=1, le=100_000, description="From 1.")],
    name: Annotated[str, Path(max_length=100, description="As in `markdown.images`.")],
    signature: Signature = "",
) -> Response:
    """A figure. Needs no key."""
    call, job, _ = await _signed(request, job_id, signature)
    media_type = "image/png" if name.endswith(".png") else "image/jpeg"
    return PiecewiseResponse(call, media_type, partial(_image, call, job, page - 1, name))


async def _image(call: JobCall, job: Job, index: int, name: str, permit: Permit) -> AsyncGenerator[bytes]:
    for page in await call.jobs.store.pages(job.id, index - 1, 1, job.tenant):
        for found in images_on(page) if page.index == index else ():
            if found.name == name:
                permit.grow(len(found.base64))
                yield found.data
                return
    if (error := error_of(job)) is not None:
        raise error
    if not await call.jobs.store.pages(job.id, -1, 1, job.tenant):
        raise expired_error()
    raise InputRejected("file_unknown", "The result has no figure of this name.")
