"""`/v1/jobs`: documents that are read later."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.costs import CONTROL, JOB, PICTURE, RESULT, STREAM, costs
from inkgate.api.http.document_response import PAGES_HEADER, STATUS_HEADER
from inkgate.api.http.errors import Problem, request_id_of
from inkgate.api.http.openapi import PROBLEM_RESPONSES, document_contents, problems
from inkgate.api.http.options import (
    ChunkCharacters,
    ChunkHeadings,
    ChunkOverlap,
    ChunkTokens,
    check_query,
    choose,
    chunk_options,
)
from inkgate.api.http.pictures import JPEG_RESPONSE, PageNumber, SideOption, TurnOption, picture_response
from inkgate.api.http.uploads import receive_document
from inkgate.api.jobs.pagewise import ResultForm
from inkgate.api.jobs.request import SHOWN_LATER, JobRequest, file_schema, parse_job
from inkgate.api.jobs.results import JobResult
from inkgate.api.jobs.streams import EVENTS_TYPE, JobEvents, PageLines, event_id_of
from inkgate.api.jobs.submit import job_call, submit
from inkgate.api.jobs.views import (
    JOBS_PATH,
    JobAnswer,
    JobListAnswer,
    error_of,
    job_response,
    job_view,
    json_response,
    retry_after_s,
    root_of,
)
from inkgate.jobs.job import Job, JobFilter, JobReview, JobState
from inkgate_client.coordinates import Coordinates
from inkgate_client.types import Document

Json = dict[str, Any]

REPLAYED_HEADER = "Idempotent-Replayed"
LONGEST_WAIT_S = 60.0
_MAX_LISTED = 1000

router = APIRouter(prefix=JOBS_PATH, tags=["jobs"], responses=PROBLEM_RESPONSES, dependencies=[Depends(check_query)])

ID_PATTERN = "^[A-Za-z0-9_-]{1,64}$"
JobId = Annotated[str, Path(pattern=ID_PATTERN, description="The `id` of the job.")]

_RETRY: Json = {"Retry-After": {"description": "Seconds, while it goes on.", "schema": {"type": "integer"}}}
_ACCEPTED: Json = {
    "model": JobAnswer,
    "description": "The job was added, or had been added with the same key and request.",
    "headers": {
        "Location": {"description": "The job.", "schema": {"type": "string"}},
        "Operation-Location": {"description": "The same with scheme and host.", "schema": {"type": "string"}},
        REPLAYED_HEADER: {"description": "`true` if the job was there before.", "schema": {"type": "string"}},
        **_RETRY,
    },
}
_EVENT: Json = {
    "type": "object",
    "description": "One event.",
    "properties": {
        "event": {"type": "string", "enum": ["state", "progress"]},
        "id": {"type": "string"},
        "data": {"type": "string", "description": "JSON of `JobAnswer`."},
    },
}
_FORM_FIELDS = sorted(JobRequest.model_fields.keys() - {"source"} - SHOWN_LATER)
_REQUEST: Json = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": file_schema(), **{name: {"type": "string"} for name in _FORM_FIELDS}},
            }
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        "application/json": {
            "schema": {"$ref": "#/components/schemas/JobRequest"},
            "examples": {
                "object": {
                    "summary": "An object below a prefix of `jobs.sources`",
                    "value": {"source": {"url": "s3://scans/in/report.pdf"}, "task": "parse"},
                },
                "file": {
                    "summary": "An uploaded file",
                    "value": {"source": {"file_id": "00000000-0000-4000-8000-000000000000"}, "pages": "1-3"},
                },
            },
        },
    },
}


@router.post(
    "",
    operation_id="create_job",
    summary="Add a job",
    response_class=Response,
    responses={202: _ACCEPTED, **problems(400, 403, 404, 408, 413, 415, 422, 501)},
    status_code=202,
    openapi_extra={"requestBody": _REQUEST},
)
@costs(JOB)
async def create(
    request: Request,
    idempotency_key: Annotated[  # noqa: ARG001 - read from the request, with all that belongs to it
        str | None, Header(max_length=255, description="Of two requests with one key, one adds a job.")
    ] = None,
) -> Response:
    """Keeps the document and answers at once; the document is read later.

    Takes the raw request, so that admission comes before reading the body.
    """
    call = job_call(request)
    added = await submit(call, parse_job, receive_document)
    answer = job_response(request, added.job, await call.forecast(added.job), 202)
    if added.duplicate:
        answer.headers[REPLAYED_HEADER] = "true"
    return answer


@router.get(
    "", operation_id="list_jobs", summary="List your jobs", response_model=JobListAnswer, responses=problems(422, 501)
)
@costs(CONTROL)
async def list_jobs(
    request: Request,
    state: Annotated[list[JobState], Query(description="Only jobs in these states; may be repeated.")] = [],  # noqa: B006 - FastAPI copies it
    review: Annotated[
        list[JobReview], Query(description="Only jobs whose fields are so, such as `needs_review`; may be repeated.")
    ] = [],  # noqa: B006 - FastAPI copies it
    order: Annotated[Literal["newest", "oldest"], Query(description="Which come first: `oldest` for a queue.")] = (
        "newest"
    ),
    after: Annotated[str, Query(pattern="^[A-Za-z0-9_-]{0,64}$", description="`next` of the response before.")] = "",
    limit: Annotated[int, Query(ge=1, le=_MAX_LISTED)] = 100,
) -> Response:
    """The caller's jobs, latest first."""
    call = job_call(request)
    which = JobFilter(state, review, oldest_first=order == "oldest")
    found = await call.jobs.store.list(call.tenant, which, after, limit)
    following = found[-1].id if len(found) == limit else None
    return json_response({"jobs": [job_view(job, None, root_of(request)) for job in found], "next": following})


