"""MinerU 4's API: upload a file in three steps, submit a job of `/v1/jobs`, poll it, and download its outputs as files.
`mineru-kit parse --remote-url`, MinerU's Python client and Open WebUI's engine *MinerU* call it.

Differences: one document a job; outputs are Markdown, `middle_json` (in the form of MinerU 3, which MinerU 4 reads) and
both with images as `zip`; all tiers are read by this service's engine. Errors have OpenAI's form, as MinerU's.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from secrets import token_bytes
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate import __version__
from inkgate.api.http import uploads
from inkgate.api.http.context import context_of, tenant_of
from inkgate.api.http.costs import CONTROL, FILE, JOB, RESULT, STATE, costs
from inkgate.api.http.document_response import ReceiveBody
from inkgate.api.http.head import parse_head
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import StopAtFirst, parse
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import UploadedBody, clean_name
from inkgate.api.jobs.pagewise import PagewiseMarkdown
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, form_of, pages_text
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader
from inkgate.api.jobs.submit import job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.api.mineru_files import METHODS, archive_pieces, middle_json
from inkgate.documents.pages import select
from inkgate.errors import BodyTooLarge, InputRejected
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate.service.gateway import Admitted
from inkgate_client.types import Task, TaskKind

_STATUSES = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "running",
    JobState.CANCELLING: "running",
    JobState.SUCCEEDED: "completed",
    JobState.PARTIAL: "completed",  # as a page that failed is named in the Markdown
    JobState.FAILED: "failed",
    JobState.QUARANTINED: "failed",
    JobState.CANCELLED: "canceled",
}
_ZIP = "zip"
_TYPES = {"markdown": "text/markdown; charset=utf-8", "middle_json": "application/json", _ZIP: "application/zip"}
"""Media types of outputs by their names."""
_TIERS = ("flash", "basic", "standard", "advanced")
Tier = Literal["flash", "basic", "standard", "advanced"]
_UPLOAD = "upload-"
_NAME_BYTES, _RANDOM_BYTES, _SIZE_BYTES = 120, 12, 8


class V1Upload(BaseModel):
    """A file that will be sent."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    filename: Annotated[str, Field(min_length=1, max_length=1000)]
    bytes: Annotated[int, Field(gt=0)]


class V1Source(BaseModel):
    """The document: an uploaded file, a URL, or bytes as base64."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: Annotated[str, Field(max_length=100, description="`file_id`, `url` or `inline`.")] = "file_id"
    file_id: Annotated[str, Field(max_length=300)] = ""
    url: str = ""
    name: Annotated[str, Field(max_length=1000)] = ""
    data: Annotated[str, Field(repr=False)] = ""


class V1File(BaseModel):
    """A document to read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    source: V1Source
    page_range: Annotated[str, Field(max_length=1000, description="Such as `1-3,7`; from 1.")] | None = None


class V1JobRequest(BaseModel):
    """A job to add."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    files: Annotated[list[V1File], Field(min_length=1, max_length=100, description="One."), StopAtFirst()]
    tier: Tier | None = Field(default=None, description="All are read by the same engine.")
    ocr_mode: Literal["auto", "txt", "ocr"] = "auto"
    output_formats: Annotated[list[str], Field(min_length=1, max_length=20), StopAtFirst()] = ["markdown"]

    def job_options(self) -> JobOptions:
        """How the job reads. Raises InputRejected: there is no such output, or the pages are invalid."""
        if len(self.files) > 1:
            raise InputRejected("options_invalid", "files: send one document a job.")
        if others := [name[:40] for name in self.output_formats if name not in _TYPES]:
            raise InputRejected(
                "options_invalid", f"output_formats: there is no `{others[0]}`, only {', '.join(_TYPES)}."
            )
        pages = self.files[0].page_range or ""
        selection = None if pages.strip() in ("", "all") else select(pages, first=1)
        task = Task(kind=TaskKind.PARSE, images=_ZIP in self.output_formats)
        form = V1Form(tier=self.tier or "standard", output_formats=self.output_formats, page_range=pages)
        return JobOptions(task, pages_text(selection), METHODS.get(self.ocr_mode), form=form.model_dump_json())


class V1Form(BaseModel):
    """What responses about a job repeat of its request. It is stored with the job."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tier: Tier = "standard"
    output_formats: list[str] = []
    page_range: str = ""


