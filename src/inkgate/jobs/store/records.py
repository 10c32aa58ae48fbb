"""Rows as jobs, and jobs as rows."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row

from inkgate.caller import Priority
from inkgate.jobs.job import (
    Job,
    JobDocument,
    JobFailure,
    JobFields,
    JobOptions,
    JobReview,
    JobSource,
    JobState,
    NewJob,
)
from inkgate_client.codec import dump_page, load_page
from inkgate_client.types import PageResult

_PRIORITIES = {priority.rank: priority for priority in Priority}
_SOURCE: TypeAdapter[JobSource] = TypeAdapter(JobSource)
_OPTIONS: TypeAdapter[JobOptions] = TypeAdapter(JobOptions)
_DOCUMENT: TypeAdapter[JobDocument] = TypeAdapter(JobDocument)
FIELDS: TypeAdapter[JobFields] = TypeAdapter(JobFields)


class JobIds:
    """Makes IDs that sort by their time, those of one process in the order in which they are made, and that can't be
    guessed.
    """

    def __init__(self) -> None:
        self._last = 0

    def make(self, now: float) -> str:
        """A new ID. `now`: Unix time in seconds."""
        self._last = max(int(now * 1000) << 16, self._last + 1)
        return f"{self._last:016x}{secrets.token_hex(8)}"


def new_row(job: NewJob, job_id: str) -> dict[str, Any]:
    """The columns of a new job that don't depend on the queue."""
    options = _OPTIONS.dump_json(replace(job.options, password="")).decode()
    source = _SOURCE.dump_json(job.source).decode()
    return {
        "id": job_id,
        "tenant": job.tenant,
        "state": JobState.QUEUED.value,
        "name": clean(job.name),
        "source": source,
        "upload": job.source.upload or None,
        "options": options,
        "password": clean(job.options.password) or None,
        "rank": job.priority.rank,
        "pipeline": job.pipeline,
        "webhook": clean(job.webhook),
        "key": key_hash(job.key) if job.key else None,
        "fingerprint": _fingerprint(job, source, options),
        "deadline": job.deadline,
        "review": None if job.fields is None else JobReview.WAITING.value,
    }


def key_hash(key: str) -> str:
    """The hash that stands for an idempotency key, of any length and with any characters."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def clean(text: str) -> str:
    """`text` as every database takes it: without NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _fingerprint(job: NewJob, source: str, options: str) -> str:
    """Equal for equal requests."""
    parts: tuple[str, ...] = (source, options, job.options.password, job.priority.value, job.pipeline, job.webhook)
    if job.fields is not None:  # the fingerprints of other jobs stay what they were in earlier versions
        parts = (*parts, FIELDS.dump_json(job.fields).decode())
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def job_of(row: Row[Any] | SimpleNamespace) -> Job:
    """The job of a row of `tables.jobs`, or of its values."""
    options = _OPTIONS.validate_json(row.options)
    failure = None if row.error_code is None else JobFailure(row.error_code, row.error_detail or "")
    return Job(
        id=row.id,
        tenant=row.tenant,
        state=JobState(row.state),
        name=row.name,
        source=_SOURCE.validate_json(row.source),
        options=replace(options, password=row.password or ""),
        priority=_PRIORITIES[row.rank],
        pipeline=row.pipeline,
        webhook=row.webhook,
        created=row.created,
        not_before=row.not_before,
        started=row.started,
        ended=row.ended,
        deadline=row.deadline,
        pages=row.pages,
        saved=row.saved,
        failed=row.failed,
        attempts=row.attempts,
        document=None if row.document is None else _DOCUMENT.validate_json(row.document),
        failure=failure,
        review=None if row.review is None else JobReview(row.review),
        expired=row.expired,
    )


def document_json(document: JobDocument) -> str:
    """The document as it is stored."""
    return _DOCUMENT.dump_json(document).decode()


@dataclass(frozen=True, slots=True)
class PackedPage:
    """A page's result as it is stored."""

    page: int
    failed: bool
    result: bytes


def pack(results: Sequence[PageResult]) -> list[PackedPage]:
    """The results as they are stored. Blocking: about a millisecond a page."""
    return [PackedPage(one.index, one.error is not None, zlib.compress(dump_page(one), 1)) for one in results]


def unpack(stored: bytes) -> PageResult:
    """The result of `PackedPage.result`. Raises ValueError. Blocking."""
    return load_page(zlib.decompress(stored))
