"""Runs the server, over standard input and output or over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import socket
from uuid import uuid4

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.api.http.errors import ErrorResponses, Problems
from inkgate.api.http.server import bounded_http
from inkgate.api.http.uploads import announced_bytes, receive_bytes
from inkgate.integrations.mcp.tools import DocumentTools
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.limits import FixedLimit
from inkgate.serving.permits import Arrival
from inkgate.serving.queue import WorkQueue
from inkgate.settings import Settings

PATH = "/mcp"
_BASE64 = 4 / 3
_ENVELOPE_BYTES = 1_000_000
"""Bytes of a message beside a document's base64."""
_CLOSE_S = 5
"""Time for open streams to end."""


@dataclass(frozen=True, slots=True)
class McpAddress:
    """The address to listen at. `key`: clients must send it as `Authorization: Bearer`; empty: none. `hosts`: Host
    headers that are answered beside those of loopback, such as ocr.example.org.
    """

    host: str
    port: int
    key: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()


async def serve_stdio(tools: DocumentTools) -> None:
    """Serves the program that started this one, until standard input ends."""
    await tools.server().run_stdio_async()


async def serve_http(
    tools: DocumentTools, address: McpAddress, settings: Settings, started: Callable[[str], None], stop: anyio.Event
) -> None:
    """Serves clients over HTTP until `stop`, within the settings' limits. `started` takes the URL.

    Raises:
        SystemExit: can't listen on the address.
    """
    loopback = ["127.0.0.1", "localhost", "[::1]"]
    names = [*loopback, *address.hosts]
    max_bytes = int(settings.limits.max_body_mb * _BASE64 * 1_000_000) + _ENVELOPE_BYTES
    app: ASGIApp = tools.server().streamable_http_app(
        streamable_http_path=PATH,
        host=address.host,
        max_request_body_size=max_bytes,
        # A web page that a browser on this machine shows must not reach the server under a name of its own.
        transport_security=TransportSecuritySettings(
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[
                f"{scheme}://{form}" for name in names for form in (name, f"{name}:*") for scheme in ("http", "https")
            ],
        ),
    )
    app = Problems(_BoundedBodies(app, settings, max_bytes), ErrorResponses(lambda _: None), "")
    if address.key:
        app = _KeyRequired(app, address.key)
    config = uvicorn.Config(
        app,
        address.host,
        address.port,
        http=bounded_http(settings.server),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_S,
    )
    server = _Server(config, started)

    async def stop_later() -> None:
        await stop.wait()
        server.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_later)
        await server.serve()
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Says where it listens, and leaves signals to the command."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _BoundedBodies:
    """Admits requests and receives their bodies as the service does: so many at once, so many bytes in all, in time.
    Raises as `receive_bytes` and AdmissionLimiter.admit do.
    """

    def __init__(self, app: ASGIApp, settings: Settings, max_bytes: int) -> None:
        """`max_bytes`: of a body."""
        self._app = app
        self._max_bytes = max_bytes
        self._limits = settings.limits.model_copy(update={"max_body_mb": max_bytes / 1_000_000})
        nothing_waits = WorkQueue(FixedLimit(1), settings.serving.scheduling)
        self._limiter = AdmissionLimiter(settings.limits.max_in_flight, settings.serving.admission, nothing_waits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["request_id"] = uuid4().hex
        if scope["method"] != "POST":  # a stream of events, which lasts as long as its session
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        address = request.client.host if request.client else ""
        announced = announced_bytes(request.headers.get("content-length", "")) or 0
        async with self._limiter.admit(Arrival(address, body_bytes=min(announced, self._max_bytes))) as permit:
            with permit.receiving():
                body = await receive_bytes(request, self._limits, self._max_bytes, permit.grow)
            await self._app(scope, _with_body(body, receive), send)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body`, then what `receive` gives."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return messages.pop() if messages else await receive()

    return receive_next


class _KeyRequired:
    """Answers 401 to HTTP requests without the key."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._sent = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(given, self._sent):
                refused = PlainTextResponse(
                    "Send the key of this server as Authorization: Bearer KEY.\n",
                    401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
