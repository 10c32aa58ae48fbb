"""`GET /v1/models`: the names that requests may use as `model`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.requests import Request

from inkgate.api.http.context import Context, context_of
from inkgate.api.http.costs import STATE, costs
from inkgate.api.http.openapi import PROBLEM_RESPONSES, openai_problems
from inkgate.api.mistral_response import MISTRAL_MODELS
from inkgate.errors import InputRejected
from inkgate.model_servers.upstream import ServedModelName


class ModelCapabilities(BaseModel):
    """What a model can do, as Mistral's clients want it."""

    completion_chat: bool = False
    vision: bool = True
    ocr: bool = True


class ModelEntry(BaseModel):
    """A name that requests may use as `model`."""

    id: str
    object: str = "model"
    type: str = Field("base", description="Mistral's clients require it.")
    capabilities: ModelCapabilities = ModelCapabilities()
    created: int = 0
    owned_by: str = "inkgate"
    root: str | None = Field(None, description="The model server's name for the model, if `id` is another name of it.")
    max_model_len: int | None = Field(None, description="Maximum tokens of a prompt and its response, if known.")


class ModelList(BaseModel):
    """The names that requests may use as `model`."""

    object: str = "list"
    data: list[ModelEntry]


router = APIRouter(tags=["service"])


@router.get(
    "/v1/models",
    summary="List the models",
    operation_id="list_models",
    response_model_exclude_none=True,
    responses=PROBLEM_RESPONSES,
)
@costs(STATE)
async def models(request: Request) -> ModelList:
    """The models of the model servers, then the other names of the engine's model; without any, the engine.

    The engine's own name, and for `/v1/ocr` any name of Mistral's, can be used without being listed.
    """
    return ModelList(data=await _listed(context_of(request)))


@router.get(
    "/v1/models/{model_id:path}",
    summary="Describe a model",
    operation_id="describe_model",
    response_model_exclude_none=True,
    responses=openai_problems(404, 422),
)
@costs(STATE)
async def model(
    request: Request, model_id: Annotated[str, Path(max_length=300, description="The `id` of a listed model.")]
) -> ModelEntry:
    """A model of `/v1/models`, the engine by its own name, or a name of Mistral's, which stands for the engine."""
    context = context_of(request)
    if model_id.startswith(MISTRAL_MODELS):
        return ModelEntry(id=model_id)
    known = [*await _listed(context), *(ModelEntry(id=name) for name in context.served.model.own)]
    found = next((one for one in known if one.id == model_id), None)
    if found is None:
        raise InputRejected("engine_unknown", "No model has this name.")
    return found


async def _listed(context: Context) -> list[ModelEntry]:
    served, model = await context.served.known(), context.served.model
    found = [_described(name) for name in served]
    root = next((entry for entry in found if entry.id == model.on_server(served)), None)
    if root is not None:
        more = {"root": root.id, "owned_by": "inkgate"}
        found += [root.model_copy(update={"id": name, **more}) for name in model.listed if name not in served]
    return found or [ModelEntry(id=context.service.engine.name)]


def _described(name: str) -> ModelEntry:
    longest = name.max_model_len if isinstance(name, ServedModelName) else None
    chats = ModelCapabilities(completion_chat=True)
    return ModelEntry(id=name, owned_by="model-server", max_model_len=longest, capabilities=chats)
