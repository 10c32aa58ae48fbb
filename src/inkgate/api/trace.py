"""Trace context: continues the client's trace and adds its IDs to every log line."""

from __future__ import annotations

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.telemetry.metrics import NO_WORK
from inkgate.telemetry.tracing import NOT_RECORDING, TraceContext, Tracer, parse_context, within


class Trace:
    """Takes `traceparent` and `tracestate`, and records the request with `tracer`. Runs inside RequestId."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracer = NOT_RECORDING if scope.get("path") in NO_WORK else self._tracer
        span = tracer.request(_sent(scope)) if scope["type"] == "http" else None
        if span is None:
            await self._app(scope, receive, send)
            return
        span.note({"inkgate.request_id": str(scope.get("state", {}).get("request_id", ""))})
        with within(span), structlog.contextvars.bound_contextvars(trace_id=span.context.trace_id):
            await self._app(scope, receive, send)


def _sent(scope: Scope) -> TraceContext | None:
    parents = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(parents) != 1:
        return None
    states = [value for name, value in scope["headers"] if name == b"tracestate"]
    return parse_context(parents[0].decode("latin-1"), b",".join(states).decode("latin-1"))
