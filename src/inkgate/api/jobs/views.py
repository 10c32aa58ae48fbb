"""Jobs as responses: their JSON with links and forecast, and the errors of ended jobs."""

from __future__ import annotations

import math
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.errors import CODES, EngineFailed, InkgateError, InputRejected, from_page_error
from inkgate.jobs.job import Job, JobForecast, JobState
from inkgate.jobs.published import job_to_dict
from inkgate_client.types import DocumentStatus, PageError

JOBS_PATH = "/v1/jobs"
_UNKNOWN_RETRY_S = 5
_LONGEST_RETRY_S = 60

StateName = Literal["queued", "running", "cancelling", "succeeded", "partial", "failed", "quarantined", "cancelled"]


class JobPagesAnswer(BaseModel):
    """Progress of a job."""

    total: int | None = Field(description="Pages to read; null until the document was opened.")
    saved: int = Field(description="Pages that have a result.")
    failed: int = Field(description="How many of these have an error.")


class JobSourceAnswer(BaseModel):
    """The document's place."""

    upload: str | None = Field(description="SHA-256 of an upload.")
    url: str | None = Field(description="URL of an object, without user, password and query.")
    etag: str | None
    version: str | None


class JobErrorAnswer(BaseModel):
    """Why a job ended without success."""

    code: str = Field(description="Stable: programs may rely on it.")
    detail: str
    remedy: str


class JobLinks(BaseModel):
    """Paths of a job."""

    self: str
    result: str
    pages: str
    events: str
    fields: str


class JobAnswer(BaseModel):
    """A job. Times are in RFC 3339."""

    id: str
    state: StateName
    name: str = Field(description="Of the document.")
    created: str
    started: str | None
    ended: str | None
    deadline: str | None = Field(description="After it, no page is begun.")
    pages: JobPagesAnswer
    attempts: int = Field(description="Processes that died at it, without a page saved since.")
    priority: Literal["interactive", "normal", "batch"]
    pipeline: str | None
    review: Literal["waiting", "complete", "needs_review", "reviewed"] | None = Field(
        description="Of the fields; null for a job without `extract`, and once they are no longer stored."
    )
    source: JobSourceAnswer
    error: JobErrorAnswer | None
    position: int | None = Field(description="Queued jobs before it, at most 10,000. Null in lists, and unless queued.")
    eta_s: float | None = Field(description="Seconds until its end, if known. Null in lists.")
    links: JobLinks


class JobListAnswer(BaseModel):
    """Jobs, latest first."""

    jobs: list[JobAnswer]
    next: str | None = Field(description="Value of `after` for the following jobs; null at the end.")


def job_view(job: Job, forecast: JobForecast | None, root: str) -> dict[str, Any]:
    """The JSON of a job, as JobAnswer says. `root`: root path of the service."""
    path = f"{root}{JOBS_PATH}/{job.id}"
    links = {"self": path} | {part: f"{path}/{part}" for part in ("result", "pages", "events", "fields")}
    queued = forecast is not None and job.state is JobState.QUEUED
    eta_s = None if forecast is None or forecast.eta_s is None else round(forecast.eta_s, 1)
    return job_to_dict(job) | {
        "position": forecast.ahead if queued and forecast else None,
        "eta_s": eta_s,
        "links": links,
    }


def root_of(request: Request) -> str:
    """Path under which clients see the service, without a slash at the end."""
    return request.base_url.path.rstrip("/")


def retry_after_s(forecast: JobForecast | None) -> int:
    """Returns when to ask again for a job that has not ended: by the forecast, from 1 to 60 seconds."""
    if forecast is None or forecast.eta_s is None:
        return _UNKNOWN_RETRY_S
    return min(max(1, math.ceil(forecast.eta_s)), _LONGEST_RETRY_S)


def job_response(request: Request, job: Job, forecast: JobForecast | None, status: int = 200) -> Response:
    """The response that shows `job`."""
    headers = {} if job.state.ended else {"Retry-After": str(retry_after_s(forecast))}
    if status == 202:
        headers["Location"] = f"{root_of(request)}{JOBS_PATH}/{job.id}"
        headers["Operation-Location"] = f"{str(request.base_url).rstrip('/')}{JOBS_PATH}/{job.id}"
    return json_response(job_view(job, forecast, root_of(request)), status, headers)


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, headers=headers, media_type="application/json")


def error_of(job: Job) -> InkgateError | None:
    """The error of a job that has no result; None if it has one.

    "job_not_ended" if it goes on, "job_cancelled" if it was cancelled, else why it failed.
    """
    if not job.state.ended:
        return InputRejected("job_not_ended", f"The job is {job.state.value}.")
    if job.state is JobState.CANCELLED:
        return InputRejected("job_cancelled", "The job was cancelled before its end.")
    if job.state in (JobState.SUCCEEDED, JobState.PARTIAL):
        return None
    if job.failure is None or job.failure.code not in CODES:  # a code of another version may be in the database
        detail = "The job has no result." if job.failure is None else job.failure.detail
        return EngineFailed("internal", detail)
    return from_page_error(PageError(job.failure.code, job.failure.detail, CODES[job.failure.code].remedy))


def expired_error() -> InkgateError:
    """The error of a job whose pages are no longer stored."""
    return InputRejected("job_expired", "The result is no longer kept.")


def status_of(job: Job) -> DocumentStatus:
    """Status of the document of an ended job."""
    if job.state is JobState.SUCCEEDED:
        return DocumentStatus.COMPLETE
    return DocumentStatus.PARTIAL if job.state is JobState.PARTIAL else DocumentStatus.FAILED
