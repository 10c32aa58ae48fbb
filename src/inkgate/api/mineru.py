"""MinerU's API. A document is read by a task (`POST /tasks`, `GET /tasks/{id}`, `GET /tasks/{id}/result`), a job of
`/v1/jobs`, or within its request (`POST /file_parse`), as by `/ocr`. Open WebUI's engine *MinerU* in its local mode and
plugins of Dify call the latter.

Differences: one document a request; results have Markdown only (`md_content`, or of a task the file in a ZIP archive);
other options are accepted and ignored. Errors are problem documents, whose `detail` is a string, as MinerU's.
"""

from __future__ import annotations

import io
import re
import time
import zipfile
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import PurePosixPath
from secrets import token_hex
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate import __version__
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONTROL, DOCUMENT, JOB, RESULT, costs
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Flag, Native, parse
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import UploadedBody
from inkgate.api.jobs.pagewise import PagewiseMarkdown
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, file_schema
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader, filled_json
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText
from inkgate_client.block_image import BlockImage
from inkgate_client.formats.markdown import without_marks
from inkgate_client.image_links import IMAGE_FOLDER, images_on
from inkgate_client.types import DocumentResult, Task, TaskKind

_STATUSES = {
    JobState.QUEUED: "pending",
    JobState.RUNNING: "processing",
    JobState.CANCELLING: "processing",
    JobState.SUCCEEDED: "completed",
    JobState.PARTIAL: "completed",
    JobState.FAILED: "failed",
    JobState.QUARANTINED: "failed",
    JobState.CANCELLED: "failed",
}
_METHODS = {"txt": PdfText.ALWAYS, "ocr": PdfText.NEVER}
_LAST_PAGE = 99_999
_ZIP = ".zip"
"""A task ID that ends with it stands for a result as an archive, so that the store needs no field for it."""


class MineruOptions(BaseModel):
    """The options that are used. MinerU's others are accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    parse_method: Literal["auto", "txt", "ocr"] = "auto"
    start_page_id: Annotated[int, Field(ge=0, le=_LAST_PAGE, description="From 0.")] = 0
    end_page_id: Annotated[int, Field(ge=0, le=_LAST_PAGE, description="From 0.")] = _LAST_PAGE
    response_format_zip: Flag = False
    return_images: Flag = False

    def job_options(self) -> JobOptions:
        """How the job reads. Raises InputRejected("pages_invalid")."""
        if self.end_page_id < self.start_page_id:
            raise InputRejected("pages_invalid", "`end_page_id` is before `start_page_id`.")
        pages = ""
        if self.end_page_id < _LAST_PAGE:
            pages = f"{self.start_page_id + 1}-{self.end_page_id + 1}"
        elif self.start_page_id:
            pages = f"{self.start_page_id + 1}-"
        return JobOptions(Task(kind=TaskKind.PARSE, images=self.return_images), pages, _METHODS.get(self.parse_method))


class MineruTask(BaseModel):
    """A task. URLs are absolute, as MinerU's client uses them as they are."""

    task_id: str
    status: Literal["pending", "processing", "completed", "failed"]
    backend: str
    file_names: list[str]
    created_at: str
    started_at: str | None
    completed_at: str | None
    error: str | None
    status_url: str
    result_url: str
    queued_ahead: int | None = Field(description="Queued tasks before it.")
    message: str


class MineruMarkdown(BaseModel):
    """What was read of a file."""

    md_content: str
    images: dict[str, str] | None = Field(default=None, description="`data:` URLs by name, if they were requested.")


class MineruResult(BaseModel):
    """The result of a task."""

    backend: str
    version: str
    results: dict[str, MineruMarkdown] = Field(description="By the name of the file, without its suffix.")


async def _parse(received: ReceivedJob) -> JobDraft:
    part = received.body.files.get("files")
    if part is None:
        raise InputRejected("file_missing", "The form has no part `files` with a filename.")
    found = checked(document(part.data, part.filename))
    options = parse(MineruOptions, received.body.fields).job_options()
    job = NewJob(received.tenant, JobSource(), found.name, options, priority=received.priority(), key=received.key)
    return JobDraft(job, found.data)


