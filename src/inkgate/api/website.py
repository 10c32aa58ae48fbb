"""What people see in a browser: `/`, the web page at `/ui` with its own `POST /ui/api/...`.

The web page is a separate application that serves files. Requests for it pass only the origin check, not the API's
other middleware (keys, rate limit, drain, log): the page's scripts call the API like any client, with their visitor's
key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONVERSION, STATIC, costs
from inkgate.api.http.errors import Problem
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import CountedContent, cancelled_when_left
from inkgate.api.http.origins import Origins
from inkgate.api.http.uploads import receive_bytes
from inkgate.documents.files import AnyFormat, format_named
from inkgate.errors import InputRejected
from inkgate.service.gateway import Admitted

UI_PATH = "/ui"
API_PATH = "/ui/api"


class ServeWebPage:
    """Routes requests for the page's files to `page`, and all others to the API, with the page's own routes."""

    def __init__(self, app: ASGIApp, page: ASGIApp, origins: Origins, root_path: str) -> None:
        self._app = app
        self._page = page
        self._origins = origins
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not _is_of_page(path):
            await self._app(scope, receive, send)
            return
        try:
            self._origins.check(scope)
        except InputRejected as error:
            await Problem.of(error, "").response()(scope, receive, send)
            return
        root = self._root + UI_PATH
        scope = {**scope, "app_root_path": root, "root_path": root, "path": self._root + path}
        await self._page(scope, receive, send)


def _is_of_page(path: str) -> bool:
    """Whether the path is one of the page's files."""
    return path == UI_PATH or (path.startswith(f"{UI_PATH}/") and not path.startswith(f"{API_PATH}/"))


router = APIRouter(include_in_schema=False)

ICON = files("inkgate.api").joinpath("favicon.ico").read_bytes()

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>inkgate</title>
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


@router.get("/favicon.ico")
@costs(STATIC)
async def favicon() -> Response:
    """The icon that browsers show next to the address."""
    return Response(ICON, media_type="image/x-icon", headers={"Cache-Control": "max-age=86400"})


@router.head("/")
@router.get("/")
@costs(STATIC)
async def home(request: Request) -> Response:
    """Redirects browsers to the web page; other clients get the description."""
    if context_of(request).has_page and "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("ui/", 307)
    shown = '<p>The web page is at <a href="ui/">/ui/</a>.</p>' if context_of(request).has_page else ""
    page = _PAGE.replace("PRESENCE", shown)
    return HTMLResponse(page.replace("HOST", escape(request.url.netloc + request.scope.get("root_path", ""))))


Written = Literal["text", "markdown", "json", "hocr", "alto", "csv", "mermaid", "chunks", "docx", "xlsx"]
"""Formats that are made of the result alone; a searchable PDF needs the file."""


@router.post(f"{API_PATH}/convert", response_class=Response)
@costs(CONVERSION)
async def convert(
    request: Request,
    format: Annotated[Written, Query()],  # noqa: A002 - the option's name
    marks: Annotated[bool, Query()] = False,
) -> Response:
    """A document that the web page has as JSON, in any format, without reading it again. The body is the published JSON
    of a document, of any Content-Type. The page sends it because people correct results in the browser, and because the
    service keeps no results of documents that are not jobs.
    """
    shape = format_named(format)
    return await _written(request, shape, lambda admitted, body: admitted.converted(body, shape, marks=marks))


@router.post(f"{API_PATH}/fields", response_class=Response)
@costs(CONVERSION)
async def write_fields(
    request: Request,
    format: Annotated[Literal["csv", "xlsx"], Query()],  # noqa: A002 - the option's name
) -> Response:
    """Fields of documents, with corrections, as the table that `inkgate extract -f` writes. The body is a JSON array,
    of any Content-Type, with an object a document: see FieldsRow in documents/files/field_tables.py.
    """
    shape = format_named(format)
    return await _written(request, shape, lambda admitted, body: admitted.fields_table(body, shape))


async def _written(
    request: Request, shape: AnyFormat, write: Callable[[Admitted, bytes], Awaitable[bytes]]
) -> Response:
    """The response with the file that `write` makes of the request's body."""
    context = context_of(request)
    head = parse_head(request, context.settings)
    limits = context.settings.limits
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as count_bytes:
            body = await receive_bytes(request, limits, int(limits.max_body_mb * 1_000_000), count_bytes)
        admitted.set_held_bytes(2 * len(body))  # here, and in the memory that a worker reads
        async with cancelled_when_left(request.receive):
            content = await write(admitted, body)
        admitted.set_held_bytes(len(content))
    headers = {"X-Content-Type-Options": "nosniff"}
    return CountedContent(context.room, head.caller.tenant, content, shape.media_type, headers)
