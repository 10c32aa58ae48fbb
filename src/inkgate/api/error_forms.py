"""Errors in the form that the clients of an address read: problem documents, unless a client's own form is known."""

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
"""Addresses below /v1 that have problem documents; all others are asked for by OpenAI's clients."""


def openai_error(problem: Problem) -> dict[str, Any]:
    """`problem` as OpenAI writes errors. `code` is ours; `request_id` is an addition."""
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
    """`problem` in PaddleX's envelope: no `result`, the HTTP status as `errorCode`; `code` and `remedy` are ours."""
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
    """The answer that tells of `problem` to a client of the address `path`."""
    form = _FORMS.get(path)
    if form is None and path.startswith(_V1) and not _OWN_V1.fullmatch(path):
        form = openai_error
    return problem.response() if form is None else json_error(problem, form(problem))


def json_error(problem: Problem, body: dict[str, Any]) -> Response:
    """`body` with the status and the headers of `problem`."""
    return Response(orjson.dumps(body), problem.status, headers=problem.headers, media_type="application/json")