async def _task(call: JobCall, job: Job, *, as_zip: bool, status: int = 200, message: str = "") -> Response:
    forecast = await call.forecast(job)
    task_id = job.id + (_ZIP if as_zip else "")
    url = f"{str(call.request.base_url).rstrip('/')}/tasks/{task_id}"
    error = error_of(job) if job.state.ended else None
    task = MineruTask(
        task_id=task_id,
        status=_STATUSES[job.state],
        backend="inkgate",
        file_names=[_stem(job.name)],
        created_at=rfc3339(job.created),
        started_at=None if job.started is None else rfc3339(job.started),
        completed_at=None if job.ended is None else rfc3339(job.ended),
        error=None if error is None else error.detail,
        status_url=url,
        result_url=f"{url}/result",
        queued_ahead=forecast.ahead if forecast else None,
        message=message or f"Task is {_STATUSES[job.state]}",
    )
    return json_response(task.model_dump(), status)


def _stem(name: str) -> str:
    """The name of a file without its suffix, by which results are named."""
    return PurePosixPath(name).stem or "document"


_MAX_FOLDER = 60
"""Characters; with up to four bytes each, the name and a suffix are within the 255 bytes of file systems."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?", re.IGNORECASE)


def folder_name(stem: str) -> str:
    """A document's name as a folder of an archive: no other folder, and no name of a device."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in stem)
    name = name[:_MAX_FOLDER].strip(".") or "document"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


router = APIRouter(tags=["mineru"], responses=PROBLEM_RESPONSES)

TaskId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}(\.zip)?$")]
_FLAG = {"type": "string", "enum": ["true", "false"]}


def _form(**options: object) -> dict[str, Any]:
    properties = {
        "files": file_schema(),
        "parse_method": {"type": "string", "enum": ["auto", "txt", "ocr"]},
        "start_page_id": {"type": "integer", "minimum": 0},
        "end_page_id": {"type": "integer", "minimum": 0},
        **options,
        "return_images": _FLAG,
    }
    schema = {"type": "object", "required": ["files"], "properties": properties}
    return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}


