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
    """The engine that reads here, and the name that Mistral's clients call it by."""
    return ModelList(data=[Model(id=context_of(request).service.engine.name), Model(id=ALIAS)])
