"""Trace context: continues the client's trace and adds its ID to every log line."""

from __future__ import annotations

import structlog
from opentelemetry.trace import Tracer
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.telemetry.metrics import NO_WORK
from inkgate.telemetry.tracing import NOT_RECORDING, request_span, trace_id_of


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
    """The headers of the client's trace; empty unless there is exactly one `traceparent`."""
    parents = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(parents) != 1:
        return {}
    states = [value for name, value in scope["headers"] if name == b"tracestate"]
    return {"traceparent": parents[0].decode("latin-1"), "tracestate": b",".join(states).decode("latin-1")}
