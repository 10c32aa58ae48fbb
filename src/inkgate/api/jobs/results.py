"""Results of ended jobs in every format. Where the format allows it, a few pages at a time are loaded, rendered and
sent, so that a document of 10,000 pages needs the memory of a few hundred while they are rendered, and of some twenty
while they are sent. Images are loaded when they are sent, page by page.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import ParamSpec, TypeVar

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import STATUS_HEADER
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import cancelled_when_left, send_freeing_slot
from inkgate.api.http.options import NDJSON_TYPE, Native, Shape
from inkgate.api.jobs.pagewise import MarkedPages, PagewiseFormat, ResultForm, pagewise
from inkgate.api.jobs.submit import JobCall
from inkgate.api.jobs.views import expired_error, status_of
from inkgate.api.jobs.watches import BATCH_PAGES, batch_pages
from inkgate.documents.files import FileFormat
from inkgate.errors import EngineFailed, InputRejected
from inkgate.jobs.files import file_request
from inkgate.jobs.job import Job
from inkgate.jobs.reviewing import JobReviews
from inkgate.jobs.service import JobService
from inkgate.layout.whole_document import finished_pages
from inkgate.serving.order import Work
from inkgate.serving.permits import Permit
from inkgate_client.codec import Json, estimated_bytes
from inkgate_client.formats import Format, render
from inkgate_client.types import PageResult

P = ParamSpec("P")
T = TypeVar("T")

_FASTEST = 1
FINISHED_PAGES = 200
"""Pages that are in memory at once where the steps for whole documents change them: some 50 MB as objects. The steps
see only these, so in longer documents each such part is finished on its own."""


def media_type_of(shape: Shape) -> str:
    if shape is Native.NDJSON:
        return NDJSON_TYPE
    return "application/json" if isinstance(shape, Native) else shape.media_type


class StoredImages:
    """The images of a job's pages. Until they are sent, results have marks in their places."""

    def __init__(self, jobs: JobService, job: Job) -> None:
        self._jobs = jobs
        self._job = job
        self._mark = token_hex(8)  # no document can have it
        self._marks = re.compile(self._mark.encode() + b"([0-9a-f]{8})([0-9a-f]{8})")
        self._has_marks = False
        self._page = -1
        self._images: tuple[str, ...] = ()

    @property
    def loaded_bytes(self) -> int:
        """Bytes of the page whose images are loaded."""
        return sum(map(len, self._images))

    def marked(self, page: PageResult) -> PageResult:
        """The page with a mark for each image."""
        if all(block.image is None for block in page.blocks or ()):
            return page
        self._has_marks = True
        number, blocks = 0, []
        for block in page.blocks or ():
            if block.image is not None:
                mark = f"{self._mark}{page.index:08x}{number:08x}"
                block = replace(block, image=replace(block.image, base64=mark))  # noqa: PLW2901
                number += 1
            blocks.append(block)
        return replace(page, blocks=tuple(blocks))

    async def filled(self, piece: bytes) -> AsyncGenerator[bytes]:
        """The bytes with the images in base64 instead of the marks, in pieces of one image at most."""
        at = 0
        for found in self._marks.finditer(piece) if self._has_marks else ():
            if found.start() > at:
                yield piece[at : found.start()]
            at = found.end()
            yield await self._image(int(found[1], 16), int(found[2], 16))
        if at < len(piece):
            yield piece[at:]

    async def _image(self, page: int, number: int) -> bytes:
        if page != self._page:
            self._images = ()
            loaded = await self._jobs.store.pages(self._job.id, page - 1, 1, self._job.tenant)
            blocks = loaded[0].blocks if loaded and loaded[0].index == page else None
            self._images = tuple(block.image.base64 for block in blocks or () if block.image is not None)
            self._page = page
        if number >= len(self._images):
            raise _changed_error()
        return self._images[number].encode()


@dataclass(frozen=True, slots=True)
class _Part:
    """Some pages of a result, rendered.

    Attributes:
        count: of its pages.
        last: index of the last.
        pieces: compressed, to be sent one after another.
        byte_count: of `pieces`, and of the largest as it is sent.
    """

    count: int
    last: int
    pieces: tuple[bytes, ...]
    byte_count: int


