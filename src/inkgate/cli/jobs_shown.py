"""Jobs as tables for people and as JSON for programs. Imported when a command of `inkgate jobs` runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from inkgate.cli.plain_tables import add_row, plain_table, wide_console
from inkgate.doctor.findings import duration
from inkgate.jobs.job import Job, JobCounts, JobForecast
from inkgate.jobs.published import job_to_dict, rfc3339
from inkgate.jobs.store import JobStore, StoredDelivery
from inkgate_client.codec import encodable
from inkgate_client.jobs import JobStatus

_PAGES_AT_ONCE = 200
_MAX_PAGES = 20


@dataclass(frozen=True, slots=True)
class FailedPage:
    """A page of a job that failed. `page`: from 1."""

    page: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class JobDetails:
    """What `show` shows. `pages`: those that failed, at most 20."""

    job: Job
    forecast: JobForecast | None
    pages: Sequence[FailedPage]
    deliveries: Sequence[StoredDelivery]


async def failed_pages(store: JobStore, job: Job) -> list[FailedPage]:
    """The first pages that failed."""
    found: list[FailedPage] = []
    after = -1
    while len(found) < min(job.failed, _MAX_PAGES):
        pages = await store.pages(job.id, after, _PAGES_AT_ONCE)
        if not pages:
            break
        found += [
            FailedPage(page.index + 1, page.error.code, page.error.detail) for page in pages if page.error is not None
        ]
        after = pages[-1].index
    return found[:_MAX_PAGES]


def as_row(job: Job) -> dict[str, Any]:
    """The published form of a job, and its tenant."""
    return {**job_to_dict(job), "tenant": encodable(job.tenant)}


def details_as_dict(details: JobDetails) -> dict[str, Any]:
    """All that `show` shows."""
    forecast = details.forecast
    return {
        **as_row(details.job),
        "ahead": None if forecast is None else forecast.ahead,
        "eta_s": None if forecast is None or forecast.eta_s is None else round(forecast.eta_s, 1),
        "failed_pages": [asdict(page) for page in details.pages],
        "deliveries": [{**asdict(each), "not_before": rfc3339(each.not_before)} for each in details.deliveries],
    }


def print_jobs(found: Sequence[Job], counts: JobCounts, now: float) -> None:
    """A table of jobs, and a line about the whole queue. `now`: Unix time in seconds."""
    table = plain_table("ID", "STATE", "PAGES", "AGE", "TENANT", "PIPELINE", "NAME", "ERROR")
    for job in found:
        error = "" if job.failure is None else job.failure.code
        age = duration(max(0, round(now - job.created)))
        add_row(table, job.id, job.state.value, _pages(job), age, job.tenant, job.pipeline, job.name, error)
    console = wide_console()
    if found:
        console.print(table)
    console.print(Text(_summary(counts)))


def print_statuses(found: Sequence[JobStatus], now: float) -> None:
    """A table of the caller's jobs, as the service shows them. `now`: Unix time in seconds."""
    table = plain_table("ID", "STATE", "PAGES", "AGE", "PIPELINE", "NAME", "ERROR")
    for job in found:
        error = "" if job.error is None else job.error.code
        age = duration(max(0, round(now - job.created.timestamp())))
        pages = _pages_in_words(job.pages.saved, job.pages.total, job.pages.failed)
        add_row(table, job.id, job.state, pages, age, job.pipeline or "", job.name, error)
    if found:
        wide_console().print(table)


def print_status(job: JobStatus) -> None:
    """The job as the service shows it, as a list."""
    table = Table(box=None, show_header=False, pad_edge=False)
    shown = {"id": job.id, "state": job.state, "name": job.name, "pipeline": job.pipeline, "priority": job.priority}
    shown["created"] = rfc3339(job.created.timestamp())
    shown["ended"] = None if job.ended is None else rfc3339(job.ended.timestamp())
    shown["pages"] = _pages_in_words(job.pages.saved, job.pages.total, job.pages.failed)
    shown["ahead"] = None if job.position is None else f"{job.position} jobs"
    shown["ends"] = None if job.eta_s is None else f"in about {duration(round(job.eta_s))}"
    shown["error"] = None if job.error is None else f"{job.error.code}: {job.error.detail}"
    for name, value in shown.items():
        if value is not None:
            add_row(table, name, value)
    wide_console().print(table)


def print_details(details: JobDetails) -> None:
    """The job as a list, then its failed pages and deliveries."""
    console = wide_console()
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _facts(details):
        add_row(table, name, value)
    console.print(table)
    if details.pages:
        pages = plain_table("PAGE", "CODE", "DETAIL")
        for page in details.pages:
            add_row(pages, str(page.page), page.code, page.detail)
        more = details.job.failed - len(details.pages)
        console.print("\nFailed pages" + (f" (and {more} more)" if more > 0 else ""))
        console.print(pages)
    if details.deliveries:
        deliveries = plain_table("SINK", "STATE", "ATTEMPTS", "NEXT", "LAST ERROR")
        for each in details.deliveries:
            due = rfc3339(each.not_before) if each.state == "waiting" else ""
            add_row(deliveries, each.sink, each.state, str(each.attempts), due, each.error)
        console.print("\nDeliveries")
        console.print(deliveries)


def _facts(details: JobDetails) -> Iterator[tuple[str, str]]:
    job, forecast = details.job, details.forecast
    published = as_row(job)
    for name in ("id", "state", "name", "tenant", "pipeline", "priority", "created", "started", "ended", "deadline"):
        if published[name] is not None:
            yield name, str(published[name])
    source = published["source"]
    yield "source", str(source["url"] or f"upload {source['upload']}")
    yield "pages", _pages(job)
    if forecast is not None:
        yield "ahead", f"{forecast.ahead} jobs"
        yield "ends", "unknown" if forecast.eta_s is None else f"in about {duration(round(forecast.eta_s))}"
    if job.attempts:
        yield "attempts", f"{job.attempts} processes ended at it"
    if job.failure is not None:
        yield "error", f"{job.failure.code}: {job.failure.detail}"


def _pages(job: Job) -> str:
    return _pages_in_words(job.saved, job.pages, job.failed)


def _pages_in_words(saved: int, total: int | None, failed: int) -> str:
    return f"{saved} of {'?' if total is None else total}" + (f", {failed} failed" if failed else "")


def _summary(counts: JobCounts) -> str:
    by_state = ", ".join(f"{count} {state.value}" for state, count in counts.by_state.items() if count)
    backlog = f"; {counts.queued_pages} pages to read" if counts.queued_pages else ""
    if counts.queued_pages and counts.pages_per_s:
        backlog += f" in about {duration(round(counts.queued_pages / counts.pages_per_s))}"
    dead = f"; {counts.outbox_dead} deliveries given up" if counts.outbox_dead else ""
    return f"In all: {by_state or 'no jobs'}{backlog}{dead}."
