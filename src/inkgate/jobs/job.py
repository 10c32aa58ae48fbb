"""Values of jobs: documents that are read later, and whose results are kept.

Times are Unix times in seconds. Pages count from 0.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from inkgate.caller import Caller, Priority
from inkgate.settings import PdfText
from inkgate_client.types import Document, DocumentResult, Task

WEBHOOK = "webhook"
"""The sink that is the job's own URL."""


class JobState(StrEnum):
    """State of a job.

    queued -> running -> succeeded   every page was read
                      -> partial     some pages failed
                      -> failed      no page has any result
                      -> quarantined the document kills its reader
    queued | running -> cancelling -> cancelled
    """

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self not in (JobState.QUEUED, JobState.RUNNING, JobState.CANCELLING)


@dataclass(frozen=True, slots=True)
class JobSource:
    """The place of a job's document: an upload, by the SHA-256 of its bytes, or an object, by its URL.

    `etag`, `version`: of the object; a job whose object was replaced fails instead of reading other bytes.
    """

    upload: str = ""
    url: str = ""
    etag: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """How to read. `pages` such as `1-3`, from 1; empty: all. `password`: of an encrypted PDF; forgotten when the job
    ends. `form`: what the wire format that added the job needs for its responses, as JSON; it changes no reading.
    """

    task: Task = Task()
    pages: str = ""
    pdf_text: PdfText | None = None
    password: str = field(default="", repr=False)
    form: str = ""


class JobReview(StrEnum):
    """What became of the fields of a job that asks for some.

    `waiting`: they are found at the job's end. `complete`: nothing to look at. `needs_review`: a person should look.
    `reviewed`: a person has looked, and corrected what was wrong.
    """

    WAITING = "waiting"
    COMPLETE = "complete"
    NEEDS_REVIEW = "needs_review"
    REVIEWED = "reviewed"


@dataclass(frozen=True, slots=True)
class JobFields:
    """The fields that a job finds: at most one of `type`, `schema` (JSON text) and `names`; none: the document's type
    is found by its words.
    """

    type: str = ""
    schema: str = field(default="", repr=False)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add.

    Attributes:
        tenant: who owns it; others can't see it.
        name: of the document, for people.
        pipeline: whose sinks get the result; empty: none.
        webhook: URL that is told of the end; empty: none.
        deadline: Unix time after which no page is begun; None: no deadline.
        key: idempotency key within the tenant: of two jobs with one key, one is added. Empty: none.
        fields: to find in the whole document at the job's end; None: none.
    """

    tenant: str
    source: JobSource
    name: str = "document"
    options: JobOptions = JobOptions()
    priority: Priority = Priority.BATCH
    pipeline: str = ""
    webhook: str = field(default="", repr=False)
    deadline: float | None = None
    key: str = ""
    fields: JobFields | None = None


@dataclass(frozen=True, slots=True)
class AddedJob:
    """The job's ID, and whether it was there before, by its key."""

    id: str
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class JobDocument:
    """What is known of a document once it was opened."""

    mime_type: str
    byte_count: int
    page_count: int
    engine: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a job ended without success: a stable code (docs/reference/errors.md), and what happened."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands.

    Attributes:
        pages: number of pages to read; None until the document was opened.
        saved, failed: pages with a result, and how many of them have an error.
        attempts: processes that died at it, without a page saved since.
        document: None until it was opened.
        not_before: when it is tried again, if it waits for that.
        review: of its fields; None for a job that finds none, and once they are no longer kept.
        expired: its upload and its result are no longer kept.
    """

    id: str
    tenant: str
    state: JobState
    name: str
    source: JobSource
    options: JobOptions
    priority: Priority
    pipeline: str
    webhook: str = field(repr=False)
    created: float
    not_before: float
    started: float | None
    ended: float | None
    deadline: float | None
    pages: int | None
    saved: int
    failed: int
    attempts: int
    document: JobDocument | None
    failure: JobFailure | None
    review: JobReview | None = None
    expired: bool = False

    @property
    def caller(self) -> Caller:
        """The caller on whose behalf it is read."""
        return Caller(self.tenant, self.priority, flow=self.id, priority_given=True)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list: those in one of the states, with one of the reviews, and with `form` in `JobOptions.form`;
    empty: all. Newest first.
    """

    states: Collection[JobState] = ()
    reviews: Collection[JobReview] = ()
    oldest_first: bool = False
    form: str = ""


ALL_JOBS = JobFilter()


@dataclass(frozen=True, slots=True)
class JobForecast:
    """The time at which a queued or running job may end. `ahead`: queued jobs before it, at most 10,000. `eta_s`:
    seconds until its end; None if no page was saved in the last five minutes.
    """

    ahead: int
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Counts over all tenants. `queued_pages`: pages to read of queued and running jobs, counting a document that was
    not opened yet as one. `oldest_s`: age of the oldest queued job that is due. `abandoned`: jobs whose worker is gone
    and that no other has taken over yet. `outbox_oldest_s`: how long the first delivery that is due has been due.
    """

    by_state: Mapping[JobState, int]
    queued_pages: int
    oldest_s: float
    pages_per_s: float
    outbox_waiting: int
    outbox_dead: int
    abandoned: int = 0
    outbox_oldest_s: float = 0.0


async def _no_fields() -> None:
    """Returns nothing: the job finds no fields."""


async def _no_original() -> Document:
    """Raises LookupError: the delivery was made without the original."""
    raise LookupError


@dataclass(frozen=True, slots=True)
class Delivery:
    """A result to deliver to one sink. Made in the transaction that ends the job, delivered at least once.

    Attributes:
        id: the same for all attempts: receivers drop what they had.
        sink: name of a sink of the settings; `webhook` for the job's own URL.
        attempt: from 1.
        load: the document; not called by sinks that don't need it. Raises LookupError if no page has a result.
        fields: what was found in the document, with corrections, as published; None: no fields.
        original: the document as it was read. Raises InputRejected if it is no longer there, EngineFailed if it can't
            be reached.
    """

    id: str
    sink: str
    job: Job
    attempt: int
    load: Callable[[], Awaitable[DocumentResult]]
    fields: Callable[[], Awaitable[Mapping[str, Any] | None]] = _no_fields
    original: Callable[[], Awaitable[Document]] = _no_original