class ResultReader:
    """Reads the result of a job out of the store, a part at a time, and charges `permit` for what it holds of it."""

    def __init__(self, call: JobCall, job: Job, permit: Permit) -> None:
        self.job = job
        self.images = StoredImages(call.jobs, job)
        self._caller = replace(call.caller, charge=permit)
        self._threads = context_of(call.request).threads
        self._store = call.jobs.store
        self._turns = call.watches.room.parts
        self._permit = permit
        self._begun = False

    async def rendered(self, renderer: PagewiseFormat) -> AsyncGenerator[bytes]:
        """The document as `renderer` makes it, in pieces. May be called for one renderer after another.

        Raises:
            InputRejected: "job_expired", before the first piece.
            Overloaded: there is no room for the result, before the first piece.
            EngineFailed: pages were removed meanwhile, by a retry or a removal: what was sent isn't the document.
        """
        part = await self._part(renderer, -1)
        if self.job.saved and not part.count:
            raise expired_error()
        self._charge(part.byte_count)
        yield renderer.begin()
        found = 0
        while part.count:
            found += part.count
            for packed in part.pieces:
                async with aclosing(self.images.filled(await self.run(len(packed), zlib.decompress, packed))) as pieces:
                    async for piece in pieces:
                        self._permit.set_held_bytes(part.byte_count + self.images.loaded_bytes)
                        yield piece
            part = await self._part(renderer, part.last)
            self._permit.set_held_bytes(part.byte_count)
        if found != self.job.saved:
            raise _changed_error()
        yield renderer.end()

    async def run(self, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `function(*args, **kwargs)`, run in a thread on behalf of the caller if it works on many bytes."""
        return await self._threads.run_large(self._caller, size, function, *args, **kwargs)

    async def json_text(self, renderer: PagewiseFormat) -> AsyncGenerator[bytes]:
        """Yields what `rendered` yields, as a JSON string."""
        lead = b'"'
        async with aclosing(self.rendered(renderer)) as pieces:
            async for piece in pieces:
                yield lead + await self.run(len(piece), _json_escaped, piece)
                lead = b""
        yield b'"'

    def _charge(self, byte_count: int) -> None:
        """Charges the first part, which may be refused. Later ones can't be: the response has begun."""
        charge = self._permit.set_held_bytes if self._begun else self._permit.grow
        charge(byte_count)
        self._begun = True

    async def _part(self, renderer: PagewiseFormat, after: int) -> _Part:
        """The next pages with an index above `after`. Their objects, which take five times the memory, are gone when
        it returns, and few are there at once in all: see SendingRoom.
        """
        async with self._turns.turn(Work.for_caller(self._caller, 1)):
            pages = await self._pages(after, FINISHED_PAGES if renderer.is_document else BATCH_PAGES)
            last = pages[-1].index if pages else after
            if renderer.is_document:
                pages = await self.run(sum(map(estimated_bytes, pages)), finished_pages, pages)
            pieces, largest = [], 0
            for i in range(0, len(pages), BATCH_PAGES):
                batch = pages[i : i + BATCH_PAGES]
                packed, size = await self.run(sum(map(estimated_bytes, batch)), _packed, renderer.page, batch)
                pieces.append(packed)
                largest = max(largest, size)
        return _Part(len(pages), last, tuple(pieces), sum(map(len, pieces)) + largest)

    async def _pages(self, after: int, max_pages: int) -> Sequence[PageResult]:
        """Returns up to `max_pages` pages after the one with this index, with marks instead of images."""
        found: list[PageResult] = []
        while len(found) < max_pages:
            count = min(batch_pages(self.job), max_pages - len(found))
            more = await self._store.pages(self.job.id, found[-1].index if found else after, count, self.job.tenant)
            found += map(self.images.marked, more)
            if not more:
                break
        return found


def _packed(render_page: Callable[[PageResult], bytes], pages: Sequence[PageResult]) -> tuple[bytes, int]:
    """Renders pages one by one, and compresses them together, as they may wait for the client. Returns their size, too.
    Blocking.
    """
    rendered = b"".join(render_page(page) for page in pages)
    return zlib.compress(rendered, _FASTEST), len(rendered)


def _changed_error() -> EngineFailed:
    return EngineFailed("internal", "The job changed while its result was sent.")


async def filled_json(value: object, parts: Mapping[str, AsyncGenerator[bytes]]) -> AsyncGenerator[bytes]:
    """The JSON of `value`, in pieces. Strings in it that are keys of `parts`, in this order, stand for what these
    yield, which is JSON. Nothing is yielded before the first of them yields.
    """
    lead, rest = b"", orjson.dumps(value)
    for name, pieces in parts.items():
        before, _, rest = rest.partition(b'"%b"' % name.encode())
        lead += before
        async with aclosing(pieces):
            async for piece in pieces:
                yield lead + piece
                lead = b""
    yield lead + rest


def _json_escaped(text: bytes) -> bytes:
    """The text as it is inside a JSON string."""
    return orjson.dumps(text.decode())[1:-1]


async def send_pieces(pieces: AsyncGenerator[bytes], headers: Mapping[str, str], send: Send) -> None:
    """Sends a response that begins with the first piece: until then, an error can be the response."""
    begun = False
    async with aclosing(pieces):
        async for piece in pieces:
            if not begun:
                begun = True
                await _start(headers, send)
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    if not begun:
        await _start(headers, send)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _start(headers: Mapping[str, str], send: Send) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})


