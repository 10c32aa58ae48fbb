"""Requests for jobs: options, sources, and the headers that belong to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError
from starlette.requests import Request

from inkgate.api.http.context import Context
from inkgate.api.http.head import PRIORITY_HEADER, RequestHead
from inkgate.api.http.options import Native, OcrOptions, StopAtFirst, check_names, choose, parse
from inkgate.api.http.sources import MAX_URL_LENGTH
from inkgate.api.http.uploads import UploadedBody, clean_name
from inkgate.caller import Caller, Priority
from inkgate.documents.pages import PageSelection
from inkgate.documents.sniff import sniff
from inkgate.errors import InputRejected
from inkgate.jobs.documents import prefix_of
from inkgate.jobs.finding import field_request_of
from inkgate.jobs.job import Job, JobFields, JobOptions, JobSource, NewJob
from inkgate.jobs.sinks.webhook import check_webhook
from inkgate.settings import Settings
from inkgate_client.codec import encodable
from inkgate_client.types import Document, Task, TaskKind

M = TypeVar("M", bound=BaseModel)

KEY_HEADER = "Idempotency-Key"
_LONGEST_KEY = 255
_LONGEST_S = 366 * 86_400.0
_DEFAULT_NAME = "document"
_UPLOADED = "/v1/files/"
"""Path in the URLs of uploaded files, which are read without the network."""


class JobSourceRequest(BaseModel):
    """The document's place: the URL of an object, or the ID of an uploaded file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[StrictStr, Field(min_length=1, max_length=MAX_URL_LENGTH)] | None = None
    etag: Annotated[StrictStr, Field(max_length=200)] | None = None
    version: Annotated[StrictStr, Field(max_length=1024)] | None = None
    file_id: Annotated[StrictStr, Field(min_length=1, max_length=64)] | None = None


class ExtractRequest(BaseModel):
    """The fields to find: one of `type`, `schema` and `fields`. Without any, the document's type is found."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: Annotated[StrictStr, Field(max_length=100)] | None = None
    json_schema: Annotated[StrictStr | dict[str, Any] | None, Field(alias="schema", repr=False)] = None
    fields: StrictStr | Annotated[list[StrictStr], StopAtFirst()] | None = None

    def job_fields(self) -> JobFields:
        """The fields as a job stores them. Raises InputRejected."""
        names = OcrOptions(fields=self.fields).field_names()
        schema = self.json_schema
        if isinstance(schema, dict):
            try:
                schema = json.dumps(schema, ensure_ascii=False, allow_nan=False)
            except (ValueError, RecursionError) as error:
                raise InputRejected("schema_invalid", "The schema can't be used: it is not JSON.") from error
        return JobFields(self.type or "", encodable(schema or ""), names)


def of_text(value: object) -> object:
    """An option that forms have as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None


SHOWN_LATER = frozenset({"coordinates", "marks", "chunk_tokens", "chunk_characters", "chunk_overlap", "chunk_headings"})
"""Options of `/ocr` that a job has no use for: its result is shown in any form later."""


