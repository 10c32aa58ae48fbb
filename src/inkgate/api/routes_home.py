"""`GET /`: the web page if installed, else a short description of the service."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from inkgate.api.context import context_of
from inkgate.api.webpage import Presence

router = APIRouter(include_in_schema=False)

ICON = files("inkgate.api").joinpath("favicon.ico").read_bytes()

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
REFRESH<title>inkgate</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }
  pre { background: #8882; padding: 1rem; overflow: auto }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #eee } a { color: #8bf } }
</style>
<h1>inkgate</h1>
<p>An OCR service: send an image or a PDF, get its text, Markdown, boxes and confidence.</p>
PRESENCE
<pre>curl -F file=@page.png http://HOST/ocr
curl -F file=@scan.pdf -H 'Accept: text/markdown' http://HOST/ocr</pre>
<p>Documentation: <a href="docs/guide/">/docs/guide/</a>. All requests and responses: <a href="docs">/docs</a>, or
<a href="openapi.json">/openapi.json</a>. State: <a href="readyz">/readyz</a>.</p>
</html>
"""
_PRESENCE = {
    Presence.ABSENT: """<p>To get a web page for dropping documents on, install an extra:
<code>pip install '.[ui]'</code> in inkgate's checkout, then restart the service.</p>""",
    Presence.COMING: "<p>The web page is loading; this takes a few seconds. The API works already.</p>",
    Presence.THERE: """<p>The web page is at <a href="ui/">/ui/</a>.</p>""",
}
_REFRESH_S = 1


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The icon that browsers show next to the address."""
    return Response(ICON, media_type="image/x-icon", headers={"Cache-Control": "max-age=86400"})


@router.head("/")
@router.get("/")
async def home(request: Request) -> Response:
    """Redirects browsers to the web page; other clients get the description."""
    presence = context_of(request).page.presence
    if presence is Presence.THERE and "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("ui/", 307)
    refresh = f'<meta http-equiv="refresh" content="{_REFRESH_S}">\n' if presence is Presence.COMING else ""
    page = _PAGE.replace("REFRESH", refresh).replace("PRESENCE", _PRESENCE[presence])
    return HTMLResponse(page.replace("HOST", escape(request.url.netloc + request.scope.get("root_path", ""))))