@router.get(
    "/{job_id}",
    operation_id="get_job",
    summary="Get a job",
    response_model=JobAnswer,
    responses={200: {"headers": _RETRY}, **problems(404, 410, 422, 501)},
)
@costs(STREAM)
async def get(
    request: Request,
    job_id: JobId,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for its end before the response.")
    ] = 0.0,
) -> Response:
    """Returns the job's state and progress."""
    call = job_call(request)
    job = await call.job(job_id)
    if wait and not job.state.ended:
        with call.watches.stream(call.tenant):
            job = await call.watches.until_ended(job, wait)
    return job_response(request, job, await call.forecast(job))


@router.get(
    "/{job_id}/result",
    operation_id="get_job_result",
    summary="Get the result of a job",
    response_class=Response,
    responses={
        200: {
            "description": "The document.",
            "headers": {
                STATUS_HEADER: {
                    "description": "`complete`, or `partial` if some pages failed.",
                    "schema": {"type": "string", "enum": ["complete", "partial"]},
                }
            },
            "content": document_contents(
                {"schema": {"$ref": "#/components/schemas/Document"}}, "One line per page, then a summary."
            ),
        },
        **problems(403, 404, 406, 408, 409, 410, 413, 415, 422, 501, 502, 504),
    },
)
@costs(RESULT)
async def result(  # noqa: PLR0913 - one parameter for each option
    request: Request,
    job_id: JobId,
    *,
    format: Annotated[str | None, Query(max_length=100, description="Overrides the Accept header.")] = None,  # noqa: A002 - the option's name
    coordinates: Annotated[Coordinates | None, Query()] = None,
    marks: Annotated[bool, Query(description="Mark doubtful words and blocks in the Markdown.")] = False,
    chunk_tokens: Annotated[ChunkTokens | None, Query()] = None,
    chunk_characters: Annotated[ChunkCharacters | None, Query()] = None,
    chunk_overlap: Annotated[ChunkOverlap | None, Query()] = None,
    chunk_headings: Annotated[ChunkHeadings, Query()] = False,
) -> Response:
    """The document, once the job has ended. A job that failed has its error instead.

    If the job has not ended, the response is 409 `job_not_ended` with Retry-After.
    """
    call = job_call(request)
    shape = choose(format, request.headers.get("accept"))
    chunks = chunk_options(chunk_tokens, chunk_characters, chunk_overlap, headings=chunk_headings)
    job = await call.job(job_id)
    if (error := error_of(job)) is not None:
        request.scope["state"]["code"] = error.code
        problem = Problem.of(error, request_id_of(request))
        if not job.state.ended:
            problem.headers["Retry-After"] = str(retry_after_s(await call.forecast(job)))
        return problem.response()
    return JobResult(call, job, ResultForm(shape, coordinates, marks, chunks))


