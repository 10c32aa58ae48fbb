"""Errors as responses: problem documents (RFC 9457) and the other forms, and the middleware
that turns exceptions into them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random, SystemRandom
from typing import Any

import anyio
import orjson
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.errors import CODES, EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.serving.outcomes import CallerLeft
from inkgate_client.concurrency import loop_time

log = structlog.get_logger(__name__)

PROBLEM_TYPE = "application/problem+json"
_TIMEOUTS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT)
"""The clients of OpenAI and Anthropic send such a request again on their own, unless `x-should-retry` says no. It would
take as long again."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error response for a client."""

    code: str
    status: int
    title: str
    detail: str
    remedy: str
    request_id: str
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: InkgateError, request_id: str) -> Problem:
        """The problem for `error`, with its headers."""
        headers: dict[str, str] = {}
        if error.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
        elif error.status in _TIMEOUTS:
            headers["x-should-retry"] = "false"
        if error.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return cls(error.code, error.status, error.title, error.detail, error.remedy, request_id, headers)

    @property
    def message(self) -> str:
        """What is wrong and what to do, for clients that show one text."""
        return f"{self.title}: {self.detail} {self.remedy}"

    def as_dict(self) -> dict[str, object]:
        """The members of the problem document. `type` is a stable name, not an address to open."""
        return {
            "type": f"urn:inkgate:error:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "remedy": self.remedy,
            "request_id": self.request_id,
        }

    def response(self) -> Response:
        body = orjson.dumps(self.as_dict())
        return Response(body, self.status, headers=self.headers, media_type=PROBLEM_TYPE)


def describe(errors: list[dict[str, object]]) -> str:
    """Describes pydantic's errors: which values are invalid and why, without repeating the values."""
    parts = []
    for error in errors[:5]:
        location = error["loc"]
        place = ".".join(str(step) for step in location) if isinstance(location, tuple) else ""
        parts.append(f"{place}: {error['msg']}" if place else str(error["msg"]))
    return "; ".join(parts) + "."


def internal_error() -> EngineFailed:
    """The error that a client gets for an unexpected exception: it reveals nothing internal."""
    return EngineFailed("internal", "An unexpected error ended this request; it is in the log under its request ID.")


def request_id_of(request: Request) -> str:
    """The request's ID, set by observability.py."""
    return str(request.scope.get("state", {}).get("request_id", ""))


ErrorForm = Callable[[Problem], dict[str, Any]]
"""Makes the body of an error in the form that some clients expect."""


def openai_error(problem: Problem) -> dict[str, Any]:
    """`problem` in OpenAI's form. `inkgate_code` and `request_id` are additions."""
    error = {
        "message": problem.message,
        "type": _openai_type(problem.status),
        "param": None,
        "code": CODES[problem.code].openai or problem.code,
        "inkgate_code": problem.code,
        "request_id": problem.request_id,
    }
    return {"error": error}


def problem_with_openai_error(problem: Problem) -> dict[str, Any]:
    """The problem document, with OpenAI's `error` beside its members: OpenAI's client for JavaScript shows no other."""
    return problem.as_dict() | openai_error(problem)


def problem_with_remedy(problem: Problem) -> dict[str, Any]:
    """The problem document with the remedy in its `detail`, too: clients of docling and MinerU show nothing else."""
    return problem.as_dict() | {"detail": problem.message}


