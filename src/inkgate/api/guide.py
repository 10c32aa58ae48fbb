"""The documentation under /docs/guide/: the site that `make site` builds and the wheel contains; links to it."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import inkgate
from inkgate.api.auth import GUIDE
from inkgate.settings import Settings

SITE = Path(inkgate.__file__).parent / "guide"

_MISSING = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>inkgate: documentation</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }
</style>
<h1>The documentation is not built</h1>
<p>In a checkout of inkgate, run <code>make site</code> and restart the service, or install the wheel that
<code>make wheel</code> builds. The same pages are in the folder <code>docs/</code> of the checkout.</p>
</html>
"""


def add_guide(app: FastAPI) -> None:
    """Serves the site; if it is missing, a page that says how to build it."""
    if (SITE / "index.html").is_file():
        app.mount(GUIDE, StaticFiles(directory=SITE, html=True), name="guide")
        return

    @app.api_route(GUIDE, methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route(f"{GUIDE}/{{page:path}}", methods=["GET", "HEAD"], include_in_schema=False)
    async def missing() -> Response:
        return HTMLResponse(_MISSING, 404)


def guide_url(settings: Settings) -> str:
    """The base of links to the documentation, with a slash at the end: `docs.url`, else this service's own."""
    return f"{(settings.docs.url or settings.server.root_path + GUIDE).rstrip('/')}/"


class LinkHelp:
    """Adds a `Link` with rel="help" to each error response: the error's code in the documentation of errors."""

    def __init__(self, app: ASGIApp, base: str) -> None:
        self._app = app
        self._page = f"{base}reference/errors/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_link(message: Message) -> None:
            code = scope["state"].get("code")
            if message["type"] == "http.response.start" and message["status"] >= 400 and code:
                MutableHeaders(scope=message).append("Link", f'<{self._page}#{code}>; rel="help"')
            await send(message)

        await self._app(scope, receive, send_with_link)
