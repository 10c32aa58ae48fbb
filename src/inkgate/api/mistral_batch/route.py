"""Routes of `/v1/batch/jobs`."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http import uploads
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONTROL, JOB, RESULT, costs
from inkgate.api.http.head import parse_head
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import parse
from inkgate.api.jobs.request import ReceivedJob, key_of_request, names_priority
from inkgate.api.jobs.results import PiecewiseResponse, filled_json
from inkgate.api.jobs.submit import JobCall, job_call
from inkgate.api.jobs.views import json_response
from inkgate.api.mistral_batch.batches import (
    AT_ONCE,
    LINES_PER_MS,
    TIME_DIGITS,
    TOKEN_DIGITS,
    BatchJobs,
    MistralBatch,
    MistralBatchList,
    batch_of,
    grouped,
    output_lines,
    view_of,
)
from inkgate.api.mistral_batch.lines import LineForm, MistralBatchRequest, job_of, lines_of
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobSource, NewJob
from inkgate.serving.permits import Permit
from inkgate_client.concurrency import single_error

_MAX_LISTED = 5000
_CANCELS_AT_ONCE = 32
_MAX_INLINE = 100

router = APIRouter(tags=["batch"], responses=PROBLEM_RESPONSES)
_PATH = "/v1/batch/jobs"
BatchId = Annotated[str, Path(max_length=64, description="The batch's `id`.")]
_BODY: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MistralBatchRequest"}}},
}


@router.post(
    _PATH,
    operation_id="create_batch",
    summary="Mistral: create a batch",
    response_model=MistralBatch,
    responses=problems(400, 403, 404, 408, 413, 415, 422, 501),
    openapi_extra={"requestBody": _BODY},
)
@costs(JOB)
async def create(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    call, context = job_call(request), context_of(request)
    head, key = parse_head(request, context.settings), key_of_request(request)
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as count_bytes:
            body = await uploads.receive(request, context.settings.limits, context.bodies, admitted.caller, count_bytes)
        head = replace(head, caller=admitted.caller)
        received = ReceivedJob(context, head, body, request.query_params, key, names_priority(request))
        requested = parse(MistralBatchRequest, body.fields)
        token = hashlib.sha256(key.encode()).hexdigest()[:TOKEN_DIGITS] if key else secrets.token_hex(10)
        jobs: list[NewJob] = []
        stored: dict[str, JobSource] = {}
        async for line in lines_of(requested, received, admitted.set_held_bytes):
            form = LineForm(token, len(jobs), None, {})
            jobs.append(await job_of(call.jobs, received, requested, form, line, stored))
        if not jobs:
            raise InputRejected("file_missing", "The batch has no lines.")
        with admitted.without_deadline():  # added as a whole, or not at all
            added = await call.jobs.add_batch(jobs)
    return json_response(await view_of(call, await batch_of(call, added.id[:TIME_DIGITS] + token)))


@router.get(
    _PATH,
    operation_id="list_batches",
    summary="Mistral: list batches",
    response_model=MistralBatchList,
    responses=problems(422, 501),
)
@costs(CONTROL)
async def list_batches(
    request: Request,
    page: Annotated[int, Query(ge=0, le=100_000)] = 0,
    page_size: Annotated[int, Query(ge=1, le=1000)] = 100,
    status: Annotated[list[str] | None, Query(max_length=20)] = None,
    order_by: Annotated[Literal["created", "-created"], Query()] = "-created",
) -> Response:
    """Batches among the caller's latest jobs and lines."""
    call = job_call(request)
    jobs = {job.id: job for job in await call.jobs.store.waiting_lines(call.tenant, "", _MAX_LISTED)}
    after, count = "", 0
    while count < _MAX_LISTED and (more := await call.jobs.store.list(call.tenant, after=after, limit=AT_ONCE)):
        jobs |= {job.id: job for job in more}
        after, count = more[-1].id, count + len(more)

    def listed() -> dict[str, Any]:
        latest = sorted(jobs.values(), key=lambda job: job.id, reverse=True)[:_MAX_LISTED]
        found = [batch.view() for batch in grouped(latest)]
        if status:
            found = [batch for batch in found if batch.status in status]
        if order_by == "created":
            found.reverse()
        shown = found[page * page_size : (page + 1) * page_size]
        return MistralBatchList(data=shown, total=len(found)).model_dump()

    threads = context_of(request).threads
    return json_response(await threads.run(call.caller, len(jobs) // LINES_PER_MS, listed))


@router.get(
    f"{_PATH}/{{batch_id}}",
    operation_id="get_batch",
    summary="Mistral: get a batch",
    response_model=MistralBatch,
    responses=problems(404, 422, 501),
)
@costs(RESULT)
async def get(
    request: Request,
    batch_id: BatchId,
    inline: Annotated[bool | None, Query(description="`true`: with the responses, of up to 100 lines.")] = None,
) -> Response:
    """State of a batch."""
    call = job_call(request)
    batch = await batch_of(call, batch_id)
    shown = await view_of(call, batch)
    if inline and batch.ended and len(batch.lines) <= _MAX_INLINE:
        return PiecewiseResponse(call, "application/json", partial(_with_outputs, call, shown, batch))
    return json_response(shown)


def _with_outputs(call: JobCall, shown: dict[str, Any], batch: BatchJobs, permit: Permit) -> AsyncGenerator[bytes]:
    """The batch with the outputs of its lines."""
    outputs = secrets.token_hex(16)
    parts = {outputs: _json_list(output_lines(call, batch, permit, errors=None))}
    return filled_json(shown | {"outputs": outputs}, parts)


async def _json_list(lines: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    lead = b"["
    async with aclosing(lines):
        async for line in lines:
            yield lead + line
            lead = b","
    yield b"]" if lead == b"," else b"[]"


@router.post(
    f"{_PATH}/{{batch_id}}/cancel",
    operation_id="cancel_batch",
    summary="Mistral: cancel a batch",
    response_model=MistralBatch,
    responses=problems(404, 422, 501),
)
@costs(CONTROL)
async def cancel(request: Request, batch_id: BatchId) -> Response:
    """Cancels the lines that have not ended."""
    call = job_call(request)

    async def cancel_one(job: Job) -> None:
        try:
            await call.jobs.store.cancel(job.id, call.tenant)
        except InputRejected:  # it has ended meanwhile
            return

    batch = await batch_of(call, batch_id)
    left = [job for _, job in batch.lines if not job.state.ended]
    await call.jobs.store.cancel_lines(call.tenant, [job.id for job in left])
    await _each(cancel_one, left)
    return json_response(await view_of(call, await batch_of(call, batch_id)))


class DeletedBatch(BaseModel):
    """A deleted batch."""

    id: str
    object: Literal["batch"] = "batch"
    deleted: bool = True


@router.delete(
    f"{_PATH}/{{batch_id}}",
    operation_id="delete_batch",
    summary="Mistral: delete a batch",
    response_model=DeletedBatch,
    responses=problems(404, 409, 422, 501),
)
@costs(CONTROL)
async def delete(request: Request, batch_id: BatchId) -> Response:
    """Removes a batch that has ended, with its results."""
    call = job_call(request)
    batch = await batch_of(call, batch_id)
    if not batch.ended:
        raise InputRejected("job_not_ended", "The batch has not ended.")

    async def remove_one(job: Job) -> None:
        await call.jobs.remove(job.id, call.tenant)

    await _each(remove_one, [job for _, job in batch.lines])
    return json_response(DeletedBatch(id=batch_id).model_dump())


async def _each(function: Callable[[Job], Awaitable[None]], jobs: Sequence[Job]) -> None:
    """Calls `function` for every job, some at once: the store commits them together."""
    limit = anyio.Semaphore(_CANCELS_AT_ONCE)

    async def limited(job: Job) -> None:
        async with limit:
            await function(job)

    with single_error():
        async with anyio.create_task_group() as tasks:
            for job in jobs:
                tasks.start_soon(limited, job)


@router.get(
    "/v1/files/batch-{kind}-{batch_id}/content",
    operation_id="download_batch",
    summary="Mistral: download a batch",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "description": "JSONL"}}}},
        **problems(404, 409, 422, 501),
    },
)
@costs(RESULT)
async def download(request: Request, kind: Literal["output", "errors"], batch_id: BatchId) -> Response:
    """Responses or errors, one line each, in the order of the batch's lines."""
    call = job_call(request)
    batch = await batch_of(call, batch_id)
    if not batch.ended:
        raise InputRejected("job_not_ended", "The batch has not ended.")
    compose = partial(output_lines, call, batch, errors=kind == "errors")
    return PiecewiseResponse(call, "application/octet-stream", compose)
