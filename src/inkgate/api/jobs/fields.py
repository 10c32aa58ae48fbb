"""`/v1/jobs/{id}/fields`: what was found in a job's document, and corrections of it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONTROL, CORRECTION, costs
from inkgate.api.http.decoding import parse_json
from inkgate.api.http.head import parse_head
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import parse
from inkgate.api.http.uploads import receive_bytes
from inkgate.api.jobs.submit import JobCall, job_call
from inkgate.api.jobs.views import JOBS_PATH, json_response
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job
from inkgate.jobs.reviewing import CorrectionRequest, JobReviews

Json = dict[str, Any]

MAX_BYTES = 256_000
MAX_VALUES = 1000
_ETAG = re.compile(r'(?:W/)?"(\d{1,9})"')

router = APIRouter(prefix=JOBS_PATH, tags=["jobs"], responses=PROBLEM_RESPONSES)
JobId = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$", description="The `id` of the job.")]


class CorrectionBody(BaseModel):
    """A correction: values by JSON Pointer into `data`, such as `{"/total": "30.20", "/date": null}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fields: Annotated[
        dict[str, Any],
        Field(max_length=MAX_VALUES, description="Values by JSON Pointer into `data`; null: the document has none."),
    ] = {}
    by: Annotated[
        Annotated[StrictStr, Field(max_length=200, pattern=r"^[^\x00]*$")] | None,
        Field(description="Who corrects, as they want to be called."),
    ] = None
    reviewed: Annotated[
        StrictBool, Field(description="`true`: everything was looked at, and the job leaves the review queue.")
    ] = True


class CorrectionAnswer(BaseModel):
    """One correction."""

    fields: dict[str, Any] = Field(description="Values by JSON Pointer into `data`.")
    by: str | None
    at: str = Field(description="RFC 3339.")


class JobFieldsAnswer(BaseModel):
    """The fields of a job's document."""

    document_type: str | None
    status: str = Field(description="As it was found: `complete` or `needs_review`.")
    data: dict[str, Any] = Field(description="As the schema has it, with the corrections.")
    fields: dict[str, Any] = Field(description="As they were found, by JSON Pointer into `data`.")
    checks: list[dict[str, Any]]
    notes: list[str]
    review: str | None = Field(description="`complete`, `needs_review` or `reviewed`.")
    version: int = Field(description="Of every change; the ETag is the same.")
    corrections: list[CorrectionAnswer] = Field(description="The earliest first; of a value, the latest counts.")


_TAGGED: Json = {
    "model": JobFieldsAnswer,
    "headers": {"ETag": {"description": "Version of the fields.", "schema": {"type": "string"}}},
}
_BODY: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/CorrectionBody"},
            "examples": {"total": {"value": {"fields": {"/total": "30.20"}, "by": "anna"}}},
        }
    },
}


@router.get(
    "/{job_id}/fields",
    operation_id="get_job_fields",
    summary="Get the fields of a job",
    response_class=Response,
    responses={200: _TAGGED, **problems(404, 409, 410, 422, 501)},
)
@costs(CONTROL)
async def get(request: Request, job_id: JobId) -> Response:
    """What was found in the whole document, with corrections, once the job has ended."""
    call = job_call(request)
    return await _shown(call, await call.job(job_id))


@router.patch(
    "/{job_id}/fields",
    operation_id="correct_job_fields",
    summary="Correct the fields of a job",
    response_class=Response,
    responses={200: _TAGGED, **problems(400, 404, 408, 409, 410, 412, 413, 415, 422, 428, 501)},
    openapi_extra={"requestBody": _BODY},
)
@costs(CORRECTION)
async def correct(
    request: Request,
    job_id: JobId,
    if_match: Annotated[
        str | None, Header(max_length=100, description="The ETag of the fields that you saw, or `*` for any.")
    ] = None,
) -> Response:
    """Keeps values that a person has corrected or confirmed, with who and when. The schema must allow them. If somebody
    else has changed the fields since you got them, the response is 412.
    """
    call = job_call(request)
    context = context_of(request)
    version = _version(if_match)
    job = await call.job(job_id)
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller, min(head.body_bytes, MAX_BYTES)) as admitted:
        with admitted.receiving() as count_bytes:
            raw = await receive_bytes(request, context.settings.limits, MAX_BYTES, count_bytes)
        body = await context.bodies.run(admitted.caller, len(raw), parse_json, raw)
    requested = parse(CorrectionBody, body if isinstance(body, dict) else {"fields": body})
    reviews = JobReviews(call.jobs.store, context.service.fields.types, context.threads)
    change = CorrectionRequest(requested.fields, requested.by or "", requested.reviewed, version)
    await reviews.correct(job, change, call.jobs.store.clock())
    return await _shown(call, await call.job(job_id))


async def _shown(call: JobCall, job: Job) -> Response:
    context = context_of(call.request)
    reviews = JobReviews(call.jobs.store, context.service.fields.types, context.threads)
    shown = await reviews.show(job)
    return json_response(shown, headers={"ETag": f'"{shown["version"]}"', "Cache-Control": "no-store"})


def _version(if_match: str | None) -> int | None:
    """The version that a correction is about; None: any. Raises InputRejected."""
    if if_match is None or not if_match.strip():
        raise InputRejected("version_missing", "The request has no header If-Match.")
    if if_match.strip() == "*":
        return None
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise InputRejected("fields_changed", "The header If-Match has no ETag of these fields.")
    return int(match[1])
