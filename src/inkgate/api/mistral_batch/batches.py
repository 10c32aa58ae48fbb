"""Batches as clients see them, found among jobs."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field

from inkgate.api.http.context import context_of
from inkgate.api.jobs.submit import JobCall
from inkgate.api.jobs.views import error_of
from inkgate.api.mistral_batch.lines import MAX_LINES, BatchHead, LineForm, line_form
from inkgate.api.mistral_response import MistralAnswer, MistralOptions
from inkgate.errors import InkgateError, InputRejected
from inkgate.jobs.job import Job, JobState
from inkgate.jobs.reviewing import JobReviews
from inkgate.serving.order import Work
from inkgate.serving.permits import Permit
from inkgate_client.types import DocumentResult

TIME_DIGITS = 12
TOKEN_DIGITS = 20
_BATCH_ID = re.compile(f"[0-9a-f]{{{TIME_DIGITS + TOKEN_DIGITS}}}")
AT_ONCE = 1000
LINES_PER_MS = 8
"""Estimate of what a thread groups and shows."""

BatchStatus = Literal[
    "QUEUED", "RUNNING", "SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLATION_REQUESTED", "CANCELLED"
]


class MistralBatch(BaseModel):
    """A batch. Times are Unix times in seconds."""

    id: str
    object: Literal["batch"] = "batch"
    input_files: list[str]
    metadata: dict[str, str] | None
    endpoint: str
    model: str | None
    agent_id: str | None = None
    output_file: str | None = Field(description="ID of the file with the responses, once the batch has ended.")
    error_file: str | None = Field(description="ID of the file with the errors, once the batch has ended.")
    outputs: list[dict[str, Any]] | None = Field(default=None, description="The responses, on request.")
    errors: list[dict[str, Any]]
    status: BatchStatus
    created_at: int
    started_at: int | None
    completed_at: int | None
    total_requests: int
    completed_requests: int
    succeeded_requests: int
    failed_requests: int


class MistralBatchList(BaseModel):
    """Batches, latest first."""

    data: list[MistralBatch]
    object: Literal["list"] = "list"
    total: int


@dataclass(frozen=True, slots=True)
class BatchJobs:
    """The jobs of a batch in the order of its lines."""

    id: str
    lines: Sequence[tuple[LineForm, Job]]

    @property
    def ended(self) -> bool:
        return all(job.state.ended for _, job in self.lines)

    def files(self) -> tuple[str | None, str | None]:
        """IDs of the files of responses and of errors; None if they are empty or not ready."""
        if not self.ended:
            return None, None
        failed = any(error_of(job) is not None for _, job in self.lines)
        read = any(error_of(job) is None for _, job in self.lines)
        return f"batch-output-{self.id}" if read else None, f"batch-errors-{self.id}" if failed else None

    def status(self) -> BatchStatus:
        states = {job.state for _, job in self.lines}
        if not self.ended:
            if JobState.CANCELLING in states or JobState.CANCELLED in states:
                return "CANCELLATION_REQUESTED"
            return "QUEUED" if states == {JobState.QUEUED} else "RUNNING"
        if JobState.CANCELLED in states:
            return "CANCELLED"
        if not states.isdisjoint({JobState.SUCCEEDED, JobState.PARTIAL}):
            return "SUCCESS"
        failures = (error_of(job) for _, job in self.lines)
        late = any(failure is not None and failure.status == HTTPStatus.REQUEST_TIMEOUT for failure in failures)
        return "TIMEOUT_EXCEEDED" if late else "FAILED"

    def view(self) -> MistralBatch:
        """The batch for clients."""
        jobs = [job for _, job in self.lines]
        head = self.lines[0][0].head or BatchHead((), None, None)
        done = [job for job in jobs if job.state.ended]
        good = sum(error_of(job) is None for job in done)
        started = [job.started for job in jobs if job.started is not None]
        output_file, error_file = self.files()
        return MistralBatch(
            id=self.id,
            input_files=list(head.input_files),
            metadata=head.metadata,
            endpoint="/v1/ocr",
            model=head.model,
            output_file=output_file,
            error_file=error_file,
            errors=[],
            status=self.status(),
            created_at=int(jobs[0].created),
            started_at=int(min(started)) if started else None,
            completed_at=int(max(job.ended or 0.0 for job in jobs)) if self.ended else None,
            total_requests=len(jobs),
            completed_requests=len(done),
            succeeded_requests=good,
            failed_requests=len(done) - good,
        )


def grouped(jobs: Iterable[Job]) -> list[BatchJobs]:
    """The batches whose jobs are among `jobs`, in their order. Blocking: a millisecond for `LINES_PER_MS`."""
    found: dict[str, list[tuple[LineForm, Job]]] = {}
    for job in jobs:
        if (form := line_form(job)) is not None:
            found.setdefault(job.id[:TIME_DIGITS] + form.batch, []).append((form, job))
    return [BatchJobs(batch_id, sorted(lines, key=lambda line: line[0].line)) for batch_id, lines in found.items()]


async def batch_of(call: JobCall, batch_id: str) -> BatchJobs:
    """The caller's batch. Raises InputRejected("job_unknown")."""
    if _BATCH_ID.fullmatch(batch_id):
        for batch in await _begun_at(call, batch_id[:TIME_DIGITS]):
            if batch.id == batch_id:
                return batch
    raise InputRejected("job_unknown", "There is no batch with this ID.")


