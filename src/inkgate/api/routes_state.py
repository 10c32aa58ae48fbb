"""`GET /state`: the service's state and settings."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.context import context_of
from inkgate.api.openapi import problems
from inkgate.telemetry.state import State

router = APIRouter(tags=["service"], responses=problems(422))

_History = Annotated[bool, Query(description="Include the last 15 minutes, one point for each 5 seconds.")]


@router.get("/state", operation_id="get_state", summary="Internal state", response_model=State)
async def state(request: Request, *, history: _History = True) -> Response:
    """Queues, caches, breakers, model servers, GPUs and processes now, counters since the start, and the settings.

    It needs an API key if keys are set, since it shows the settings. Secrets are masked.
    """
    found = context_of(request).service.observatory.state(history=history)
    return Response(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS), media_type="application/json")