class PiecewiseResponse(Response):
    """A result that `compose` makes in pieces. It gets the permit to charge for what they keep in memory."""

    def __init__(self, call: JobCall, media_type: str, compose: Callable[[Permit], AsyncGenerator[bytes]]) -> None:
        super().__init__()
        self._call = call
        self._compose = compose
        self._head = {"content-type": media_type, "cache-control": "no-store"}  # a URL may be signed, and need no key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as in ASGI
        with self._call.watches.stream(self._call.tenant) as permit:
            async with cancelled_when_left(receive):
                await send_pieces(self._compose(permit), self._head, send)


class JobResult(Response):
    """The result of a job that has one."""

    def __init__(self, call: JobCall, job: Job, form: ResultForm) -> None:
        super().__init__()
        self._call = call
        self._job = job
        self._form = form
        self._context = context_of(call.request)
        if job.saved > (max_pages := self._context.settings.limits.max_pages) and self._renderer("") is None:
            detail = f"Documents of more than {max_pages} pages are sent as text, markdown, json, chunks or ndjson."
            raise InputRejected("not_acceptable", detail)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._call.watches.stream(self._call.tenant) as permit:
            async with cancelled_when_left(receive):
                fields = await self._fields()
                renderer = self._renderer(str(scope["state"].get("request_id", "")), fields)
                if renderer is None:
                    await self._send_whole(send)
                else:
                    reader = ResultReader(self._call, self._job, permit)
                    await send_pieces(reader.rendered(renderer), self._head, send)

    async def _fields(self) -> Json | None:
        """The fields of the document, where JSON shows them; None if there are none."""
        if self._form.shape not in (Native.FORM, Format.JSON):
            return None
        reviews = JobReviews(self._call.jobs.store, self._context.service.fields.types, self._context.threads)
        return await reviews.published(self._job)

    def _renderer(self, request_id: str, fields: Json | None = None) -> PagewiseFormat | None:
        found = pagewise(self._job, self._form, request_id, fields)
        return MarkedPages(found) if found is not None and self._form.marks else found

    async def _send_whole(self, send: Send) -> None:
        """Holds the document in memory, so it is admitted as a document that is read, and made one after another."""
        shape = self._form.shape
        if isinstance(shape, Native):
            raise TypeError(f"{shape} is sent page by page")
        head = parse_head(self._call.request, self._context.settings)
        async with self._context.service.gateway.admit(head.caller) as admitted:
            async with self._call.watches.room.whole.turn(Work.for_caller(admitted.caller, 1)):
                result = await self._call.jobs.document(self._job)
                admitted.set_held_bytes(sum(map(estimated_bytes, result.pages)))
                if isinstance(shape, FileFormat):
                    body = await admitted.file(await file_request(self._call.jobs, self._job, result, shape))
                else:
                    body = await self._context.threads.run(
                        admitted.caller, len(result.pages), render, result, shape, self._form.coordinates
                    )
                del result
            admitted.answered(len(body))
            await _start(self._head, send)
            await send_freeing_slot(admitted, send)({"type": "http.response.body", "body": body, "more_body": False})

    @property
    def _head(self) -> dict[str, str]:
        return {
            "content-type": media_type_of(self._form.shape),
            "cache-control": "no-store",
            STATUS_HEADER.lower(): status_of(self._job).value,
        }