@router.post(
    "/tasks",
    operation_id="mineru_create_task",
    summary="MinerU: add a file",
    response_class=Response,
    responses={202: {"model": MineruTask, "description": "Added."}, **problems(400, 408, 413, 415, 422, 501)},
    status_code=202,
    openapi_extra={"requestBody": _form(response_format_zip=_FLAG)},
)
@costs(JOB)
async def create(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call = job_call(request)
    as_zip = False

    async def parsed(received: ReceivedJob) -> JobDraft:
        nonlocal as_zip
        as_zip = parse(MineruOptions, received.body.fields).response_format_zip
        return await _parse(received)

    added = await submit(call, parsed)
    return await _task(call, added.job, as_zip=as_zip, status=202, message="Task submitted successfully")


@router.get(
    "/tasks/{task_id}",
    operation_id="mineru_get_task",
    summary="MinerU: get a task",
    response_model=MineruTask,
    responses=problems(404, 410, 422, 501),
)
@costs(CONTROL)
async def get(request: Request, task_id: TaskId) -> Response:
    """State of a task."""
    call = job_call(request)
    return await _task(call, await call.job(task_id.removesuffix(_ZIP)), as_zip=task_id.endswith(_ZIP))


@router.get(
    "/tasks/{task_id}/result",
    operation_id="mineru_get_result",
    summary="MinerU: get the result of a task",
    response_class=Response,
    responses={
        200: {
            "model": MineruResult,
            "description": "The result; an archive if the task was added with `response_format_zip`.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        202: {"model": MineruTask, "description": "It has not ended."},
        **problems(404, 409, 410, 422, 501),
    },
)
@costs(RESULT)
async def result(request: Request, task_id: TaskId) -> Response:
    """Markdown of a task that has ended. 409 if it failed."""
    call = job_call(request)
    as_zip = task_id.endswith(_ZIP)
    job = await call.job(task_id.removesuffix(_ZIP))
    if not job.state.ended:
        return await _task(call, job, as_zip=as_zip, status=202)
    if (error := error_of(job)) is not None:
        raise InputRejected("job_ended", f"The task failed: {error.detail}")
    if as_zip:
        return PiecewiseResponse(call, "application/zip", lambda permit: _zip_pieces(ResultReader(call, job, permit)))
    return PiecewiseResponse(call, "application/json", lambda permit: _json_pieces(ResultReader(call, job, permit)))


def _json_pieces(reader: ResultReader) -> AsyncGenerator[bytes]:
    job, name = reader.job, _stem(reader.job.name)
    markdown, images = token_hex(16), token_hex(16)
    renderer = PagewiseMarkdown(embedded=False)
    parts = {markdown: reader.json_text(renderer)}
    found: dict[str, str] = {"md_content": markdown}
    if job.options.task.images:
        found["images"] = images
        parts[images] = _image_pieces(renderer.images, reader)
    return filled_json({"backend": "inkgate", "version": __version__, "results": {name: found}}, parts)


async def _image_pieces(images: Sequence[BlockImage], reader: ResultReader) -> AsyncGenerator[bytes]:
    """The images as JSON: `data:` URLs by their names. `images` is complete when this begins."""
    shown = orjson.dumps({image.name: image.data_url for image in images})
    async with aclosing(reader.images.filled(shown)) as pieces:
        async for piece in pieces:
            yield piece


async def _zip_pieces(reader: ResultReader) -> AsyncGenerator[bytes]:
    """A ZIP archive as MinerU makes it: a folder for each document, with its images in another."""
    name = folder_name(_stem(reader.job.name))
    renderer = PagewiseMarkdown(embedded=False)
    file = _SentFile()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(_entry(f"{name}/{name}.md", zipfile.ZIP_DEFLATED), "w") as entry:
            async with aclosing(reader.rendered(renderer)) as pieces:
                async for piece in pieces:
                    await reader.run(len(piece), entry.write, piece)
        yield file.taken()
        for image in renderer.images:
            data = b64decode(b"".join([piece async for piece in reader.images.filled(image.base64.encode())]))
            archive.writestr(_entry(f"{name}/{IMAGE_FOLDER}/{image.name}", zipfile.ZIP_STORED), data)
            yield file.taken()
    yield file.taken()


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, time.localtime()[:6])
    entry.compress_type = compression
    return entry


class _SentFile(io.BytesIO):
    """A file that is sent while it is written: what was taken is not kept. An archive goes back only within the entry
    that it writes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sent = 0

    def taken(self) -> bytes:
        """What was written since the last call."""
        data = self.getvalue()
        self._sent += len(data)
        super().seek(0)
        self.truncate()
        return data

    def tell(self) -> int:
        return self._sent + super().tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset - self._sent if whence == io.SEEK_SET else offset
        return self._sent + super().seek(at, whence)


# -- within the request


class MineruFile:
    """A form with a part `files`, and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        part = received.body.files.get("files")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `files` with a filename.")
        options = parse(MineruOptions, received.body.fields)
        if options.response_format_zip:
            raise InputRejected("feature_unavailable", "`response_format_zip` works with `/tasks` only.")
        found, requested = document(part.data, part.filename), options.job_options()
        how = CheckedOptions(requested.task, select(requested.pages or None, first=1), requested.pdf_text)
        return ReadRequest(found, how, Native.FORM, partial(_response_of, _stem(found.name), options.return_images))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _response_of(name: str, with_images: bool, result: DocumentResult) -> dict[str, Any]:
    images = {image.name: image.data_url for page in result.pages for image in images_on(page)}
    found = MineruMarkdown(md_content=without_marks(result), images=images if with_images else None)
    return MineruResult(backend="inkgate", version=__version__, results={name: found}).model_dump(exclude_none=True)


@router.post(
    "/file_parse",
    operation_id="mineru_parse_file",
    summary="MinerU: parse a file",
    response_model=MineruResult,
    responses=problems(400, 408, 413, 415, 422, 501, 502, 504),
    openapi_extra={"requestBody": _form()},
)
@costs(DOCUMENT)
async def file_parse(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _file)


def _file(_: UploadedBody) -> Form:
    return MineruFile()
