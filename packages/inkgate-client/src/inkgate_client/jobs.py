"""Values and requests of jobs, shared by the blocking and the asynchronous client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from pydantic import TypeAdapter

from inkgate_client.errors import ServiceError
from inkgate_client.fields.asked import WantedFields
from inkgate_client.job_fields import extract_option
from inkgate_client.requests import READ_S, TEXT, ClientRequest, ReadOptions, options_of

LONGEST_WAIT_S = 30.0
"""Longest wait of one request; proxies close connections that are silent for a minute."""
_PATH = "/v1/jobs"
_GOING_ON = frozenset({"queued", "running", "cancelling"})


@dataclass(frozen=True, slots=True)
class JobPageCounts:
    """Progress: pages to read (None until the document was opened), pages with a result, and those with an error."""

    total: int | None
    saved: int
    failed: int


@dataclass(frozen=True, slots=True)
class JobProblem:
    """Why a job failed."""

    code: str
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as it stands.

    Attributes:
        state: `queued`, `running`, `cancelling`, `succeeded`, `partial`, `failed`, `quarantined` or `cancelled`.
        name: of the document.
        attempts: processes that died at it, without a page saved since.
        deadline: after it, no page is begun.
        position: queued jobs before it; None in lists, and unless queued.
        eta_s: seconds until its end, if known; None in lists.
        review: of its fields: `waiting`, `complete`, `needs_review` or `reviewed`; None without fields.
    """

    id: str
    state: str
    name: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    deadline: datetime | None
    pages: JobPageCounts
    attempts: int
    priority: str
    pipeline: str | None
    error: JobProblem | None
    position: int | None
    eta_s: float | None
    review: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.state not in _GOING_ON


@dataclass(frozen=True, slots=True)
class JobListPage:
    """Jobs, latest first. `next`: value of `after` for the following ones; None at the end."""

    jobs: tuple[JobStatus, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class JobAs:
    """Options of a job, besides those of reading.

    Attributes:
        key: idempotency key: of two jobs with one key, one is added.
        pipeline: one of the service's settings whose tenant you are.
        webhook: URL that is told of the end.
        extract: fields to find in the whole document.
    """

    key: str = ""
    pipeline: str = ""
    webhook: str = field(default="", repr=False)
    extract: WantedFields | None = None


AS_JOB = JobAs()
"""Options of a job without a key, a pipeline and a webhook."""

parse_job = TypeAdapter(JobStatus).validate_json
parse_jobs = TypeAdapter(JobListPage).validate_json


class JobUnfinished(ServiceError):
    """The job had not ended in time. It goes on; wait again."""


def submission(read_as: ReadOptions, job_as: JobAs, file: tuple[str, bytes] | None, url: str = "") -> ClientRequest:
    """The request that adds a job: for `file` (name and bytes), or for the object at `url`."""
    options = options_of(read_as) | {"pipeline": job_as.pipeline, "webhook": job_as.webhook}
    if read_as.priority:
        options["priority"] = read_as.priority
    if read_as.timeout_s is not None:
        options["timeout_s"] = str(read_as.timeout_s)
    given: dict[str, Any] = {option: value for option, value in options.items() if value}
    if job_as.extract is not None:
        if read_as.task == TEXT.task:
            given.pop("task", None)  # fields need the pages' blocks, too
        wanted = extract_option(job_as.extract)
        given["extract"] = wanted if file is None else orjson.dumps(wanted).decode()
    headers = {"Idempotency-Key": job_as.key} if job_as.key else {}
    if file is not None:
        return ClientRequest("POST", _PATH, headers=headers, data=given, file=file, wait_s=READ_S)
    body = orjson.dumps({"source": {"url": url}, **given})
    return ClientRequest("POST", _PATH, headers=headers | {"Content-Type": "application/json"}, content=body)


def job_request(method: str, job_id: str, part: str = "", wait_s: float = 0.0) -> ClientRequest:
    """A request for one job. `wait_s`: how long the service may wait for its end."""
    params = {"wait": f"{wait_s:.3f}"} if wait_s else {}
    limit_s = wait_s + LONGEST_WAIT_S if wait_s else None
    return ClientRequest(method, f"{_PATH}/{job_id}{part}", params=params, wait_s=limit_s)


def result_request(job_id: str, format: str) -> ClientRequest:  # noqa: A002 - the option's name
    """The request for a job's result."""
    return ClientRequest("GET", f"{_PATH}/{job_id}/result", params={"format": format}, wait_s=READ_S)


def pages_request(job_id: str, after: int) -> ClientRequest:
    """The request for the pages of a job above the index `after`, as they are read."""
    return ClientRequest("GET", f"{_PATH}/{job_id}/pages", params={"after": after}, wait_s=READ_S)


def list_request(
    states: Sequence[str], after: str, limit: int, reviews: Sequence[str] = (), *, oldest_first: bool = False
) -> ClientRequest:
    """The request for jobs in these states and with these reviews; none: in all."""
    params: dict[str, str | int | Sequence[str]] = {"limit": limit}
    if reviews:
        params["review"] = list(reviews)
    if oldest_first:
        params["order"] = "oldest"
    if states:
        params["state"] = list(states)
    if after:
        params["after"] = after
    return ClientRequest("GET", _PATH, params=params)
