"""Jobs for tests."""

from __future__ import annotations

from dataclasses import replace

from inkgate.caller import Priority
from inkgate.jobs.job import Delivery, Job, JobDocument, JobOptions, JobSource, JobState
from inkgate_client.types import DocumentResult, PageResult

SUCCEEDED = Job(
    id="job_01",
    tenant="key:0123456789ab",
    state=JobState.SUCCEEDED,
    name="receipt.png",
    source=JobSource(url="s3://scans/in/2026/receipt.png", etag="5d41402a"),
    options=JobOptions(),
    priority=Priority.BATCH,
    pipeline="receipts",
    webhook="",
    created=1_800_000_000.0,
    not_before=1_800_000_000.0,
    started=1_800_000_001.5,
    ended=1_800_000_003.25,
    deadline=None,
    pages=1,
    saved=1,
    failed=0,
    attempts=0,
    document=JobDocument("image/png", 1234, 1, "ppocr"),
    failure=None,
)
"""A job of one page that succeeded."""


def job(**changes: object) -> Job:
    """`SUCCEEDED` with other values."""
    return replace(SUCCEEDED, **changes)  # type: ignore[arg-type]  # the names are those of Job


def delivery(
    result: DocumentResult | None = None,
    *,
    key: str = "dlv_01",
    sink: str = "sink",
    attempt: int = 1,
    **changes: object,
) -> Delivery:
    """A delivery of a job with these values. `key`: its ID. `result`: None: no page has a result."""

    async def load() -> DocumentResult:
        if result is None:
            raise LookupError
        return result

    return Delivery(key, sink, job(**changes), attempt, load)


def document(*pages: PageResult, name: str = "receipt.png") -> DocumentResult:
    return DocumentResult(name, "image/png", 1234, len(pages), "ppocr", pages)
