"""Restricts Gradio to its page and the few routes that the page needs; all others return 404.

Gradio has routes for uploads, files, proxies, recordings and more, which don't check this service's keys and limits.
The browser uploads files to `/v1/files` of the API instead.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 100_000
"""The page sends options and names through Gradio, never files."""

_READ = re.compile(
    r"/|/theme\.css|/config|/favicon\.ico|/static/[\w./-]+|/assets/[\w./-]+"
    r"|/gradio_api/(startup-events|queue/data|heartbeat/\w+|app_id|info)|/manifest\.json"
)
_SENT = re.compile(r"/gradio_api/(queue/join|component_server|cancel|reset)/?")

# Gradio's page contains inline scripts and compiles templates into functions.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'self'; "
    "base-uri 'self'; form-action 'self'; object-src 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Guard:
    """Passes on requests that the page needs; every response restricts the browser to this service."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(self._prefix) or "/"
        if not _is_served(scope["method"], path):
            await PlainTextResponse("Not found.", 404)(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            await PlainTextResponse("The request body is too large.", 413)(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, _BodyLimit(receive), send_safely)


def _is_served(method: str, path: str) -> bool:
    if ".." in path:
        return False
    if method in {"GET", "HEAD"}:
        return _READ.fullmatch(path) is not None
    return method == "POST" and _SENT.fullmatch(path) is not None


class _BodyLimit:
    """Disconnects when the body exceeds the limit; a chunked body has no length header."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = MAX_BODY_BYTES

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._left < 0 else message
