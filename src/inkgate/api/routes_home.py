"""`GET /`: what this is, for whoever opens the address in a browser."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

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
<pre>curl -F file=@page.png http://HOST/ocr
curl -F file=@scan.pdf -H 'Accept: text/markdown' http://HOST/ocr</pre>
<p>All requests and answers: <a href="/docs">/docs</a>, or
<a href="/openapi.json">/openapi.json</a>. State: <a href="/readyz">/readyz</a>.</p>
</html>
"""


@router.get("/")
async def home(request: Request) -> HTMLResponse:
    return HTMLResponse(_PAGE.replace("HOST", escape(request.url.netloc)))