router = APIRouter(prefix="/v1", tags=["mineru"], responses=PROBLEM_RESPONSES)

UploadId = Annotated[str, Path(pattern=r"^upload-[A-Za-z0-9_-]{27,300}$")]
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _body(model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.get("/health", operation_id="mineru_health", summary="MinerU 4: what is offered", response_class=Response)
@costs(STATE)
async def health(request: Request) -> Response:
    """What clients may send and request. 501 where jobs are off, so that clients send `/file_parse`."""
    if context_of(request).service.jobs is None:
        raise InputRejected("feature_unavailable", "`jobs.enabled` is false in this service.")
    features = {"webhook": False, "output_formats": [*_TYPES], "sources": ["file_id", "url", "inline"]}
    return json_response({"status": "ok", "version": __version__, "features": features})


@router.get("/tiers", operation_id="mineru_tiers", summary="MinerU 4: tiers", response_class=Response)
@costs(STATE)
async def tiers(request: Request) -> Response:
    """All tiers are read by the same engine."""
    engine = context_of(request).service.engine.name
    known = [{"id": tier, "description": f"Read by {engine}.", "current_model": engine} for tier in _TIERS]
    return json_response({"object": "list", "data": known})


@asynccontextmanager
async def _received(request: Request, receive: ReceiveBody) -> AsyncIterator[tuple[Admitted, UploadedBody]]:
    context = context_of(request)
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as count_bytes:
            body = await receive(request, context.settings.limits, context.bodies, admitted.caller, count_bytes)
        yield admitted, body


def _upload_id(announced: V1Upload) -> str:
    """An ID that has size and name of the file, so that nothing is stored before the file is there."""
    name = clean_name(announced.filename).encode(errors="replace")[-_NAME_BYTES:]
    whole = token_bytes(_RANDOM_BYTES) + announced.bytes.to_bytes(_SIZE_BYTES) + name
    return _UPLOAD + urlsafe_b64encode(whole).rstrip(b"=").decode()


def _announced(upload_id: str) -> tuple[int, str]:
    """Size and name of an upload's file. Raises InputRejected("file_unknown")."""
    encoded = upload_id.removeprefix(_UPLOAD)
    try:
        raw = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        raise InputRejected("file_unknown", "There is no upload with this ID.") from None
    size, name = raw[_RANDOM_BYTES:][:_SIZE_BYTES], raw[_RANDOM_BYTES + _SIZE_BYTES :]
    return int.from_bytes(size), clean_name(name.decode(errors="ignore"))


def _pending(upload_id: str) -> dict[str, Any]:
    url = f"/v1/uploads/{upload_id}/content"
    headers = {"Content-Type": "application/octet-stream"}
    size, name = _announced(upload_id)
    shown: dict[str, Any] = {"id": upload_id, "object": "upload", "filename": name, "status": "pending", "bytes": size}
    return shown | {"upload_url": url, "upload_method": "PUT", "upload_headers": headers}


async def _upload(request: Request, upload_id: str) -> dict[str, Any]:
    """An upload: completed once its file is stored, whose purpose is the upload's ID."""
    pending = _pending(upload_id)
    files = await context_of(request).files.owned(tenant_of(request))
    stored = next((file for file in files if file.purpose == upload_id), None)
    if stored is None:
        return pending
    file = {"id": stored.id, "object": "file", "bytes": stored.byte_count, "filename": stored.name}
    return {**pending, "status": "completed", "bytes": stored.byte_count, "file": file}


@router.post(
    "/uploads",
    operation_id="mineru_create_upload",
    summary="MinerU 4: announce a file",
    response_class=Response,
    responses=problems(400, 408, 413, 415, 422),
    openapi_extra=_body(V1Upload),
)
@costs(FILE)
async def create_upload(request: Request) -> Response:
    """Says where to send the file."""
    async with _received(request, uploads.receive) as (_, body):
        announced = parse(V1Upload, body.fields)
    max_bytes = int(context_of(request).settings.limits.max_body_mb * 1_000_000)
    if announced.bytes > max_bytes:
        raise BodyTooLarge("body_too_large", f"The file has {announced.bytes} bytes, more than {max_bytes}.")
    return json_response(_pending(_upload_id(announced)))


@router.put(
    "/uploads/{upload_id}/content",
    operation_id="mineru_send_upload",
    summary="MinerU 4: send a file",
    response_class=Response,
    responses=problems(400, 404, 408, 413, 415, 422),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
@costs(FILE)
async def send_upload(request: Request, upload_id: UploadId) -> Response:
    """Keeps the file as those of `/v1/files`. Sent again, it is kept once."""
    async with _received(request, uploads.receive_document) as (admitted, body):
        if body.raw is None:
            detail = "The body is no file. Send the file itself as application/octet-stream."
            raise InputRejected("file_missing", detail)
        size, name = _announced(upload_id)
        found = document(body.raw.data, name)
        if len(found.data) != size:
            detail = f"The file has {len(found.data)} bytes, and the upload announced {size}. Announce another upload."
            raise InputRejected("options_invalid", detail)
        if (await _upload(request, upload_id))["status"] == "pending":
            admitted.received(len(found.data))
            with admitted.without_deadline():  # stored as a whole, or not at all
                await context_of(request).files.add(found.name, found.data, upload_id, tenant_of(request))
    return json_response(await _upload(request, upload_id))


@router.post(
    "/uploads/{upload_id}/complete",
    operation_id="mineru_complete_upload",
    summary="MinerU 4: end an upload",
    response_class=Response,
    responses=problems(404, 422),
)
@costs(CONTROL)
async def complete_upload(request: Request, upload_id: UploadId) -> Response:
    """The upload with its file."""
    shown = await _upload(request, upload_id)
    if "file" not in shown:
        raise InputRejected("file_unknown", f"The file of this upload is not here. PUT it to {shown['upload_url']}.")
    return json_response(shown)


@router.get(
    "/uploads/{upload_id}",
    operation_id="mineru_get_upload",
    summary="MinerU 4: get an upload",
    response_class=Response,
    responses=problems(404, 422),
)
@costs(CONTROL)
async def get_upload(request: Request, upload_id: UploadId) -> Response:
    """State of an upload."""
    return json_response(await _upload(request, upload_id))


async def _draft(received: ReceivedJob) -> JobDraft:
    requested = parse(V1JobRequest, received.body.fields)
    options, source = requested.job_options(), requested.files[0].source
    place, data, name = JobSource(), None, clean_name(source.name)
    if source.type == "file_id":
        found = checked(await received.context.sources.from_file_id(source.file_id, received.tenant))
        data, name = found.data, found.name
    elif source.type == "url":
        place, data, name = await received.from_url(source.url, name or "document")
    elif source.type == "inline":
        found = checked(document(await received.context.sources.decoded(source.data, received.caller), name))
        data, name = found.data, found.name
    else:
        raise InputRejected("options_invalid", f"source: there is no `{source.type}`, only `file_id`, `url`, `inline`.")
    job = NewJob(received.tenant, place, name, options, priority=received.priority(), key=received.key)
    return JobDraft(job, data)


def _job(job: Job, status: int = 200) -> Response:
    form = form_of(V1Form, job)
    state, error = _STATUSES[job.state], error_of(job) if job.state.ended else None
    file: dict[str, Any] = {
        "file_id": None,
        "name": job.name,
        "page_range": form.page_range,
        "status": "failed" if error else state,
        "parse": {"model_used": job.document.engine if job.document else None, "parser_version": __version__},
        "output_files": None,
        "error": {"type": "api_error", "code": error.code, "message": error.detail} if error else None,
    }
    if job.started is not None and job.ended is not None:
        file["parse"]["duration_ms"] = round((job.ended - job.started) * 1000)
    if state == "completed":
        file["output_files"] = {name: {"file_id": f"mineru.{job.id}.{name}"} for name in form.output_formats}
    link = f"/v1/parse/jobs/{job.id}"
    shown = {
        "job_id": job.id,
        "status": state,
        "created_at": rfc3339(job.created),
        "started_at": None if job.started is None else rfc3339(job.started),
        "finished_at": None if job.ended is None else rfc3339(job.ended),
        "tier": form.tier,
        "output_formats": form.output_formats,
        "access_level": "registered",
        "progress": {"completed": int(state == "completed"), "failed": int(error is not None), "total": 1},
        "files": [file],
        "links": {"self": link, "cancel": link},
    }
    return json_response(shown, status)


@router.post(
    "/parse/jobs",
    operation_id="mineru_create_job",
    summary="MinerU 4: add a job",
    response_class=Response,
    responses=problems(400, 403, 404, 408, 413, 415, 422, 501),
    status_code=202,
    openapi_extra=_body(V1JobRequest),
)
@costs(JOB)
async def create_job(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return _job((await submit(job_call(request), _draft)).job, 202)


@router.get(
    "/parse/jobs/{job_id}",
    operation_id="mineru_get_job",
    summary="MinerU 4: get a job",
    response_class=Response,
    responses=problems(404, 410, 422, 501),
)
@costs(CONTROL)
async def get_job(request: Request, job_id: JobId) -> Response:
    """State of a job, and the IDs of its outputs."""
    return _job(await job_call(request).job(job_id))


@router.delete(
    "/parse/jobs/{job_id}",
    operation_id="mineru_cancel_job",
    summary="MinerU 4: cancel a job",
    response_class=Response,
    responses=problems(404, 409, 410, 422, 501),
)
@costs(CONTROL)
async def cancel_job(request: Request, job_id: JobId) -> Response:
    """Cancels a job that has not ended."""
    call = job_call(request)
    job = await call.jobs.store.cancel(job_id, call.tenant)
    return json_response(
        {"job_id": job.id, "status": "canceled", "canceled_at": rfc3339(datetime.now(UTC).timestamp())}
    )


@router.get(
    "/files/mineru.{job_id}.{output}/content",
    operation_id="mineru_output",
    summary="MinerU 4: download an output",
    response_class=Response,
    responses=problems(404, 409, 410, 422, 501),
)
@costs(RESULT)
async def download(request: Request, job_id: JobId, output: Literal["markdown", "middle_json", "zip"]) -> Response:
    """An output of a job that has ended."""
    call = job_call(request)
    job = await call.job(job_id)
    if (error := error_of(job)) is not None:
        raise error if not job.state.ended else InputRejected("job_ended", f"The job failed: {error.detail}")
    if output not in form_of(V1Form, job).output_formats:
        raise InputRejected("file_unknown", f"The job was not asked for the output {output}.")  # a ZIP lacks figures

    def pieces(reader: ResultReader) -> AsyncGenerator[bytes]:
        if output == _ZIP:
            return archive_pieces(reader, "", "markdown.md", {"middle_json.json": middle_json()})
        return reader.rendered(middle_json() if output == "middle_json" else PagewiseMarkdown(embedded=False))

    return PiecewiseResponse(call, _TYPES[output], lambda permit: pieces(ResultReader(call, job, permit)))
