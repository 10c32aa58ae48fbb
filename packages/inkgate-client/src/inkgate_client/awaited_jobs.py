"""Jobs of the asynchronous client. scripts/write_blocking_client.py writes those of the blocking one from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Unpack, overload

import httpx

from inkgate_client import jobs, requests
from inkgate_client.awaited_calls import AsyncCalls
from inkgate_client.codec import parse_document, parse_page
from inkgate_client.errors import ServiceError, service_errors
from inkgate_client.fields.asked import ModelT
from inkgate_client.files import Source
from inkgate_client.job_fields import JobFieldsFound, correction, job_fields_parser, job_fields_request
from inkgate_client.jobs import AS_JOB, LONGEST_WAIT_S, JobAs, JobListPage, JobStatus, JobUnfinished
from inkgate_client.requests import TEXT, ClientRequest, ReadKeywords, ReadOptions, options_given
from inkgate_client.retries import JOB_REQUESTS, Retries, pause_awaited
from inkgate_client.streams import PageStream, Summary
from inkgate_client.types import DocumentResult, PageResult


class AsyncJobPages:
    """The pages of a job as they are read; iterate once with `async for`. If the connection breaks, it is opened again,
    and goes on after the last page. `summary` is available after the last page.
    """

    def __init__(self, calls: AsyncCalls, job_id: str, after: int) -> None:
        """`after`: index of the last page that is not wanted."""
        self.after = after
        self._calls = calls
        self._job_id = job_id
        self._answer: httpx.Response | None = None
        self._stream = PageStream(calls.url)

    @property
    def summary(self) -> Summary:
        return self._stream.summary

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        attempts = Retries(JOB_REQUESTS)
        while True:
            try:
                self._answer = await self._calls.open(jobs.pages_request(self._job_id, self.after))
                self._stream = PageStream(self._calls.url)
                attempts.restore()  # proxies may close a stream on which nothing was sent for a while
                async for page in self._pages(self._answer):
                    self.after = page.index
                    yield page
                _ = self.summary
            except ServiceError as error:
                pause_s = attempts.pause_s(error)
            else:
                return
            finally:
                await self.close()
            await pause_awaited(pause_s)

    async def _pages(self, answer: httpx.Response) -> AsyncIterator[PageResult]:
        with service_errors(self._calls.url):
            async for chunk in answer.aiter_bytes():
                for line in self._stream.cut(chunk):
                    yield requests.parse(parse_page, answer, self._calls.url, line)

    async def close(self) -> None:
        """Closes the connection."""
        if self._answer is not None:
            await self._answer.aclose()
            self._answer = None


class AsyncJobHandle:
    """A job of the service. `status`: as it was last seen."""

    def __init__(self, calls: AsyncCalls, status: JobStatus) -> None:
        self.status = status
        self._calls = calls

    @property
    def id(self) -> str:
        return self.status.id

    async def refresh(self) -> JobStatus:
        """Asks for the status. Raises ServiceError."""
        return await self._ask("GET")

    async def wait(self, timeout_s: float | None = None) -> JobStatus:
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
                await self._ask("GET", wait_s=max(0.0, min(LONGEST_WAIT_S, left_s)))
                attempts.restore()
            except ServiceError as error:
                await pause_awaited(min(attempts.pause_s(error), max(0.0, give_up - monotonic())))
            if self.status.has_ended:
                return self.status
            if monotonic() >= give_up:
                raise JobUnfinished(f"The job {self.id} is {self.status.state} after {timeout_s or 0:g} s. It goes on.")

    async def result(self) -> DocumentResult:
        """The document, once the job has ended.

        Raises:
            ServiceError: it has not ended ("job_not_ended"), has failed, or its result is no longer kept.
        """
        return await self._calls.parsed(parse_document, jobs.result_request(self.id, "json"))

    async def result_in(self, format: str) -> bytes:  # noqa: A002 - the option's name
        """Returns the result like `result`, as a file in `format` (`text`, `markdown`, `json`, `hocr` or `alto`).
        Raises ServiceError.
        """
        answer = await self._calls.answer(jobs.result_request(self.id, format))
        return requests.content(answer, self._calls.url, format)

    @asynccontextmanager
    async def pages(self, after: int = -1) -> AsyncIterator[AsyncJobPages]:
        """The pages above the index `after`, as they are read. Leaving the block early does not cancel the job."""
        found = AsyncJobPages(self._calls, self.id, after)
        try:
            yield found
        finally:
            await found.close()

    @overload
    async def fields(self, schema: type[ModelT]) -> JobFieldsFound[ModelT | None]: ...

    @overload
    async def fields(self, schema: None = None) -> JobFieldsFound[dict[str, Any]]: ...

    async def fields(self, schema: Any = None) -> JobFieldsFound[Any]:
        """The fields of a job with `JobAs.extract`, once it has ended, with corrections. `schema`: a pydantic class
        that `data` is to be of.

        Raises:
            ServiceError: it has not ended ("job_not_ended"), or has no fields ("fields_missing").
        """
        return await self._calls.parsed(job_fields_parser(schema), job_fields_request(self.id))

    async def correct(
        self, values: Mapping[str, object], version: int | None, by: str = "", *, reviewed: bool = True
    ) -> JobFieldsFound[dict[str, Any]]:
        """Corrects fields: values by path, such as `{"/total": "30.20"}`; None: the document has no such value.
        `version`: of the fields that were seen; None: any. `by`: who. `reviewed`: everything was looked at, and the
        job leaves the review queue.

        Raises:
            ServiceError: somebody else has changed them meanwhile ("fields_changed"), or the schema doesn't allow it.
        """
        ask = correction(self.id, values, version, by, reviewed=reviewed)
        return await self._calls.parsed(job_fields_parser(None), ask)

    async def cancel(self) -> JobStatus:
        """Cancels the job. Pages that were read are kept. Raises ServiceError("job_ended") if it has ended."""
        return await self._ask("POST", "/cancel")

    async def retry(self) -> JobStatus:
        """Has the pages that failed or are missing read again. Raises ServiceError."""
        return await self._ask("POST", "/retry")

    async def remove(self) -> None:
        """Removes a job that has ended, with its result. Raises ServiceError."""
        await self._calls.answer(jobs.job_request("DELETE", self.id))

    async def _ask(self, method: str, part: str = "", wait_s: float = 0.0) -> JobStatus:
        ask = jobs.job_request(method, self.id, part, wait_s)
        self.status = await self._calls.parsed(jobs.parse_job, ask)
        return self.status


class AsyncJobs:
    """Jobs: documents that the service reads later."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def submit(
        self,
        file: Source,
        read_as: ReadOptions = TEXT,
        job_as: JobAs = AS_JOB,
        name: str = "",
        **options: Unpack[ReadKeywords],
    ) -> AsyncJobHandle:
        """Adds a job for `file`: a path, a URL, bytes, a file open in binary mode, or an image. `options`: `task`,
        `pages` and others of ReadOptions; `timeout_s`: after which no page of the job is begun. Raises ServiceError.
        """
        read_as = options_given("submit", read_as, options)
        loaded = await self._calls.loaded(file, name)
        return await self._handle(jobs.submission(read_as, job_as, loaded))

    async def submit_url(self, url: str, read_as: ReadOptions = TEXT, job_as: JobAs = AS_JOB) -> AsyncJobHandle:
        """Adds a job for the object at `url`, such as `s3://scans/in/a.pdf`, which must be below one of the service's
        `jobs.sources`. Raises ServiceError.
        """
        return await self._handle(jobs.submission(read_as, job_as, None, url))

    async def get(self, job_id: str) -> AsyncJobHandle:
        """The job. Raises ServiceError("job_unknown")."""
        return await self._handle(jobs.job_request("GET", job_id))

    async def list(self, states: Sequence[str] = (), after: str = "", limit: int = 100) -> JobListPage:
        """Your jobs, latest first. `states`: only these. `after`: `next` of the page before. Raises ServiceError."""
        return await self._calls.parsed(jobs.parse_jobs, jobs.list_request(states, after, limit))

    async def to_review(self, after: str = "", limit: int = 100) -> JobListPage:
        """Your jobs whose fields a person should look at, the oldest first. `after`: `next` of the page before. Raises
        ServiceError.
        """
        ask = jobs.list_request((), after, limit, ("needs_review",), oldest_first=True)
        return await self._calls.parsed(jobs.parse_jobs, ask)

    async def _handle(self, ask: ClientRequest) -> AsyncJobHandle:
        return AsyncJobHandle(self._calls, await self._calls.parsed(jobs.parse_job, ask))
