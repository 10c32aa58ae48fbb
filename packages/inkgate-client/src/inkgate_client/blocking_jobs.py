"""The blocking client. Written by scripts/write_blocking_client.py from awaited_jobs.py: change it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Unpack, overload

import httpx

from inkgate_client import jobs, requests
from inkgate_client.blocking_calls import Calls
from inkgate_client.codec import parse_document, parse_page
from inkgate_client.errors import ServiceError, service_errors
from inkgate_client.fields.asked import ModelT
from inkgate_client.files import Source
from inkgate_client.job_fields import JobFieldsFound, correction, job_fields_parser, job_fields_request
from inkgate_client.jobs import AS_JOB, LONGEST_WAIT_S, JobAs, JobListPage, JobStatus, JobUnfinished
from inkgate_client.requests import TEXT, ClientRequest, ReadKeywords, ReadOptions, options_given
from inkgate_client.retries import JOB_REQUESTS, Retries, pause
from inkgate_client.streams import PageStream, Summary
from inkgate_client.types import DocumentResult, PageResult


class JobPages:
    """The pages of a job as they are read; iterate once with `for`. If the connection breaks, it is opened again,
    and goes on after the last page. `summary` is available after the last page.
    """

    def __init__(self, calls: Calls, job_id: str, after: int) -> None:
        """`after`: index of the last page that is not wanted."""
        self.after = after
        self._calls = calls
        self._job_id = job_id
        self._answer: httpx.Response | None = None
        self._stream = PageStream(calls.url)

    @property
    def summary(self) -> Summary:
        return self._stream.summary

    def __iter__(self) -> Iterator[PageResult]:
        attempts = Retries(JOB_REQUESTS)
        while True:
            try:
                self._answer = self._calls.open(jobs.pages_request(self._job_id, self.after))
                self._stream = PageStream(self._calls.url)
                attempts.restore()  # proxies may close a stream on which nothing was sent for a while
                for page in self._pages(self._answer):
                    self.after = page.index
                    yield page
                _ = self.summary
            except ServiceError as error:
                pause_s = attempts.pause_s(error)
            else:
                return
            finally:
                self.close()
            pause(pause_s)

    def _pages(self, answer: httpx.Response) -> Iterator[PageResult]:
        with service_errors(self._calls.url):
            for chunk in answer.iter_bytes():
                for line in self._stream.cut(chunk):
                    yield requests.parse(parse_page, answer, self._calls.url, line)

    def close(self) -> None:
        """Closes the connection."""
        if self._answer is not None:
            self._answer.close()
            self._answer = None


class JobHandle:
    """A job of the service. `status`: as it was last seen."""

    def __init__(self, calls: Calls, status: JobStatus) -> None:
        self.status = status
        self._calls = calls

    @property
    def id(self) -> str:
        return self.status.id

    def refresh(self) -> JobStatus:
        """Asks for the status. Raises ServiceError."""
        return self._ask("GET")

    def wait(self, timeout_s: float | None = None) -> JobStatus:
        """Waits for the job's end; also while the service can't be reached for a minute at most.

        Raises:
            JobUnfinished: it had not ended after `timeout_s`.
            ServiceError: the service could not be reached, or the job was removed.
        """
        give_up = monotonic() + timeout_s if timeout_s is not None else float("inf")
        attempts = Retries(JOB_REQUESTS)
        while True:
            left_s = give_up - monotonic()
            try:
                self._ask("GET", wait_s=max(0.0, min(LONGEST_WAIT_S, left_s)))
                attempts.restore()
            except ServiceError as error:
                pause(min(attempts.pause_s(error), max(0.0, give_up - monotonic())))
            if self.status.has_ended:
                return self.status
            if monotonic() >= give_up:
                raise JobUnfinished(f"The job {self.id} is {self.status.state} after {timeout_s or 0:g} s. It goes on.")

    def result(self) -> DocumentResult:
        """The document, once the job has ended.

        Raises:
            ServiceError: it has not ended ("job_not_ended"), has failed, or its result is no longer kept.
        """
        return self._calls.parsed(parse_document, jobs.result_request(self.id, "json"))

    def result_in(self, format: str) -> bytes:  # noqa: A002 - the option's name
        """Returns the result like `result`, as a file in `format` (`text`, `markdown`, `json`, `hocr` or `alto`).
        Raises ServiceError.
        """
        answer = self._calls.answer(jobs.result_request(self.id, format))
        return requests.content(answer, self._calls.url, format)

    @contextmanager
    def pages(self, after: int = -1) -> Iterator[JobPages]:
        """The pages above the index `after`, as they are read. Leaving the block early does not cancel the job."""
        found = JobPages(self._calls, self.id, after)
        try:
            yield found
        finally:
            found.close()

    @overload
    def fields(self, schema: type[ModelT]) -> JobFieldsFound[ModelT | None]: ...

    @overload
    def fields(self, schema: None = None) -> JobFieldsFound[dict[str, Any]]: ...

    def fields(self, schema: Any = None) -> JobFieldsFound[Any]:
        """The fields of a job with `JobAs.extract`, once it has ended, with corrections. `schema`: a pydantic class
        that `data` is to be of.

        Raises:
            ServiceError: it has not ended ("job_not_ended"), or has no fields ("fields_missing").
        """
        return self._calls.parsed(job_fields_parser(schema), job_fields_request(self.id))

    def correct(
        self, values: Mapping[str, object], version: int | None, by: str = "", *, reviewed: bool = True
    ) -> JobFieldsFound[dict[str, Any]]:
        """Corrects fields: values by path, such as `{"/total": "30.20"}`; None: the document has no such value.
        `version`: of the fields that were seen; None: any. `by`: who. `reviewed`: everything was looked at, and the
        job leaves the review queue.

        Raises:
            ServiceError: somebody else has changed them meanwhile ("fields_changed"), or the schema doesn't allow it.
        """
        ask = correction(self.id, values, version, by, reviewed=reviewed)
        return self._calls.parsed(job_fields_parser(None), ask)

    def cancel(self) -> JobStatus:
        """Cancels the job. Pages that were read are kept. Raises ServiceError("job_ended") if it has ended."""
        return self._ask("POST", "/cancel")

    def retry(self) -> JobStatus:
        """Has the pages that failed or are missing read again. Raises ServiceError."""
        return self._ask("POST", "/retry")

    def remove(self) -> None:
        """Removes a job that has ended, with its result. Raises ServiceError."""
        self._calls.answer(jobs.job_request("DELETE", self.id))

    def _ask(self, method: str, part: str = "", wait_s: float = 0.0) -> JobStatus:
        ask = jobs.job_request(method, self.id, part, wait_s)
        self.status = self._calls.parsed(jobs.parse_job, ask)
        return self.status


class Jobs:
    """Jobs: documents that the service reads later."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def submit(
        self,
        file: Source,
        read_as: ReadOptions = TEXT,
        job_as: JobAs = AS_JOB,
        name: str = "",
        **options: Unpack[ReadKeywords],
    ) -> JobHandle:
        """Adds a job for `file`: a path, a URL, bytes, a file open in binary mode, or an image. `options`: `task`,
        `pages` and others of ReadOptions; `timeout_s`: after which no page of the job is begun. Raises ServiceError.
        """
        read_as = options_given("submit", read_as, options)
        loaded = self._calls.loaded(file, name)
        return self._handle(jobs.submission(read_as, job_as, loaded))

    def submit_url(self, url: str, read_as: ReadOptions = TEXT, job_as: JobAs = AS_JOB) -> JobHandle:
        """Adds a job for the object at `url`, such as `s3://scans/in/a.pdf`, which must be below one of the service's
        `jobs.sources`. Raises ServiceError.
        """
        return self._handle(jobs.submission(read_as, job_as, None, url))

    def get(self, job_id: str) -> JobHandle:
        """The job. Raises ServiceError("job_unknown")."""
        return self._handle(jobs.job_request("GET", job_id))

    def list(self, states: Sequence[str] = (), after: str = "", limit: int = 100) -> JobListPage:
        """Your jobs, latest first. `states`: only these. `after`: `next` of the page before. Raises ServiceError."""
        return self._calls.parsed(jobs.parse_jobs, jobs.list_request(states, after, limit))

    def to_review(self, after: str = "", limit: int = 100) -> JobListPage:
        """Your jobs whose fields a person should look at, the oldest first. `after`: `next` of the page before. Raises
        ServiceError.
        """
        ask = jobs.list_request((), after, limit, ("needs_review",), oldest_first=True)
        return self._calls.parsed(jobs.parse_jobs, ask)

    def _handle(self, ask: ClientRequest) -> JobHandle:
        return JobHandle(self._calls, self._calls.parsed(jobs.parse_job, ask))