class JobRequest(OcrOptions):
    """A job: the options of `/ocr`, and those of jobs. Null and the empty string mean: not given."""

    source: Annotated[JobSourceRequest | None, Field(description="Not in forms, which have the part `file`.")] = None
    extract: Annotated[
        Annotated[ExtractRequest, BeforeValidator(of_text)] | None,
        Field(
            repr=False,
            description="Fields to find in the whole document: an object with `type`, `schema` or `fields`. Only in "
            "the body; in forms as JSON.",
        ),
    ] = None
    name: Annotated[
        Annotated[StrictStr, Field(max_length=MAX_URL_LENGTH)] | None,
        Field(description="The document's name, for people. Default: the file's."),
    ] = None
    priority: Annotated[Priority | None, Field(description="Default: the header X-Inkgate-Priority, or `batch`.")] = (
        None
    )
    pipeline: Annotated[
        Annotated[StrictStr, Field(max_length=63)] | None,
        Field(description="A pipeline of the settings whose `tenant` is the caller; its sinks get the result."),
    ] = None
    webhook: Annotated[
        Annotated[StrictStr, Field(max_length=MAX_URL_LENGTH)] | None,
        Field(repr=False, description="URL that is notified of the job's end."),
    ] = None
    timeout_s: Annotated[
        Annotated[float, Field(gt=0, le=_LONGEST_S)] | None,
        Field(description="Seconds after which no page of the job is begun."),
    ] = None
    deadline: Annotated[
        AwareDatetime | None, Field(description="The same as a time, such as `2026-11-24T08:00:00Z`.")
    ] = None


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job to submit, and the bytes of its document; None if its source is a URL."""

    job: NewJob
    data: bytes | None


@dataclass(frozen=True, slots=True)
class ReceivedJob:
    """A request for a job whose body has arrived."""

    context: Context
    head: RequestHead
    body: UploadedBody
    query: Mapping[str, str]
    key: str
    priority_named: bool

    @property
    def caller(self) -> Caller:
        return self.head.caller

    @property
    def tenant(self) -> str:
        return self.head.caller.tenant

    @property
    def settings(self) -> Settings:
        return self.context.settings

    def priority(self, named: Priority | None = None) -> Priority:
        """The class of the job: what is named in the body, else in the head, else `batch`; no higher than allowed."""
        given = named or (self.head.caller.priority if self.priority_named else Priority.BATCH)
        allowed = self.settings.serving.scheduling.priorities.get(self.tenant)
        return max(given, Priority(allowed) if allowed else given, key=lambda priority: priority.rank)

    async def from_url(self, url: str, name: str, *, fetch: bool = True) -> tuple[JobSource, bytes | None, str]:
        """The source at `url`, its bytes if they were sent with the request or fetched now, and its name.

        data: URLs and those of uploaded files become uploads. An http(s) URL that is below none of `jobs.sources` is
        fetched now if `fetch` and `fetch.enabled` allow it. All others are read by the job.

        Raises:
            InputRejected: there is no document, or it must not be fetched.
        """
        if self._sent_or_fetched(url, fetch=fetch):
            found = await self.context.sources.from_url(url, self.caller, name)
            return JobSource(), checked(found).data, found.name
        shown = clean_name(url.partition("?")[0]) if name == _DEFAULT_NAME else name
        return JobSource(url=url), None, shown or _DEFAULT_NAME

    def _sent_or_fetched(self, url: str, *, fetch: bool) -> bool:
        lower = url[:8].lower()
        if lower.startswith("data:"):
            return True
        if not lower.startswith(("http://", "https://")):
            return False
        try:
            prefix_of(url, self.settings.jobs.sources)
        except InputRejected:
            return (fetch and self.settings.fetch.enabled) or _UPLOADED in url
        return False


def checked(found: Document) -> Document:
    """The document. Raises InputRejected: "document_empty" or "type_unsupported"."""
    sniff(found.data)
    return found


def key_of_request(request: Request) -> str:
    """The idempotency key; empty if there is none. Raises InputRejected("options_invalid")."""
    key = request.headers.get(KEY_HEADER, "").strip()
    if len(key) > _LONGEST_KEY or not (key.isascii() and (key.isprintable() or not key)):
        detail = f"{KEY_HEADER} must have up to {_LONGEST_KEY} printable ASCII characters."
        raise InputRejected("options_invalid", detail)
    return key


def names_priority(request: Request) -> bool:
    return PRIORITY_HEADER in request.headers


async def parse_job(received: ReceivedJob) -> JobDraft:
    """The job that a request for `/v1/jobs` describes. Raises InputRejected."""
    check_names(JobRequest, received.body.names, received.query, ("file",))
    requested = parse(JobRequest, received.body.fields, received.query)
    if requested.webhook:
        check_webhook(requested.webhook, received.settings.webhooks)
    name = clean_name(encodable(requested.name or "")) or _DEFAULT_NAME
    source, data, name = await _source(requested, received, name)
    job = NewJob(
        tenant=received.tenant,
        source=source,
        name=name,
        options=options_of(requested),
        priority=received.priority(requested.priority),
        pipeline=_pipeline(requested.pipeline, received),
        webhook=requested.webhook or "",
        deadline=_deadline(requested),
        key=received.key,
        fields=await _fields(requested, received),
    )
    return JobDraft(job, data)


async def _fields(requested: JobRequest, received: ReceivedJob) -> JobFields | None:
    """The fields to find, checked. Raises InputRejected."""
    if requested.extract is None:
        return None
    if requested.task not in (None, TaskKind.TEXT, TaskKind.PARSE):
        raise InputRejected("options_invalid", "task: with `extract`, it must be `parse` or missing.")
    fields = requested.extract.job_fields()
    await received.context.service.fields.wanted(field_request_of(fields), received.caller)
    return fields


async def _source(requested: JobRequest, received: ReceivedJob, name: str) -> tuple[JobSource, bytes | None, str]:
    if received.body.is_form or received.body.raw:
        part = received.body.raw or received.body.files.get("file")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `file` with a filename.")
        sniff(part.data)
        return JobSource(), part.data, name if name != _DEFAULT_NAME else part.filename or name
    source = requested.source
    if source is None or (source.url is None) == (source.file_id is None):
        raise InputRejected("file_missing", "The JSON needs `source` with either `url` or `file_id`.")
    if source.file_id is not None:
        found = checked(await received.context.sources.from_file_id(source.file_id, received.tenant))
        return JobSource(), found.data, name if name != _DEFAULT_NAME else found.name
    place, data, name = await received.from_url(source.url or "", name)
    if data is None:
        place = JobSource(url=place.url, etag=source.etag or "", version=source.version or "")
    return place, data, name


def options_of(requested: OcrOptions) -> JobOptions:
    """How the job reads. `format` chooses the task that the format needs."""
    shape = choose(requested.format, None)
    task = Task(
        kind=requested.task_kind(shape),
        fields=requested.field_names(),
        language=requested.language or None,
        images=requested.images(Native.FORM),  # the result is shown in any format later
        invisible=requested.invisible,
    )
    password = requested.password or ""
    if "\0" in password:  # PostgreSQL can't store it, and no PDF has it
        raise InputRejected("options_invalid", "password: it has a NUL character.")
    return JobOptions(task, pages_text(requested.selection()), requested.pdf_text, password)


def form_of(model: type[M], job: Job) -> M:
    """What a protocol has stored in `JobOptions.form`; its defaults for a job of another protocol."""
    try:
        return model.model_validate_json(job.options.form or "{}")
    except ValidationError:
        return model()


def pages_text(selection: PageSelection | None) -> str:
    """The selection as JobOptions has it: from 1, such as `1-3,7,9-`."""
    parts = []
    for part in selection.ranges if selection else ():
        last = "" if part.end is None else part.end + 1
        parts.append(f"{part.start + 1}" if part.end == part.start else f"{part.start + 1}-{last}")
    return ",".join(parts)


def _pipeline(name: str | None, received: ReceivedJob) -> str:
    if not name:
        return ""
    pipeline = received.settings.pipelines.get(name)
    # Sinks may write into databases, so a caller can't use a pipeline that isn't theirs, nor learn that it exists.
    if pipeline is None or pipeline.tenant != received.tenant:
        raise InputRejected("options_invalid", "pipeline: you have no pipeline of this name.")
    return name


def _deadline(requested: JobRequest) -> float | None:
    now = datetime.now(UTC).timestamp()
    if requested.timeout_s is not None and requested.deadline is not None:
        raise InputRejected("options_invalid", "Give `timeout_s` or `deadline`, not both.")
    if requested.deadline is not None and requested.deadline.timestamp() <= now:
        raise InputRejected("options_invalid", "deadline: it has passed.")
    if requested.timeout_s is not None:
        return now + requested.timeout_s
    if requested.deadline is None:
        return None
    # Also because a zone can move a time into the year 10000, which no response can show.
    if (deadline := requested.deadline.timestamp()) > now + _LONGEST_S:
        raise InputRejected("options_invalid", "deadline: it is more than a year away.")
    return deadline


def file_schema() -> dict[str, Any]:
    """The JSON schema of a file in a form."""
    return {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
