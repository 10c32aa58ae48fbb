"""Jobs as published JSON, for clients of `/v1/jobs` and for receivers of results."""

from __future__ import annotations

from datetime import UTC, datetime

from inkgate.errors import CODES
from inkgate.jobs.job import Job, JobFailure, JobSource
from inkgate_client.codec import Json, encodable


def job_to_dict(job: Job) -> Json:
    """The published form of a job: plain dicts, numbers and strings that UTF-8 can encode. No key is ever omitted;
    unknown values are null. It has neither password nor webhook, and URLs without what may be a secret.
    """
    return {
        "id": job.id,
        "state": job.state.value,
        "name": encodable(job.name),
        "created": rfc3339(job.created),
        "started": _optional_time(job.started),
        "ended": _optional_time(job.ended),
        "deadline": _optional_time(job.deadline),
        "pages": {"total": job.pages, "saved": job.saved, "failed": job.failed},
        "attempts": job.attempts,
        "priority": job.priority.value,
        "pipeline": job.pipeline or None,
        "review": None if job.review is None else job.review.value,
        "source": _source(job.source),
        "error": None if job.failure is None else _failure(job.failure),
    }


def rfc3339(time: float) -> str:
    """A Unix time in seconds, such as `2026-11-23T17:40:43.120Z`."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def public_url(url: str) -> str:
    """`url` without user name, password, query and fragment, in which presigned URLs have their signatures. URLs of
    object stores have none of these: there `?`, `#` and `@` are parts of the name.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https"):
        return url
    place, slash, path = rest.split("?", 1)[0].split("#", 1)[0].partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _optional_time(time: float | None) -> str | None:
    return None if time is None else rfc3339(time)


def _source(source: JobSource) -> Json:
    return {
        "upload": source.upload or None,
        "url": encodable(public_url(source.url)) if source.url else None,
        "etag": source.etag or None,
        "version": source.version or None,
    }


def _failure(failure: JobFailure) -> Json:
    code = CODES.get(failure.code, CODES["internal"])  # a code of another version may be in the database
    return {
        "code": failure.code,
        "detail": encodable(failure.detail),
        "remedy": code.remedy,
    }
