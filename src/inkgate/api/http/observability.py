"""Request IDs, trace context, access log and request metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from uuid import uuid4

import structlog
from opentelemetry.trace import Tracer
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.api.http.costs import takes_documents
from inkgate.api.http.uploads import announced_bytes
from inkgate.errors import Overloaded, error_class
from inkgate.telemetry.observer import Observer
from inkgate.telemetry.tracing import NOT_RECORDING, request_span, trace_id_of

REQUEST_ID_HEADER = "X-Request-ID"
_QUIET = frozenset({"/health", "/livez", "/readyz", "/state"})
"""Probes, which would flood logs and traces."""
_ACCEPTED = re.compile(r"[!-~]{1,128}")
"""Printable ASCII without spaces, which is safe in headers and log lines."""
_MAX_STATE = 512
"""Maximum characters of `tracestate`, as many as the W3C's recommendation requires. Versions of OpenTelemetry without a
limit take seconds to parse 60 KB of spaces."""


def _trace_headers(scope: Scope) -> dict[str, str]:
    """The headers of the client's trace; empty unless there is exactly one `traceparent`. A long state is left out."""
    parents = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(parents) != 1:
        return {}
    state = b",".join(value for name, value in scope["headers"] if name == b"tracestate")
    if len(state) > _MAX_STATE:
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
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return announced_bytes(text.decode("latin-1"))


class Observe:
    """Gives each request an ID and a span, and logs it when its response has ended.

    A client's `X-Request-ID` of 1 to 128 printable characters is used; otherwise one is generated. The span continues
    the trace of `traceparent` and `tracestate`. Probes and `/state` have no span, and are logged at the debug level.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer, ended: Callable[[Scope, int, float], None] = _nothing) -> None:
        """`ended`: called for each request with the scope, the status, and the duration in seconds."""
        self._app = app
        self._tracer = tracer
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id_sent = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        request_id = id_sent if _ACCEPTED.fullmatch(id_sent) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        with structlog.contextvars.bound_contextvars(request_id=request_id), self._traced(scope, request_id):
            await self._run(scope, receive, send, request_id)

    @contextmanager
    def _traced(self, scope: Scope, request_id: str) -> Iterator[None]:
        tracer = NOT_RECORDING if scope["path"] in _QUIET else self._tracer
        with request_span(tracer, _trace_headers(scope)) as span:
            if span is None:
                yield
                return
            span.set_attribute("inkgate.request_id", request_id)
            with structlog.contextvars.bound_contextvars(trace_id=trace_id_of(span)):
                yield

    async def _run(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        begun = perf_counter()
        status = CLIENT_LEFT
        sent_bytes = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            else:
                sent_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            seconds = perf_counter() - begun
            self._ended(scope, status, seconds)
            _log_request(scope, status, seconds, sent_bytes)


def _log_request(scope: Scope, status: int, seconds: float, sent_bytes: int) -> None:
    client = scope.get("client")
    write = log.debug if scope["path"] in _QUIET else log.info
    write(
        "request",
        method=scope["method"],
        path=scope["path"],
        status=status,
        duration_ms=round(1000 * seconds, 1),
        received_bytes=_length(scope),
        bytes=sent_bytes,
        client=client[0] if client else None,
        **{key: value for key, value in scope.get("state", {}).items() if key in _NOTED},
    )


OTHER = "other"
_METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS"})
_NAMED_KEY = "key:"


class Measure:
    """Reports finished requests to an Observer; used as `ended` of Observe."""

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
            else:
                self._fixed.add(route.path)
            if takes_documents(route):
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
