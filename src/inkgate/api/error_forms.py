"""Errors in the form that a path's clients expect: OpenAI's, PaddleX's, else problem documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import orjson
from starlette.responses import Response

from inkgate.api.errors import Problem

CHAT = "/v1/chat/completions"
LAYOUT_PARSING = "/layout-parsing"
_V1 = "/v1/"
_OWN_V1 = re.compile("/v1/(ocr|models|files(/.*)?)")
"""Paths below /v1 whose errors are problem documents; OpenAI clients use all others."""


def openai_error(problem: Problem) -> dict[str, Any]:
    """`problem` in OpenAI's form. `code` is inkgate's; `request_id` is an addition."""
    error = {
        "message": f"{problem.title}: {problem.detail} {problem.remedy}",
        "type": _openai_type(problem.status),
        "param": None,
        "code": problem.code,
        "request_id": problem.request_id,
    }
    return {"error": error}


def _openai_type(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def paddlex_error(problem: Problem, log_id: str = "") -> dict[str, Any]:
    """`problem` in PaddleX's envelope, without `result`. `errorCode`: the HTTP status; `code`, `remedy`: additions."""
    return {
        "logId": log_id or uuid4().hex,
        "errorCode": problem.status,
        "errorMsg": f"{problem.title}: {problem.detail}",
        "code": problem.code,
        "remedy": problem.remedy,
        "request_id": problem.request_id,
    }


_FORMS: Mapping[str, Callable[[Problem], dict[str, Any]]] = {CHAT: openai_error, LAYOUT_PARSING: paddlex_error}


def error_answer(problem: Problem, path: str) -> Response:
    """The error response for a client of `path`."""
    form = _FORMS.get(path)
    if form is None and path.startswith(_V1) and not _OWN_V1.fullmatch(path):
        form = openai_error
    return problem.response() if form is None else json_error(problem, form(problem))


def json_error(problem: Problem, body: dict[str, Any]) -> Response:
    """A response with `body` and the status and headers of `problem`."""
    return Response(orjson.dumps(body), problem.status, headers=problem.headers, media_type="application/json")
