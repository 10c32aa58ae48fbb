"""The web page: one Gradio component of our own, its server functions, and what Gradio is kept from serving."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkgate.ui.desk import Desk, Json, Visitor
from inkgate.ui.jobs_desk import JobDesk
from inkgate.ui.words import LANGUAGES, WORDS, language_of
from inkgate.ui.words_zh import PROBLEMS

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


_AT_ONCE = 8
"""Concurrent runs of the page; each holds a file in memory. More wait in Gradio's queue."""
_WAITING = 64
_SCRIPTS = ("words.js", "service.js", "files.js", "viewer.js", "live.js", "jobs.js", "page.js")
_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Noto Sans CJK SC", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Noto Sans Mono", "monospace")


@dataclass(frozen=True, slots=True)
class GradioPage:
    """The page as an ASGI application. `running`: its lifespan context."""

    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[object]]


def build_page(url: str, prefix: str) -> GradioPage:
    """The page below `prefix` for the service at `url`. Blocking; takes a second.

    Gradio's analytics, history and sharing are off.
    """
    blocks = _blocks(Desk(url), JobDesk(url))
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    gr.mount_gradio_app(
        outer,
        blocks,
        path="",
        root_path=prefix,
        theme=gr.themes.Base(font=_FONT, font_mono=_MONO),
        css=_asset("page.css") + _asset("viewer.css") + _asset("live.css") + _asset("jobs.css"),
        footer_links=[],
        favicon_path=str(files("inkgate.api").joinpath("favicon.ico")),
        run_history=False,
        show_error=False,
        ssr_mode=False,
        mcp_server=False,
        pwa=False,
        enable_monitoring=False,
        max_file_size=0,
    )
    return GradioPage(Guard(outer, prefix), lambda: outer.router.lifespan_context(outer))


def _blocks(desk: Desk, jobs: JobDesk) -> gr.Blocks:
    blocks = gr.Blocks(title="inkgate", analytics_enabled=False, fill_width=True, delete_cache=(600, 600))
    with blocks:
        page = gr.HTML(
            value=None,
            html_template=_asset("page.html"),
            js_on_load="\n".join(_asset(name) for name in _SCRIPTS),
            apply_default_css=False,
            elem_id="inkgate",
            words=WORDS,
            problems={"zh": PROBLEMS},
            languages=LANGUAGES,
            server_functions=_functions(desk, jobs),
        )

        async def read(event: gr.EventData, request: gr.Request) -> AsyncIterator[Json]:
            asked: Mapping[str, Any] = event._data  # noqa: SLF001 - the only access to the event's data
            async for progress in desk.read(asked, _visitor(asked, request)):
                yield progress

        reading = page.submit(
            read, None, page, show_progress="hidden", api_visibility="private", concurrency_limit=_AT_ONCE
        )
        page.stop(None, None, None, cancels=[reading], api_visibility="private")
    blocks.queue(max_size=_WAITING, default_concurrency_limit=_AT_ONCE, api_open=False)
    return blocks


def _functions(desk: Desk, jobs: JobDesk) -> list[Callable[..., Any]]:
    """The functions that the page's script can call; Gradio runs blocking ones in threads. Their names become
    attributes of the component, which already has `page`.
    """

    def ink_page(asked: Json) -> Json:
        return desk.page(asked)

    def ink_download(asked: Json) -> Json:
        return desk.download(asked)

    async def ink_about(asked: Json, request: gr.Request) -> Json:
        return await desk.about(_visitor(asked, request))

    async def ink_live(asked: Json, request: gr.Request) -> Json:
        return await desk.live(_visitor(asked, request))

    async def ink_jobs(asked: Json, request: gr.Request) -> Json:
        return await jobs.jobs(asked, _visitor(asked, request))

    async def ink_job_page(asked: Json, request: gr.Request) -> Json:
        return await jobs.page(asked, _visitor(asked, request))

    def ink_greet(asked: Json, request: gr.Request) -> Json:  # noqa: ARG001 - server functions have a parameter
        return {"language": language_of(request.headers.get("accept-language", ""))}

    return [ink_page, ink_download, ink_about, ink_live, ink_jobs, ink_job_page, ink_greet]


def _visitor(asked: Mapping[str, Any], request: gr.Request) -> Visitor:
    client = request.client
    language = str(asked.get("language", "en"))
    return Visitor(str(asked.get("key") or "")[:200], client.host if client else "", language)


def _asset(name: str) -> str:
    return files("inkgate.ui").joinpath("assets", name).read_text(encoding="utf-8")
