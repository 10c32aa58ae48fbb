"""`POST /v1/chat/completions` for OpenAI's and vLLM's clients, and `POST /v1/responses` for OpenAI's."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.chat.fields import MAX_ANSWERS
from inkgate.api.chat.relay import ChatResponse
from inkgate.api.chat.responses import chat_of
from inkgate.api.http.context import Context, context_of
from inkgate.api.http.costs import CHAT, costs
from inkgate.api.http.openapi import SAMPLE_PNG_BASE64, openai_problems
from inkgate.errors import InputRejected
from inkgate.model_servers.upstream import Upstream

Json = dict[str, Any]

_EXAMPLE: Json = {
    "model": "PaddleOCR-VL-1.6-0.9B",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{SAMPLE_PNG_BASE64}"}},
                {"type": "text", "text": "OCR:"},
            ],
        }
    ],
    "temperature": 0,
    "max_completion_tokens": 1024,
    "stream": False,
}
_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "description": "Forwarded byte by byte, except for fields with which one client could use up what "
                "others need (docs/reference/http.md).",
                "required": ["messages"],
                "properties": {
                    "model": {
                        "type": "string",
                        "description": "A name that `/v1/models` lists. The engine's name stands for its model.",
                    },
                    "messages": {"type": "array", "items": {"type": "object"}},
                    "stream": {"type": "boolean"},
                    "max_completion_tokens": {"type": "integer", "minimum": 1},
                    "n": {"type": "integer", "minimum": 1, "maximum": MAX_ANSWERS},
                },
            },
            "examples": {"page": {"summary": "An image, then the prompt", "value": _EXAMPLE}},
        }
    },
}
_RESPONSES_REQUEST: Json = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["input"],
                "properties": {
                    "model": {"type": "string", "description": "As for chat completions."},
                    "input": {
                        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}],
                        "description": "A text, or messages of `input_text` and `input_image`.",
                    },
                    "instructions": {"type": ["string", "null"]},
                    "stream": {"type": ["boolean", "null"]},
                    "max_output_tokens": {"type": ["integer", "null"], "minimum": 1},
                },
            },
        }
    },
}
_EVENT: Json = {
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "description": "A chunk of the completion, an error, or `[DONE]`."}},
}


def _responses() -> dict[int | str, Json]:
    found = openai_problems(400, 404, 408, 413, 415, 422, 501, 502, 504)
    ok: Json = {
        "description": "The model server's response, unchanged. With `stream`: its events as they arrive.",
        "headers": {
            "X-Inkgate-Ignored": {
                "description": "Fields of the request that were removed or lowered.",
                "schema": {"type": "string"},
            }
        },
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/event-stream": {"schema": _EVENT},
        },
    }
    return {200: ok, **found}


CHAT_OPERATION: Json = {
    "summary": "OpenAI chat completions",
    "operation_id": "complete_chat",
    "description": "Passes a chat completion on to a model server, under the same admission as documents. Errors "
    "come in OpenAI's form; those of the model server keep their status. Needs an engine with model servers.",
    "responses": _responses(),
    "openapi_extra": {"requestBody": _REQUEST},
}

RESPONSES_OPERATION: Json = {
    "summary": "OpenAI responses",
    "operation_id": "create_response",
    "description": "Translates a request of OpenAI's Responses API with texts and images to a chat completion, and its "
    "answer back. Nothing is stored; tools, files and earlier responses are refused.",
    "responses": {
        **_responses(),
        200: {**_responses()[200], "description": "A response, or with `stream` its events."},
    },
    "openapi_extra": {"requestBody": _RESPONSES_REQUEST},
}

PATH = "/v1/chat/completions"

router = APIRouter(tags=["chat"])


@router.post(PATH, response_class=Response, **CHAT_OPERATION)
@costs(CHAT)
async def complete(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    context = context_of(request)
    return ChatResponse(context, _upstream(context))


@router.post("/v1/responses", response_class=Response, **RESPONSES_OPERATION)
@costs(CHAT)
async def respond(request: Request) -> Response:
    """Takes the raw request, as `complete` does."""
    context = context_of(request)
    return ChatResponse(context, _upstream(context), chat_of)


def _upstream(context: Context) -> Upstream:
    if context.service.upstream is None:
        engine = context.service.engine.name
        raise InputRejected("chat_unavailable", f"The engine {engine!r} uses no model server.")
    return context.service.upstream