@router.get(
    "/{job_id}/pages",
    operation_id="stream_job_pages",
    summary="Get the pages of a job as they are read",
    response_class=Response,
    responses={
        200: {
            "description": "One line for each page above `after`, in order, as soon as it is saved; then a summary.",
            "headers": {PAGES_HEADER: {"description": "Pages to come, if known.", "schema": {"type": "integer"}}},
            "content": {"application/x-ndjson": {"schema": {"type": "string", "description": "`DocumentPage`"}}},
        },
        **problems(404, 410, 422, 501),
    },
)
@costs(STREAM)
async def pages(
    request: Request,
    job_id: JobId,
    after: Annotated[
        int, Query(ge=-1, le=1_000_000_000, description="Index of the last page that you have, from 0.")
    ] = -1,
) -> Response:
    """Goes on while the job runs. If the connection breaks, ask again with the last page's index."""
    call = job_call(request)
    return PageLines(call, await call.job(job_id), after)


@router.get(
    "/{job_id}/pages/{page}",
    operation_id="show_job_page",
    summary="Get a page of a job's document as JPEG",
    response_class=Response,
    responses={**JPEG_RESPONSE, **problems(404, 410, 413, 415, 422, 501)},
)
@costs(PICTURE)
async def picture(
    request: Request, job_id: JobId, page: PageNumber, turn: TurnOption = "0", side: SideOption = 1400
) -> Response:
    """The page as it was sent, for whoever looks at the result. It is there as long as the job's result is."""
    call = job_call(request)

    async def load() -> Document:
        return await call.jobs.load(await call.job(job_id))

    return await picture_response(request, load, page, turn, side)


@router.get(
    "/{job_id}/events",
    operation_id="stream_job_events",
    summary="Get changes of a job as server-sent events",
    response_class=Response,
    responses={
        200: {
            "description": "Events `state` and `progress`, with the job (`JobAnswer`) as data.",
            "content": {EVENTS_TYPE: {"schema": _EVENT}},
        },
        204: {"description": "The job has ended, and `Last-Event-ID` is its last event."},
        **problems(404, 410, 422, 501),
    },
)
@costs(STREAM)
async def events(
    request: Request,
    job_id: JobId,
    last_event_id: Annotated[str, Header(max_length=200, description="ID of the last event that you have.")] = "",
) -> Response:
    """Ends after the event of the job's end."""
    call = job_call(request)
    job = await call.job(job_id)
    if job.state.ended and last_event_id == event_id_of(job):
        return Response(status_code=204)  # which tells a browser's EventSource not to connect again
    return JobEvents(call, job, last_event_id)


@router.delete(
    "/{job_id}",
    operation_id="cancel_job",
    summary="Cancel or remove a job",
    response_class=Response,
    responses={
        200: {"model": JobAnswer, "description": "It was queued, and is cancelled."},
        202: {"model": JobAnswer, "description": "It is being cancelled; the pages that are being read are finished."},
        204: {"description": "It had ended, and is removed with its result."},
        **problems(404, 409, 410, 422, 501),
    },
)
@costs(CONTROL)
async def cancel(request: Request, job_id: JobId) -> Response:
    """Cancels a job that has not ended. Removes one that has, with its result."""
    call = job_call(request)
    job = await call.job(job_id)
    if job.state.ended:
        await call.jobs.remove(job_id, call.tenant)
        return Response(status_code=204)
    return _cancelled(request, await call.jobs.store.cancel(job_id, call.tenant))


@router.post(
    "/{job_id}/cancel",
    operation_id="stop_job",
    summary="Cancel a job",
    response_class=Response,
    responses={
        200: {"model": JobAnswer, "description": "It was queued, and is cancelled."},
        202: {"model": JobAnswer, "description": "It is being cancelled."},
        **problems(404, 409, 410, 422, 501),
    },
)
@costs(CONTROL)
async def stop(request: Request, job_id: JobId) -> Response:
    """Cancels a job like DELETE, but never removes one: a job that has just ended answers 409 `job_ended`."""
    call = job_call(request)
    return _cancelled(request, await call.jobs.store.cancel(job_id, call.tenant))


def _cancelled(request: Request, job: Job) -> Response:
    return job_response(request, job, None, 200 if job.state is JobState.CANCELLED else 202)


@router.post(
    "/{job_id}/retry",
    operation_id="retry_job",
    summary="Read the failed pages of a job again",
    response_class=Response,
    responses={202: _ACCEPTED, **problems(404, 409, 410, 422, 501)},
    status_code=202,
)
@costs(CONTROL)
async def retry(request: Request, job_id: JobId) -> Response:
    """Queues an ended job again, for pages that failed or are missing."""
    call = job_call(request)
    job = await call.jobs.store.retry(job_id, call.tenant)
    call.jobs.wake()
    return job_response(request, job, await call.forecast(job), 202)
