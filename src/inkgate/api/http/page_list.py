"""Documents as JSON with a list of their pages, made page by page: a page takes five times the memory as objects, and
six times as dicts, of what is sent.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Protocol

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.layout.whole_document import finished_pages
from inkgate_client.codec import document_to_dict, estimated_bytes, page_to_dict
from inkgate_client.coordinates import Coordinates
from inkgate_client.types import DocumentResult, PageResult

_PIECE_BYTES = 256 * 1024
"""JSON of pages that is compressed together while it waits; smaller responses are not compressed."""
_FASTEST = 1
OBJECT_SIZE = 5
"""Memory of a page as objects, as a multiple of `estimated_bytes`; measured with CPython 3.11: 4.4."""


class AboutDocument(Protocol):
    """What is known of a document once it is open."""

    @property
    def mime_type(self) -> str: ...

    @property
    def page_count(self) -> int:
        """The number of pages of the whole document."""
        ...


class PageListForm(Protocol):
    """JSON of a document that has a list of its pages."""

    def page(self, page: PageResult, about: AboutDocument) -> Any:  # noqa: ANN401 - what becomes JSON
        """A page in the list."""
        ...

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> Any:  # noqa: ANN401 - what becomes JSON
        """The document with these `pages`. The pages of `result` have their text, size, error and review only."""
        ...


@dataclass(frozen=True, slots=True)
class PublishedForm:
    """The published schema."""

    coordinates: Coordinates = Coordinates.UPRIGHT

    def page(self, page: PageResult, about: AboutDocument) -> Any:  # noqa: ANN401, ARG002 - see PageListForm
        return page_to_dict(page, self.coordinates)

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> Any:  # noqa: ANN401 - see PageListForm
        of_pages = {"status": result.status.value, "pages": pages, "needs_review": list(result.needs_review)}
        return document_to_dict(replace(result, pages=())) | of_pages


@dataclass(frozen=True, slots=True)
class ShowPages:
    """Makes the JSON of a form at once, for documents whose pages are all there."""

    form: PageListForm

    def __call__(self, result: DocumentResult) -> Any:  # noqa: ANN401 - what becomes JSON
        return self.form.document(result, [self.form.page(page, result) for page in result.pages])


@dataclass(frozen=True, slots=True)
class _Piece:
    """JSON of some pages, each after a comma. `size`: before compression."""

    packed: bytes
    size: int


class PageList:
    """The list of pages of a document that is being read. Pages are rendered as they are read, unless the steps for
    whole documents (layout.whole_document) may change them: those with blocks wait until the last page is read.

    Methods block.
    """

    def __init__(self, form: PageListForm, about: AboutDocument, mark: Callable[[PageResult], PageResult]) -> None:
        """`mark`: changes a page before it is shown."""
        self._form = form
        self._about = about
        self._mark = mark
        self._pages: list[PageResult] = []
        self._pieces: list[_Piece | int] = []
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._stored_bytes = 0
        self._waiting_bytes = 0

    @property
    def held_bytes(self) -> int:
        """What it keeps in memory."""
        return self._stored_bytes + self._open_bytes + self._waiting_bytes

    def add(self, page: PageResult) -> None:
        """The next page that was read."""
        self._pages.append(page)
        place = len(self._pages) - 1
        if page.blocks is None:
            self._render(place, page)
            return
        self._waiting_bytes += OBJECT_SIZE * estimated_bytes(page)
        self._close_piece()
        self._pieces.append(place)

    def finish(self) -> tuple[PageResult, ...]:
        """Renders the pages that waited, one by one. Returns all pages, without what only their own JSON shows."""
        waiting = [piece for piece in self._pieces if isinstance(piece, int)]
        if not waiting:
            return tuple(self._pages)
        self._close_piece()
        pieces, self._pieces = self._pieces, []
        finished = deque(finished_pages([self._pages[place] for place in waiting]))
        for piece in pieces:
            if isinstance(piece, int):
                self._render(piece, finished.popleft())
            else:
                self._close_piece()
                self._pieces.append(piece)
        self._waiting_bytes = 0
        return tuple(self._pages)

    def response(self, result: DocumentResult, headers: dict[str, str], end: bytes) -> Response:
        """The response, once `finish` has returned the pages of `result`. `end`: after the JSON."""
        mark = token_hex(16)
        head, _, tail = orjson.dumps(self._form.document(result, [mark])).partition(f'"{mark}"'.encode())
        rest = b"".join(self._open)
        pieces = [piece for piece in self._pieces if isinstance(piece, _Piece)]
        if not pieces:
            return Response(head + rest[1:] + tail + end, headers=headers, media_type="application/json")
        return PiecesResponse(head, pieces, rest + tail + end, headers)

    def _render(self, place: int, page: PageResult) -> None:
        page = self._mark(page)
        self._pages[place] = _summary(page)
        shown = b"," + orjson.dumps(self._form.page(page, self._about))
        self._open.append(shown)
        self._open_bytes += len(shown)
        if self._open_bytes >= _PIECE_BYTES:
            self._close_piece()

    def _close_piece(self) -> None:
        if self._open:
            packed = zlib.compress(b"".join(self._open), _FASTEST)
            self._pieces.append(_Piece(packed, self._open_bytes))
            self._stored_bytes += len(packed)
            self._open, self._open_bytes = [], 0


def _summary(page: PageResult) -> PageResult:
    """The page without what only its own JSON shows. One with an error stays whole: what it has decides the status."""
    if page.error is not None:
        return page
    return PageResult(page.index, page.width, page.height, text=page.text, review=page.review)


class PiecesResponse(Response):
    """A response of which only pieces are decompressed at a time, as the client takes them.

    Attributes:
        held_bytes: what it keeps in memory until then.
    """

    def __init__(self, head: bytes, pieces: list[_Piece], tail: bytes, headers: dict[str, str]) -> None:
        super().__init__(media_type="application/json", headers=headers)
        size = len(head) + sum(piece.size for piece in pieces) - 1 + len(tail)
        self.headers["content-length"] = str(size)
        self.held_bytes = len(head) + sum(len(piece.packed) for piece in pieces) + len(tail) + _PIECE_BYTES
        self._head = head
        self._packed = deque(piece.packed for piece in pieces)
        self._tail = tail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as in ASGI
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        before = self._head
        skipped = 1  # the comma before the first page
        while self._packed:
            piece = before + zlib.decompress(self._packed.popleft())[skipped:]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            before, skipped = b"", 0
        await send({"type": "http.response.body", "body": self._tail, "more_body": False})