def _openai_type(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def json_error(problem: Problem, body: dict[str, Any]) -> Response:
    """A response with `body` and the status and headers of `problem`."""
    media_type = PROBLEM_TYPE if "type" in body else "application/json"
    return Response(orjson.dumps(body), problem.status, headers=problem.headers, media_type=media_type)


_REFUSALS = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_MAX_RETRY_S = 60.0
_SLOT_S = 0.1
_MAX_TENANTS = 10_000
"""Maximum number of lines of refused tenants that are remembered."""
LINGER_S = 5.0
"""How long the rest of a refused body is read and discarded, so that the client can read the response: closing a
connection with unread data resets it and loses the response."""

_MOUNTED = "app_root_path"
"""The key in a mounted application's scope for the service's root path; `root_path` is the mount's there."""
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class ErrorResponses:
    """Error responses in the form that a path's clients expect: problem documents if `form_of` has no other."""

    def __init__(self, form_of: Callable[[str], ErrorForm | None]) -> None:
        self._form_of = form_of

    def response(self, problem: Problem, path: str) -> Response:
        """The error response for a client of `path`."""
        form = self._form_of(path)
        return problem.response() if form is None else json_error(problem, form(problem))

    async def http_error(self, request: Request, error: Exception) -> Response:
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
        return self.response(problem, _route_path(request))

    async def validation_error(self, request: Request, error: Exception) -> Response:
        """FastAPI's validation errors in the path's form."""
        if not isinstance(error, RequestValidationError):
            raise error
        rejected = InputRejected("options_invalid", describe(list(error.errors())))
        return self.response(_noted(rejected, request), _route_path(request))


class Places:
    """Gives each refused caller a time of its own to return: the time until a slot is free for the first one of a
    tenant, and a slot later for each further one. Clients that were refused together would return together otherwise.

    OpenAI's clients ignore more than 60 s, or give up. So whoever has a later place gets a random time up to then.
    """

    def __init__(
        self,
        slot_s: Callable[[], float] = lambda: _SLOT_S,
        clock: Callable[[], float] = loop_time,
        random: Random | None = None,
    ) -> None:
        """`slot_s`: expected time between two slots for the same tenant."""
        self._slot_s = slot_s
        self._clock = clock
        self._random = random or SystemRandom()
        self._next: OrderedDict[tuple[str, str, bool], float] = OrderedDict()

    def return_s(self, tenant: str, soonest_s: float, slot_s: float | None = None, code: str = "") -> float:
        """Seconds after which a refused caller of `tenant` should return. `slot_s`: if the refusal knows it. `code`: of
        the refusal; who waits for one thing, such as room for files, has no place in the line for another.
        """
        slot_s = self._slot_s() if slot_s is None else slot_s
        now = self._clock()
        soonest = now + soonest_s
        is_long = soonest_s >= _MAX_RETRY_S
        line = (tenant, code, is_long)
        at = max(self._next.pop(line, 0.0), soonest)
        latest = now + (soonest_s + _MAX_RETRY_S if is_long else _MAX_RETRY_S)
        self._next[line] = min(at + slot_s, latest)
        if len(self._next) > _MAX_TENANTS:
            self._next.popitem(last=False)
        at += slot_s * self._random.random() if at > soonest else 0.0
        return (at if at <= latest else self._random.uniform(soonest, latest)) - now


class Problems:
    """Responds to every exception, and links each error response to the documentation of its code. Exceptions after the
    response has begun are only logged. Sets Retry-After of all refusals, by `Places`.
    """

    def __init__(self, app: ASGIApp, responses: ErrorResponses, guide_url: str, places: Places | None = None) -> None:
        """`guide_url`: of the documentation, with a slash at the end; empty: there is no link."""
        self._app = app
        self._places = places or Places()
        self._responses = responses
        self._codes_url = f"{guide_url}reference/errors/" if guide_url else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._codes_url, self._places)
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
        if isinstance(failure, Overloaded):
            exchange.slot_s = failure.slot_s
        if exchange.answer_begun:
            log.error("answer_broken_off", code=failure.code)
            return
        problem = Problem.of(failure, scope["state"]["request_id"])
        await _answer(self._responses.response(problem, scope["path"]), scope, exchange)


class _Exchange:
    """A request's receive and send, with their progress."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, codes_url: str, places: Places) -> None:
        self.answer_begun = False
        self.body_ended = False
        self.slot_s: float | None = None
        self._places = places
        self._scope = scope
        self._codes_url = codes_url
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.body_ended = True
        return message

    async def send(self, message: Message) -> None:
        if not self.answer_begun:
            self._add_link(message)
            if message["status"] in _REFUSALS:
                self._set_place(message)
            self.answer_begun = True
        await self._send(message)

    def _add_link(self, message: Message) -> None:
        code = self._scope["state"].get("code")
        if message["status"] >= 400 and code and self._codes_url:
            MutableHeaders(scope=message).append("Link", f'<{self._codes_url}#{code}>; rel="help"')

    def _set_place(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        if (soonest := headers.get("Retry-After", "")).isdecimal():
            state = self._scope["state"]
            caller, code = str(state.get("caller", "")), str(state.get("code", ""))
            after_s = self._places.return_s(caller, float(soonest), self.slot_s, code)
            headers["Retry-After"] = str(math.ceil(after_s))
            headers["Retry-After-Ms"] = str(round(1000 * after_s))

    async def discard_body(self) -> None:
        """Reads and discards the rest of the body for a while."""
        with anyio.move_on_after(LINGER_S):
            while not self.body_ended:
                await self.receive()


def _has_body(scope: Scope) -> bool:
    lengths = [value for name, value in scope["headers"] if name in {b"content-length", b"transfer-encoding"}]
    return any(value != b"0" for value in lengths)


async def _answer(response: Response, scope: Scope, exchange: _Exchange) -> None:
    if exchange.body_ended or not _has_body(scope):
        await response(scope, exchange.receive, exchange.send)
        return
    # The body was refused before its end, so this connection can't be reused.
    response.headers["Connection"] = "close"

    async def withhold_end(message: Message) -> None:
        if message["type"] == "http.response.body":
            await exchange.send({**message, "more_body": True})
            await exchange.discard_body()
            message = {"type": "http.response.body", "body": b""}
        await exchange.send(message)

    await response(scope, exchange.receive, withhold_end)


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


def _noted(rejected: InputRejected, request: Request) -> Problem:
    """The problem for `rejected`; notes its code for the log and the documentation link."""
    request.scope["state"]["code"] = rejected.code
    return Problem.of(rejected, request_id_of(request))
