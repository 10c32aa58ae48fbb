"""Access log: times each request, logs one line for it, and reports it to metrics."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.api.lengths import announced_bytes
from inkgate.telemetry.metrics import NO_WORK

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
