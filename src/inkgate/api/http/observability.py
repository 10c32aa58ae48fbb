"""Request IDs, trace context, access log and request metrics: the middleware that observes requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import perf_counter
from uuid import uuid4

import structlog
from opentelemetry.trace import Tracer
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.api.http.uploads import announced_bytes
from inkgate.errors import Overloaded, error_class
from inkgate.telemetry.history import NO_WORK
from inkgate.telemetry.observer import Observer
from inkgate.telemetry.tracing import NOT_RECORDING, request_span, trace_id_of

REQUEST_ID_HEADER = "X-Request-ID"
_ACCEPTED = re.compile(r"[!-~]{1,128}")
"""Printable ASCII without spaces, which is safe in headers and log lines."""
_MOST_STATE = 512
"""Maximum characters of `tracestate`, as many as the recommendation asks for. Versions of OpenTelemetry without a limit
take seconds to parse 60 KB of spaces."""


class RequestId:
    """Keeps an `X-Request-ID` of 1 to 128 printable characters, and generates one otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        request_id = sent if _ACCEPTED.fullmatch(sent) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, send_with_id)


class Trace:
    """Takes `traceparent` and `tracestate`, and records the request with `tracer`. Runs inside RequestId."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        tracer = NOT_RECORDING if scope.get("path") in NO_WORK else self._tracer
        with request_span(tracer, _trace_headers(scope)) as span:
            if span is None:
                await self._app(scope, receive, send)
                return
            span.set_attribute("inkgate.request_id", str(scope.get("state", {}).get("request_id", "")))
            with structlog.contextvars.bound_contextvars(trace_id=trace_id_of(span)):
                await self._app(scope, receive, send)


def _trace_headers(scope: Scope) -> dict[str, str]:
    """The headers of the client's trace; empty unless there is exactly one `traceparent`. A long state is left out."""
    parents = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(parents) != 1:
        return {}
    state = b",".join(value for name, value in scope["headers"] if name == b"tracestate")
    if len(state) > _MOST_STATE:
        state = b""
    return {"traceparent": parents[0].decode("latin-1"), "tracestate": state.decode("latin-1")}


log = structlog.get_logger("inkgate.access")

CLIENT_LEFT = 499
"""Logged as the status if the client left before the response began; nginx's number."""
_NOTED = frozenset({"caller", "code", "model", "stream", "upstream_status"})
"""Fields that inner layers may note about the request."""


def _nothing(_: Scope, __: int, ___: float) -> None:
    """Does nothing."""


def _length(scope: Scope) -> int | None:
    """The body's announced length; None if there is none or it is impossible."""
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return announced_bytes(said.decode("latin-1"))


class AccessLog:
    """Logs each request when its response has ended. Probes and `/state` are logged at the debug level."""

    def __init__(self, app: ASGIApp, ended: Callable[[Scope, int, float], None] = _nothing) -> None:
        """`ended`: called for each request with the scope, the status, and the duration in seconds."""
        self._app = app
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = perf_counter()
        status = CLIENT_LEFT
        sent = 0

        async def count(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, count)
        finally:
            seconds = perf_counter() - begun
            self._ended(scope, status, seconds)
            client = scope.get("client")
            write = log.debug if scope["path"] in NO_WORK else log.info
            write(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                duration_ms=round(1000 * seconds, 1),
                received_bytes=_length(scope),
                bytes=sent,
                client=client[0] if client else None,
                **{key: value for key, value in scope.get("state", {}).items() if key in _NOTED},
            )


OTHER = "other"
_METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS"})
_NAMED_KEY = "key:"


class Measure:
    """Reports finished requests to an Observer; used as `ended` of AccessLog."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._fixed: set[str] = set()
        self._patterns: list[Route] = []

    def add_routes(self, routes: Iterable[BaseRoute]) -> None:
        """Takes the endpoints' names from the application's routes, and reports those for documents to the Observer."""
        for route in routes:
            if not isinstance(route, Route):
                continue
            if route.param_convertors:
                self._patterns.append(route)
                continue
            self._fixed.add(route.path)
            if "POST" in (route.methods or ()):
                self._observer.serves(route.path)

    def __call__(self, scope: Scope, status: int, seconds: float) -> None:
        """Counts the request, and its refusal if it was refused."""
        method = scope["method"]
        self._observer.request(method if method in _METHODS else OTHER, self.endpoint(scope), status, seconds)
        noted = scope.get("state", {})
        code = noted.get("code")
        if code and issubclass(error_class(code), Overloaded):
            named = str(noted.get("caller", "")).startswith(_NAMED_KEY)
            self._observer.refused(code, "key" if named else "anonymous")

    def endpoint(self, scope: Scope) -> str:
        """The request's route as a path template; `other` if there is none."""
        path: str = scope["path"]
        if path in self._fixed:
            return path
        return next((route.path for route in self._patterns if route.path_regex.match(path)), OTHER)