async def _begun_at(call: JobCall, time: str) -> list[BatchJobs]:
    """The caller's batches whose IDs begin with `time`."""
    # First those that are no jobs yet: what becomes a job meanwhile is found below.
    jobs = {job.id: job for job in await call.jobs.store.waiting_lines(call.tenant, time, MAX_LINES)}
    after = f"{time}g"  # above all IDs of this time, which are hexadecimal
    while more := await call.jobs.store.list(call.tenant, after=after, limit=AT_ONCE):
        jobs |= {job.id: job for job in more if job.id.startswith(time)}
        after = more[-1].id
        if not after.startswith(time):
            break
    threads = context_of(call.request).threads
    return await threads.run(call.caller, len(jobs) // LINES_PER_MS, grouped, jobs.values())


async def view_of(call: JobCall, batch: BatchJobs) -> dict[str, Any]:
    """The batch for clients, as JSON has it."""
    threads = context_of(call.request).threads
    return await threads.run(call.caller, len(batch.lines) // LINES_PER_MS, lambda: batch.view().model_dump())


async def output_lines(
    call: JobCall, batch: BatchJobs, permit: Permit, *, errors: bool | None
) -> AsyncGenerator[bytes]:
    """Lines of the batch's files: the responses, or the `errors`; None: both. `permit` is charged for each."""
    context = context_of(call.request)
    threads, caller = context.threads, replace(call.caller, charge=permit)
    for form, job in batch.lines:
        error = error_of(job)
        if errors is not None and errors is not (error is not None):
            continue
        body: dict[str, Any] | None = None
        if error is None:
            try:
                async with call.watches.room.whole.turn(Work.for_caller(caller, 1)):
                    result = await call.jobs.document(job)
                    answer = MistralAnswer(MistralOptions.model_validate(form.options))
                    show: Callable[[DocumentResult], dict[str, Any]] = answer.document
                    if job.review is not None:
                        reviews = JobReviews(call.jobs.store, context.service.fields.types, threads)
                        fields = await reviews.show(job)
                        show = partial(answer.annotated, fields["data"])
                    body = await threads.run(caller, len(result.pages), show, result)
                    del result
            except InkgateError as failure:  # such as one that is no longer stored
                error = failure
        line = await threads.run(caller, 1, _output_line, form, job, body, error)
        del body
        permit.set_held_bytes(len(line))
        yield line


def _output_line(form: LineForm, job: Job, body: dict[str, Any] | None, error: InkgateError | None) -> bytes:
    """Serializes the outcome of a line. Blocking."""
    shown: dict[str, Any] = {"id": job.id, "custom_id": form.custom_id, "response": None, "error": None}
    if error is None:
        shown["response"] = {"status_code": 200, "body": body}
    else:
        shown["error"] = {"code": error.code, "message": error.detail}
    return orjson.dumps(shown, option=orjson.OPT_APPEND_NEWLINE)
