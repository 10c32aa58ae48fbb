"""MinerU 3's API. A document is read by a task (`POST /tasks`, `GET /tasks/{id}`, `GET /tasks/{id}/result`), a job of
`/v1/jobs`, or within its request (`POST /file_parse`), as by `/ocr`. MinerU's command line adds tasks whose result is a
ZIP archive. Plugins of Dify call `/file_parse`, and so does Open WebUI's engine *MinerU* where jobs are off.

Differences: one document a request; results have Markdown, `content_list`, `middle_json` and images, but nothing of
MinerU's models (`model_output`), no second content list and no original file; other options are accepted and ignored.
Errors are problem documents, whose `detail` is a string, as MinerU's.
"""

from __future__ import annotations

import re
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
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem, json_error, problem_with_remedy
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Flag, Native, parse
from inkgate.api.http.sources import document
from inkgate.api.jobs.pagewise import PagewiseElements, PagewiseFormat, PagewiseMarkdown
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, file_schema, form_of
from inkgate.api.jobs.results import PiecewiseResponse, ResultReader, filled_json
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, json_response
from inkgate.api.mineru_files import METHODS, archive_pieces, content_list, middle_json
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate.service.reader import CheckedOptions
from inkgate_client.block_image import BlockImage
from inkgate_client.formats.markdown import without_marks
from inkgate_client.image_links import images_on
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
_LAST_PAGE = 99_999
_OFFICE = frozenset({".docx", ".pptx", ".xlsx"})


class MineruForm(BaseModel):
    """What of the options decides about the result, and not about reading. It is stored with the job of a task."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    backend: Annotated[str, Field(max_length=100, description="Names a folder of the archive only.")] = "hybrid"
    parse_method: Literal["auto", "txt", "ocr"] = "auto"
    response_format_zip: Flag = False
    return_content_list: Flag = False
    return_middle_json: Flag = False

    def folder(self, suffix: str) -> str:
        """The folder inside the document's: MinerU's clients look for the files there."""
        if suffix.lower() in _OFFICE:
            return "office"
        kind = self.backend.partition("-")[0]
        return {"pipeline": self.parse_method, "vlm": "vlm"}.get(kind, f"hybrid_{self.parse_method}")


class MineruOptions(MineruForm):
    """The options that are used. MinerU's others are accepted."""

    start_page_id: Annotated[int, Field(ge=0, le=_LAST_PAGE, description="From 0.")] = 0
    end_page_id: Annotated[int, Field(ge=0, le=_LAST_PAGE, description="From 0.")] = _LAST_PAGE
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
        task = Task(kind=TaskKind.PARSE, images=self.return_images)
        form = self.model_dump_json(include=set(MineruForm.model_fields))
        return JobOptions(task, pages, METHODS.get(self.parse_method), form=form)


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
    content_list: str | None = Field(default=None, description="JSON: blocks in the order of reading.")
    middle_json: str | None = Field(default=None, description="JSON: blocks with lines and spans.")
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


async def _task(call: JobCall, job: Job, *, status: int = 200, message: str = "") -> Response:
    forecast = await call.forecast(job)
    url = f"{str(call.request.base_url).rstrip('/')}/tasks/{job.id}"
    error = error_of(job) if job.state.ended else None
    task = MineruTask(
        task_id=job.id,
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
_IN_NAMES = "._- ()[]+,&'"
_RESERVED = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?", re.IGNORECASE)


def folder_name(stem: str) -> str:
    """A document's name as a folder of an archive: no other folder, and no name of a device."""
    name = "".join(letter if letter.isalnum() or letter in _IN_NAMES else "_" for letter in stem)
    name = name[:_MAX_FOLDER].strip(". ") or "document"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


router = APIRouter(tags=["mineru"], responses=PROBLEM_RESPONSES)

TaskId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_FLAG = {"type": "string", "enum": ["true", "false"]}


def _form(**options: object) -> dict[str, Any]:
    properties = {
        "files": file_schema(),
        "backend": {"type": "string"},
        "parse_method": {"type": "string", "enum": ["auto", "txt", "ocr"]},
        "start_page_id": {"type": "integer", "minimum": 0},
        "end_page_id": {"type": "integer", "minimum": 0},
        **options,
        **dict.fromkeys(("return_content_list", "return_middle_json", "return_images"), _FLAG),
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
    added = await submit(call, _parse)
    return await _task(call, added.job, status=202, message="Task submitted successfully")


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
    return await _task(call, await call.job(task_id))


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
    job = await call.job(task_id)
    if not job.state.ended:
        return await _task(call, job, status=202)
    if (error := error_of(job)) is not None:
        raise InputRejected("job_ended", f"The task failed: {error.detail}")
    form = form_of(MineruForm, job)
    media_type, pieces = "application/json", _json_pieces
    if form.response_format_zip:
        media_type, pieces = "application/zip", _zip_pieces
    return PiecewiseResponse(call, media_type, lambda permit: pieces(ResultReader(call, job, permit), form))


def _json_files(form: MineruForm) -> dict[str, PagewiseElements]:
    """The requested files of JSON, by their names in results."""
    files = {}
    if form.return_content_list:
        files["content_list"] = content_list()
    if form.return_middle_json:
        files["middle_json"] = middle_json()
    return files


def _json_pieces(reader: ResultReader, form: MineruForm) -> AsyncGenerator[bytes]:
    markdown, images = PagewiseMarkdown(embedded=False), reader.job.options.task.images
    files: dict[str, PagewiseFormat] = {"md_content": markdown, **_json_files(form)}
    found = {name: token_hex(16) for name in (*files, *(["images"] if images else []))}
    parts = {found[name]: reader.json_text(renderer) for name, renderer in files.items()}
    if images:
        parts[found["images"]] = _image_pieces(markdown.images, reader)
    results = {_stem(reader.job.name): found}
    return filled_json({"backend": "inkgate", "version": __version__, "results": results}, parts)


async def _image_pieces(images: Sequence[BlockImage], reader: ResultReader) -> AsyncGenerator[bytes]:
    """The images as JSON: `data:` URLs by their names. `images` is complete when this begins."""
    shown = orjson.dumps({image.name: image.data_url for image in images})
    async with aclosing(reader.images.filled(shown)) as pieces:
        async for piece in pieces:
            yield piece


def _zip_pieces(reader: ResultReader, form: MineruForm) -> AsyncGenerator[bytes]:
    """A folder for each document, with its files in one by how it was read."""
    name = folder_name(_stem(reader.job.name))
    folder = f"{name}/{form.folder(PurePosixPath(reader.job.name).suffix)}/"
    files = {f"{name}_{kind.removesuffix('_json')}.json": found for kind, found in _json_files(form).items()}
    return archive_pieces(reader, folder, f"{name}.md", files)


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
        return ReadRequest(found, how, Native.FORM, partial(_response_of, _stem(found.name), options))

    def problem(self, problem: Problem) -> Response:
        return json_error(problem, problem_with_remedy(problem))


def _response_of(name: str, options: MineruOptions, result: DocumentResult) -> dict[str, Any]:
    images = {image.name: image.data_url for page in result.pages for image in images_on(page)}
    files = {
        kind: (file.begin() + b"".join(map(file.page, result.pages)) + file.end()).decode()
        for kind, file in _json_files(options).items()
    }
    markdown = without_marks(result)
    found = MineruMarkdown(md_content=markdown, images=images if options.return_images else None, **files)
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
    return DocumentResponse(context_of(request), lambda _: MineruFile())
