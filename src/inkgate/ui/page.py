"""The web page: one Gradio component of our own, and its server functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.types import ASGIApp

from inkgate.ui.desk import Desk, Json, Visitor
from inkgate.ui.guard import Guard
from inkgate.ui.words import LANGUAGES, WORDS, language_of

_AT_ONCE = 8
"""Concurrent runs of the page; each holds a file in memory. More wait in Gradio's queue."""
_WAITING = 64
_SCRIPTS = ("words.js", "service.js", "files.js", "viewer.js", "live.js", "page.js")
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
    blocks = _blocks(Desk(url))
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    gr.mount_gradio_app(
        outer,
        blocks,
        path="",
        root_path=prefix,
        theme=gr.themes.Base(font=_FONT, font_mono=_MONO),
        css=_asset("page.css") + _asset("viewer.css") + _asset("live.css"),
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


def _blocks(desk: Desk) -> gr.Blocks:
    blocks = gr.Blocks(title="inkgate", analytics_enabled=False, fill_width=True, delete_cache=(600, 600))
    with blocks:
        page = gr.HTML(
            value=None,
            html_template=_asset("page.html"),
            js_on_load="\n".join(_asset(name) for name in _SCRIPTS),
            apply_default_css=False,
            elem_id="inkgate",
            words=WORDS,
            languages=LANGUAGES,
            server_functions=_functions(desk),
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


def _functions(desk: Desk) -> list[Callable[..., Any]]:
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

    def ink_greet(asked: Json, request: gr.Request) -> Json:  # noqa: ARG001 - server functions have a parameter
        return {"language": language_of(request.headers.get("accept-language", ""))}

    return [ink_page, ink_download, ink_about, ink_live, ink_greet]


def _visitor(asked: Mapping[str, Any], request: gr.Request) -> Visitor:
    client = request.client
    language = str(asked.get("language", "en"))
    return Visitor(str(asked.get("key") or "")[:200], client.host if client else "", language)


def _asset(name: str) -> str:
    return files("inkgate.ui").joinpath("assets", name).read_text(encoding="utf-8")
