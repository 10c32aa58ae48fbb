"""Serves the web page's files: held in memory, with a policy that keeps the browser from contacting other hosts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable

import orjson
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http.leaving import InPieces
from inkgate.errors import CODES, Code

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".pdf": "application/pdf",
}
_COMPRESSED = frozenset({".html", ".css", ".js", ".json"})
_ZIPPED = ".js.gz"
"""Scripts that are kept compressed: Mermaid has 2.6 MB."""

# Scripts and styles come from files only. `trusted-types 'none'` makes the browser refuse `innerHTML` and the like, so
# that no text of a document can become HTML, whatever a script does.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# Mermaid makes styles and HTML out of a document's text, so it gets a frame of an origin of its own. That loads nothing
# and runs only its own script, by its hash, and Mermaid, which the page hands it. What it draws is shown as an image.
FRAME = "diagram/frame.html"
FRAME_POLICY = (
    "default-src 'none'; script-src 'sha256-{}' blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # the browser asks whether its copy is current, so that an update shows at once
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file. `zipped`: compressed by gzip; None for files that gain nothing. `content`: None for files that are kept
    compressed.
    """

    content: bytes | None
    zipped: bytes | None
    media_type: str
    tag: str


def load_files() -> dict[str, PageFile]:
    """All files of the page by their path below it; the page itself is the empty path. Blocking; some milliseconds."""
    found: dict[str, PageFile] = {}
    _load(files("inkgate.ui").joinpath("assets"), "", found)
    found[""] = found.pop("index.html")
    codes = {code: (meaning.title, _may_pass(meaning)) for code, meaning in CODES.items()}
    found["codes.en.json"] = _file("codes.en.json", orjson.dumps(codes, option=orjson.OPT_SORT_KEYS))
    return found


def _may_pass(meaning: Code) -> bool:
    """Whether the same request may succeed later: the service may be repaired, and a visitor may have a key by then."""
    return (
        meaning.transient
        or meaning.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or meaning.status == HTTPStatus.UNAUTHORIZED
    )


def _load(folder: Traversable, prefix: str, found: dict[str, PageFile]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _load(entry, f"{prefix}{entry.name}/", found)
            continue
        if entry.name.endswith(_ZIPPED):
            found[prefix + entry.name.removesuffix(".gz")] = _zipped_file(entry.read_bytes())
        elif _suffix(entry.name) in _TYPES:
            found[prefix + entry.name] = _file(entry.name, entry.read_bytes())


def _suffix(name: str) -> str:
    return f".{name.rpartition('.')[2]}"


def _file(name: str, content: bytes) -> PageFile:
    zipped = gzip.compress(content, mtime=0) if _suffix(name) in _COMPRESSED else None
    return PageFile(content, zipped, _TYPES[_suffix(name)], _tag(content))


def _zipped_file(zipped: bytes) -> PageFile:
    return PageFile(None, zipped, _TYPES[".js"], _tag(zipped))


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:24]}"'


class PageSite:
    """The page as an ASGI application. `prefix`: the path in front of its files, with the service's root path."""

    def __init__(self, prefix: str, served: Mapping[str, PageFile] | None = None) -> None:
        self._prefix = prefix
        self._files = load_files() if served is None else served
        self._unzipped: dict[str, bytes] = {}
        frame = self._files.get(FRAME)
        script = None if frame is None else _SCRIPT.search(frame.content or b"")
        digest = hashlib.sha256(script[1] if script else b"").digest()
        self._frame_policy = FRAME_POLICY.format(base64.b64encode(digest).decode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._response(scope)(scope, receive, send)

    def _response(self, scope: Scope) -> Response:
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("Only GET is allowed here.", 405, {**_HEADERS, "Allow": "GET, HEAD"})
        path = scope["path"].removeprefix(self._prefix)
        if not path:  # the page's addresses are relative to a folder
            return RedirectResponse(f"{self._prefix}/", 307)
        file = self._files.get(path[1:])
        if file is None:
            return PlainTextResponse("Not found.", 404, _HEADERS)
        request = Headers(scope=scope)
        headers = {**_HEADERS, "ETag": file.tag, "Vary": "Accept-Encoding"}
        if path[1:] == FRAME:
            headers["Content-Security-Policy"] = self._frame_policy
        if file.tag in request.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        content = file.content
        if file.zipped is not None and "gzip" in request.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = file.zipped, "gzip"
        elif content is None and file.zipped is not None:
            content = self._unzipped.get(path) or gzip.decompress(file.zipped)  # no browser asks for this
            self._unzipped[path] = content
        return InPieces(content or b"", file.media_type, headers)
