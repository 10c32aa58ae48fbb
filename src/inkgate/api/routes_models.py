"""`GET /v1/models`: what may be sent as `model`."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from inkgate.api.context import context_of
from inkgate.api.openapi import PROBLEM_RESPONSES
from inkgate.api.schemas_files import Model, ModelList

router = APIRouter(tags=["service"], responses=PROBLEM_RESPONSES)

ALIAS = "mistral-ocr-latest"
"""What clients made for Mistral's service send."""


@router.get("/v1/models", summary="List the models")
async def models(request: Request) -> ModelList:
    """What the model servers have, the engine that reads here, and the name that Mistral's clients call it by.

    Every name but Mistral's may be sent to `/v1/chat/completions`, where there are model servers. PaddleOCR's client
    asks for the first.
    """
    context = context_of(request)
    own = (context.service.engine.name, ALIAS)
    served = [name for name in await context.served.known() if name not in own]
    found = [Model(id=name, owned_by="model-server") for name in served] + [Model(id=name) for name in own]
    return ModelList(data=found)
