"""Turns every exception into an error response, or a log line if the response has begun."""

from __future__ import annotations

import anyio
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.api.error_forms import error_answer
from inkgate.api.errors import Problem, describe, internal_error, request_id_of
from inkgate.errors import InkgateError, InputRejected
from inkgate.serving.limiter import CallerLeft

log = structlog.get_logger(__name__)

LINGER_S = 5.0
"""How long the rest of a refused body is read and discarded, so that the client can read the response: closing a
connection with unread data resets it and loses the response."""

_MOUNTED = "app_root_path"
"""The key in a mounted application's scope for the service's root path; `root_path` is the mount's there."""
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class Problems:
    """Responds to every exception. Exceptions after the response has begun are only logged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Watched(receive, send)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except CallerLeft:
            return
        except InkgateError as error:
            failure = error
        except Exception:  # per-request border: other requests continue
            log.exception("request_failed")
            failure = internal_error()
        else:
            return
        scope["state"]["code"] = failure.code
        if exchange.answer_begun:
            log.error("answer_broken_off", code=failure.code)
            return
        await _answer(Problem.of(failure, scope["state"]["request_id"]), scope, exchange)


class _Watched:
    """A request's receive and send, with their progress."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.answer_begun = False
        self.body_ended = False
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.body_ended = True
        return message

    async def send(self, message: Message) -> None:
        self.answer_begun = True
        await self._send(message)

    async def discard_body(self) -> None:
        """Reads and discards the rest of the body for a while."""
        with anyio.move_on_after(LINGER_S):
            while not self.body_ended:
                await self.receive()


def _has_body(scope: Scope) -> bool:
    lengths = [value for name, value in scope["headers"] if name in {b"content-length", b"transfer-encoding"}]
    return any(value != b"0" for value in lengths)


async def _answer(problem: Problem, scope: Scope, exchange: _Watched) -> None:
    response = error_answer(problem, scope["path"])
    if exchange.body_ended or not _has_body(scope):
        await response(scope, exchange.receive, exchange.send)
        return
    # The body was refused before its end, so this connection can't be reused.
    response.headers["Connection"] = "close"

    async def hold_the_end(message: Message) -> None:
        if message["type"] == "http.response.body":
            await exchange.send({**message, "more_body": True})
            if problem.code != "body_timeout":
                await exchange.discard_body()
            message = {"type": "http.response.body", "body": b""}
        await exchange.send(message)

    await response(scope, exchange.receive, hold_the_end)


async def http_error(request: Request, error: Exception) -> Response:
    """The framework's HTTP errors (no such route, wrong method) in the path's form."""
    if not isinstance(error, HTTPException):
        raise error
    path = request.url.path
    if error.status_code == 404:
        rejected = InputRejected("route_unknown", f"There is nothing at {path}.")
    elif error.status_code == 405:
        rejected = InputRejected("method_not_allowed", f"{path} does not support {request.method}.")
    else:
        rejected = InputRejected("request_malformed", str(error.detail))
    problem = _noted(rejected, request)
    if error.status_code == 405:
        own = (error.headers or {}).get("Allow", "")
        problem.headers["Allow"] = own if _MOUNTED in request.scope else ", ".join(sorted(_methods_at(request)))
    return error_answer(problem, _route_path(request))


def _route_path(request: Request) -> str:
    """The path without the service's root path; it selects the error's form."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get(_MOUNTED, request.scope.get("root_path", "")))


def _methods_at(request: Request) -> set[str]:
    """The methods that the request's path supports; the framework's header lists those of one route only."""
    return {
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.routes)
    }


async def validation_error(request: Request, error: Exception) -> Response:
    """FastAPI's validation errors in the path's form."""
    if not isinstance(error, RequestValidationError):
        raise error
    rejected = InputRejected("options_invalid", describe(list(error.errors())))
    return error_answer(_noted(rejected, request), _route_path(request))


def _noted(rejected: InputRejected, request: Request) -> Problem:
    """The problem for `rejected`; notes its code for the log and the documentation link."""
    request.scope["state"]["code"] = rejected.code
    return Problem.of(rejected, request_id_of(request))
