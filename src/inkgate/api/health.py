"""`/health`, `/livez` and `/readyz`, for people, supervisors and load balancers, without an API key; and `/state`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inkgate import __version__
from inkgate.api.http.context import ServiceView, context_of
from inkgate.api.http.costs import STATE, costs
from inkgate.api.http.openapi import problems
from inkgate.service.readiness import ServiceWarning
from inkgate_client.telemetry.state import State

router = APIRouter(tags=["service"])

_MINERU_PROTOCOL = 2
"""MinerU 3's command line accepts no other."""


class Health(BaseModel):
    """The service responds, in the fields that MinerU's and docling's clients expect at the same path."""

    status: str = Field(description="`healthy`; `ok` to clients of docling, which name it in a header.")
    engine: str
    version: str
    protocol_version: int = Field(_MINERU_PROTOCOL, description="Of MinerU's tasks.")
    max_concurrent_requests: int = Field(description="Documents that are read at once.")
    processing_window_size: int = Field(1, description="Pages for which MinerU's clients put documents into one task.")


class Alive(BaseModel):
    """The process responds."""

    status: str = "alive"


class ReadyWarning(BaseModel):
    """A failure that leaves the service ready, such as that of a model server whose pages another engine reads."""

    code: str = Field(description="The finding of `inkgate doctor`, such as `replica-out`.")
    detail: str = Field(description="What is wrong, and what follows for documents.")
    remedy: str = Field(description="What to do.")


class Ready(BaseModel):
    """Readiness probe."""

    status: str = Field(description="`ready` or `not_ready`.")
    reasons: list[str] = Field(description="Why it is not ready; empty if it is.")
    warnings: list[ReadyWarning] = Field(
        description="What it does worse than it could, although documents may be sent; empty if nothing."
    )


@router.head("/health", include_in_schema=False)
@router.get("/health", operation_id="get_health", summary="Health check")
@costs(STATE)
async def health(request: Request) -> Health:
    """200 while the service can answer."""
    context, headers = context_of(request), request.headers
    docling = "accept-docling-document-version" in headers or "docling" in headers.get("user-agent", "")
    return Health(
        status="ok" if docling else "healthy",
        engine=context.service.engine.name,
        version=__version__,
        max_concurrent_requests=context.settings.limits.max_in_flight,
    )


@router.get("/version", operation_id="get_version", summary="Version")
@costs(STATE)
async def version() -> dict[str, str]:
    """Versions by program, as docling-serve has them."""
    return {"inkgate": __version__}


@router.head("/livez", include_in_schema=False)
@router.get("/livez", operation_id="get_livez", summary="Liveness probe")
@costs(STATE)
async def livez() -> Alive:
    """200 while the process runs. Restart it if this fails."""
    return Alive()


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz",
    operation_id="get_readyz",
    summary="Readiness probe",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Not ready, with the reasons."}},
)
@costs(STATE)
async def readyz(request: Request) -> Response:
    """200 while pages, or a test page, were read lately and the service is not draining. Otherwise 503 with reasons.

    A busy service is ready. The response comes within a second.
    """
    context = context_of(request)
    reasons = context.drain.reasons() or await context.service.readiness.reasons()
    warnings = [ReadyWarning.model_validate(asdict(each)) for each in _warnings(context.service)]
    answer = Ready(status="not_ready" if reasons else "ready", reasons=reasons, warnings=warnings)
    return JSONResponse(answer.model_dump(), 503 if reasons else 200)


def _warnings(service: ServiceView) -> Iterator[ServiceWarning]:
    found = service.observatory.warnings()
    yield from found
    for complaint in service.supervisor.complaints(needed=False):
        remedy = "Fix the error that the log shows (`background_task_failed`); the task restarts by itself."
        yield ServiceWarning("background-failing", complaint, remedy)
    if service.jobs is not None and (trouble := service.jobs.store.database.trouble):
        code, remedy = "jobs-store-unavailable", "Start the database, or correct `jobs.database`;"
        if service.jobs.store.database.is_full:
            code, remedy = "jobs-disk-full", "Free space on its disk, or keep results and uploads for less time;"
        remedy = f"{remedy} the log has the error (`jobs_unavailable`)."
        if code not in {each.code for each in found}:
            yield ServiceWarning(code, f"jobs: {trouble} Jobs are refused; documents are read.", remedy)


_History = Annotated[bool, Query(description="Include the last 15 minutes, one point for each 5 seconds.")]


@router.get("/state", operation_id="get_state", summary="Internal state", response_model=State, responses=problems(422))
@costs(STATE)
async def state(request: Request, *, history: _History = True) -> Response:
    """Queues, caches, breakers, model servers, GPUs and processes now, counters since the start, and the settings.

    It needs an API key if keys are set, since it shows the settings. Secrets are masked.
    """
    found = context_of(request).service.observatory.state(history=history)
    return Response(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS), media_type="application/json")
