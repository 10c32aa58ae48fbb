"""`GET /v1/models`: the models that read here."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from inkgate.api.context import context_of
from inkgate.api.openapi import PROBLEM_RESPONSES
from inkgate.api.schemas_files import Model, ModelList

router = APIRouter(tags=["service"], responses=PROBLEM_RESPONSES)


@router.get("/v1/models", summary="List the models")
async def models(request: Request) -> ModelList:
    """What the model servers have; the engine that reads here, where there are none or none has said so yet.

    That is one for one engine: MinerU's client takes its model's name from here only where there is exactly one, and
    PaddleOCR's takes the first. The engine's own name, and Mistral's for `/v1/ocr`, may be sent without standing here.
    """
    context = context_of(request)
    served = await context.served.known()
    if not served:
        return ModelList(data=[Model(id=context.service.engine.name)])
    return ModelList(data=[Model(id=name, owned_by="model-server") for name in served])
