"""Requests for batches: their lines, and the jobs of these."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from inkgate.api.http.decoding import parse_json
from inkgate.api.http.options import StopAtFirst, parse
from inkgate.api.http.uploads import clean_name
from inkgate.api.jobs.request import ReceivedJob, checked, pages_text
from inkgate.api.mistral_response import DocumentSource, MistralOptions, MistralRequest
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobFields, JobOptions, JobSource, NewJob
from inkgate.jobs.service import JobService
from inkgate_client.codec import encodable
from inkgate_client.fields.asked import WantedFields
from inkgate_client.types import Task, TaskKind

MAX_LINES = 1000
_HOUR_S = 3600.0


class BatchLine(BaseModel):
    """A line of a batch: the body of a request to `/v1/ocr`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    custom_id: Annotated[str, Field(max_length=512)] | None = None
    body: dict[str, Any]


class MistralBatchRequest(BaseModel):
    """A batch: lines in JSONL files that were uploaded to `/v1/files`, or in `requests`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    endpoint: Literal["/v1/ocr"]
    input_files: Annotated[list[str], Field(max_length=100), StopAtFirst()] | None = None
    requests: Annotated[list[BatchLine], Field(max_length=MAX_LINES), StopAtFirst()] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    metadata: Annotated[dict[str, str], Field(max_length=50)] | None = None
    timeout_hours: Annotated[int, Field(ge=1, le=24 * 7)] = 24


@dataclass(frozen=True, slots=True)
class BatchHead:
    """What belongs to the whole batch; stored with its first line."""

    input_files: tuple[str, ...]
    metadata: dict[str, str] | None
    model: str | None


@dataclass(frozen=True, slots=True)
class LineForm:
    """What is stored with the job of a line, in `JobOptions.form`."""

    batch: str
    line: int
    custom_id: str | None
    options: dict[str, Any]
    head: BatchHead | None = None


_LINE_FORM: TypeAdapter[LineForm] = TypeAdapter(LineForm)
_FORM_START = '{"batch":'


def line_form(job: Job) -> LineForm | None:
    """What is stored with the job of a line; None for other jobs."""
    return _LINE_FORM.validate_json(job.options.form) if job.options.form.startswith(_FORM_START) else None


async def lines_of(
    requested: MistralBatchRequest, received: ReceivedJob, hold: Callable[[int], None]
) -> AsyncIterator[BatchLine]:
    """The lines of a batch, one at a time, as each may hold a document. `hold`: charges the bytes of body and file."""
    count = 0
    for line in requested.requests or ():
        count += 1
        yield line
    for file_id in requested.input_files or ():
        files = received.context.files
        file = await files.get(file_id, received.tenant)
        hold(received.head.body_bytes + file.byte_count)
        data = await files.load(file)
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            raw, start = (data[start:], len(data)) if end < 0 else (data[start:end], end + 1)
            if not raw.strip():
                continue
            count += 1
            if count > MAX_LINES:
                raise InputRejected("options_invalid", f"A batch may have {MAX_LINES} lines.")
            try:
                fields = await received.context.bodies.run(received.caller, len(raw), parse_json, raw)
                yield parse(BatchLine, fields if isinstance(fields, dict) else {})
            except InputRejected as error:
                raise InputRejected(error.code, f"Line {count}: {error.detail}") from error


async def job_of(
    jobs: JobService,
    received: ReceivedJob,
    requested: MistralBatchRequest,
    form: LineForm,
    line: BatchLine,
    stored: dict[str, JobSource],
) -> NewJob:
    """The job of a line; its upload is stored. `stored`: where the files of `/v1/files` that earlier lines name are
    stored, by ID; many lines may name one. Raises InputRejected, with the number of the line.
    """
    context = received.context
    try:
        options = parse(MistralOptions, line.body)
        options.refuse_what_is_missing(await context.served.accepted())
        if options.figure_schema():
            raise InputRejected("feature_unavailable", "`bbox_annotation_format` is not supported in batches.")
        source = parse(MistralRequest, line.body).document
        schema = options.annotation_schema()
        if schema:
            await context.service.fields.wanted(WantedFields(schema=schema), received.caller)
        shown = options.model_dump(exclude_none=True, exclude={"model", "document_annotation_format"})
        head = (
            BatchHead(tuple(requested.input_files or ()), requested.metadata, requested.model)
            if form.line == 0
            else None
        )
        form = replace(form, custom_id=line.custom_id, options=shown, head=head)
        name = clean_name(encodable(source.document_name or "")) or "document"
        place, data, name = await _source(source, received, name)
        job = NewJob(
            tenant=received.tenant,
            source=place,
            name=name,
            options=JobOptions(
                Task(kind=TaskKind.PARSE, images=options.images),
                pages_text(select(options.pages, first=0)),
                form=_LINE_FORM.dump_json(form).decode(),
            ),
            priority=received.priority(),
            deadline=datetime.now(UTC).timestamp() + requested.timeout_hours * _HOUR_S,
            key=f"batch 0 {received.key}" if received.key and form.line == 0 else "",
            fields=JobFields(schema=schema) if schema else None,
        )
        file_id = source.file_id if source.url is None else None
        if file_id is None:
            return await jobs.keep(job, data)
        if file_id not in stored:
            stored[file_id] = (await jobs.keep(job, data)).source
        return replace(job, source=stored[file_id])
    except InputRejected as error:
        raise InputRejected(error.code, f"Line {form.line + 1}: {error.detail}") from error


async def _source(source: DocumentSource, received: ReceivedJob, name: str) -> tuple[JobSource, bytes | None, str]:
    if source.file_id is not None and source.url is None:
        found = checked(await received.context.sources.from_file_id(source.file_id, received.tenant))
        return JobSource(), found.data, found.name
    # One request must not wait for 1,000 others.
    return await received.from_url(source.url or "", name, fetch=False)
