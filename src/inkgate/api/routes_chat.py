"""`POST /v1/chat/completions` for OpenAI's and vLLM's clients."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.api.chat import ChatResponse
from inkgate.api.context import context_of
from inkgate.api.error_forms import CHAT
from inkgate.api.openapi_chat import CHAT_OPERATION
from inkgate.errors import InputRejected

router = APIRouter(tags=["chat"])


@router.post(CHAT, response_class=Response, **CHAT_OPERATION)
async def complete(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    context = context_of(request)
    upstream = context.service.upstream
    if upstream is None:
        engine = context.service.engine.name
        raise InputRejected(
            "feature_unavailable",
            f"The engine {engine!r} does not support chat completions. Start inkgate with an engine that uses a vLLM "
            "server, such as `--engine paddleocr-vl`.",
        )
    return ChatResponse(context, upstream)


class AnswerChat:
    """Handles chat completions before the router, which would add a sixth to the gateway's time per request. The router
    still describes them in OpenAPI and handles everything else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http" and scope["path"] == CHAT and scope["method"] == "POST":
            answer = await complete(Request(scope, receive))
        await answer(scope, receive, send)
