"""`POST /v1/events`: events about new objects become jobs."""

from __future__ import annotations

import re
from typing import Any

import structlog
from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inkgate.api.http.context import Context, context_of
from inkgate.api.http.costs import JOB, STATE, costs
from inkgate.api.http.head import parse_head
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.uploads import receive_bytes
from inkgate.errors import InputRejected
from inkgate.jobs.intake.arrivals import HTTP, IntakeOutcome, TakenEvents
from inkgate.jobs.intake.base import ObjectCreated
from inkgate.jobs.intake.forms import MAX_EVENT_BYTES, Handshake, check_subscribe_url, parse_event

log = structlog.get_logger(__name__)

Json = dict[str, Any]

_ORIGIN_HEADER = "WebHook-Request-Origin"
_ORIGIN = re.compile(r"[A-Za-z0-9.:-]{1,253}")


class RefusedEvent(BaseModel):
    """An object for which no job was added."""

    url: str
    code: str = Field(description="Stable: programs may rely on it.")
    detail: str


class EventsAnswer(BaseModel):
    """What became of the objects that an event tells of."""

    jobs: list[str] = Field(description="IDs of the jobs, also of those that were there before.")
    added: int = Field(description="Number of jobs that were added.")
    duplicates: int = Field(description="Number of objects whose jobs were there before.")
    ignored: int = Field(description="Number of other events, such as deletions and tests.")
    refused: list[RefusedEvent] = Field(description="Objects that belong to no pipeline.")


_EVENT: Json = {"specversion": "1.0", "id": "7", "source": "/scanner/7", "type": "com.example.scanned"}
_CONTENTS: Json = {
    "schema": {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]},
    "examples": {
        "cloudevents": {
            "summary": "CloudEvents",
            "value": {
                **_EVENT,
                "data": {"url": "s3://scans/in/receipt.jpg", "etag": "d41d8cd98f00b204e9800998ecf8427e"},
            },
        },
        "s3": {
            "summary": "S3 or MinIO",
            "value": {
                "Records": [
                    {
                        "eventName": "ObjectCreated:Put",
                        "s3": {"bucket": {"name": "scans"}, "object": {"key": "in/receipt.jpg", "eTag": "d41d8cd98f"}},
                    }
                ]
            },
        },
    },
}
_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": _CONTENTS,
        "application/cloudevents+json": {"schema": {"type": "object"}},
        "text/plain": {"schema": {"type": "string", "description": "JSON, as SNS sends it, or JSON in base64."}},
    },
}
_RESPONSES: dict[int | str, Json] = {
    200: {
        "description": "The event was a handshake. Event Grid gets its code back.",
        "content": {
            "application/json": {"schema": {"type": "object", "properties": {"validationResponse": {"type": "string"}}}}
        },
    },
    **problems(400, 403, 408, 413, 415, 422, 501),
}

router = APIRouter(prefix="/v1/events", tags=["jobs"], responses=PROBLEM_RESPONSES)


@router.post(
    "",
    operation_id="take_event",
    summary="Add jobs for an event",
    status_code=202,
    response_model=EventsAnswer,
    responses=_RESPONSES,
    openapi_extra={"requestBody": _REQUEST},
)
@costs(JOB)
async def take(request: Request) -> Response:
    """Adds a job for each new object that the event tells of, in the pipeline to which the object belongs. An event
    that is sent again adds nothing.

    Takes S3, MinIO, EventBridge, SNS, Alibaba OSS, GCS, Event Grid and CloudEvents (structured and binary mode), told
    apart by their keys; the Content-Type does not matter. Takes the raw request, so that admission comes before
    reading the body.
    """
    context = context_of(request)
    intake = context.service.intake
    if intake is None:
        raise InputRejected("feature_unavailable", "`jobs.enabled` is false in this service.")
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller, min(head.body_bytes, MAX_EVENT_BYTES)) as admitted:
        with admitted.receiving() as count_bytes:
            body = await receive_bytes(request, context.settings.limits, MAX_EVENT_BYTES, count_bytes)
        # A thousand small events in envelopes take half a second, for which the event loop must not stand still.
        parsed = await context.bodies.run(admitted.caller, len(body), parse_event, body, request.headers)
        if parsed.handshake is not None:
            return await _shake_hands(context, parsed.handshake)
        with admitted.without_deadline():  # an event is taken as a whole
            taken = await intake.take(parsed.objects)
    intake.count(HTTP, IntakeOutcome.IGNORED, parsed.ignored)
    if taken.refused and len(taken.refused) == len(parsed.objects):
        raise taken.refused[0].error
    return JSONResponse(_answer(parsed.objects, taken, parsed.ignored).model_dump(), 202)


@router.options("", operation_id="allow_events", summary="Allow a sender of CloudEvents", response_class=Response)
@costs(STATE)
async def allow(request: Request) -> Response:
    """The handshake of CloudEvents' webhooks, which Event Grid makes: a sender with a key of this service may send."""
    origin = request.headers.get(_ORIGIN_HEADER, "")
    headers = {"Allow": "OPTIONS, POST"}
    if _ORIGIN.fullmatch(origin):
        headers |= {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*"}
    return Response(status_code=200, headers=headers)


async def _shake_hands(context: Context, handshake: Handshake) -> Response:
    """The response to a handshake. SNS's is confirmed at once: the URL was checked to be AWS's, and any that it
    redirects to is.
    """
    if handshake.code:
        return JSONResponse({"validationResponse": handshake.code})
    await context.sources.call(handshake.confirm_url, check_subscribe_url)
    log.info("sns_subscribed")
    return Response(status_code=200)


def _answer(objects: tuple[ObjectCreated, ...], taken: TakenEvents, ignored: int) -> EventsAnswer:
    return EventsAnswer(
        jobs=list(taken.jobs),
        added=taken.added,
        duplicates=taken.duplicates,
        ignored=ignored,
        refused=[
            RefusedEvent(url=objects[found.index].url, code=found.error.code, detail=found.error.detail)
            for found in taken.refused
        ],
    )
