"""Results of ended jobs in every format. Where the format allows it, a few pages at a time are loaded, rendered and
sent, so that a document of 10,000 pages needs the memory of a few hundred.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import STATUS_HEADER
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import cancelled_when_left, send_freeing_slot
from inkgate.api.http.options import NDJSON_TYPE, Native, Shape
from inkgate.api.jobs.streams import job_summary
from inkgate.api.jobs.submit import JobCall
from inkgate.api.jobs.views import expired_error, status_of
from inkgate.api.jobs.watches import BATCH_PAGES
from inkgate.block_image import BlockImage
from inkgate.caller import Caller
from inkgate.codec import Json, document_to_dict, page_to_dict
from inkgate.coordinates import Coordinates
from inkgate.documents.files import FileFormat
from inkgate.documents.formats import Format, render
from inkgate.documents.formats.markdown import page_mark, page_markdown
from inkgate.documents.formats.marks import marked
from inkgate.documents.formats.text import PAGE_SEPARATOR, page_text
from inkgate.errors import EngineFailed, InputRejected
from inkgate.jobs.files import file_order
from inkgate.jobs.job import Job, JobDocument
from inkgate.jobs.reviewing import JobReviews
from inkgate.jobs.service import JobService
from inkgate.layout.image_links import images_on, with_embedded_images
from inkgate.layout.whole_document import finished_pages
from inkgate.serving.queue import FairThreads
from inkgate.types import DocumentResult, PageResult

_UNKNOWN = JobDocument("application/octet-stream", 0, 0, "")
FINISHED_PAGES = 200
"""Pages that are in memory at once where the steps for whole documents change them: some 50 MB as objects. The steps
see only these, so in longer documents each such part is finished on its own."""


class PagewiseFormat(Protocol):
    """A format that is rendered page by page. Methods block, and are called in order.

    `is_document`: the pages are shown after the steps for whole documents (layout.whole_document), not as read.
    """

    @property
    def is_document(self) -> bool: ...

    def begin(self) -> bytes: ...

    def page(self, page: PageResult) -> bytes: ...

    def end(self) -> bytes: ...


class PagewiseJson:
    """The document as JSON: the same bytes as documents/formats/json.py makes."""

    is_document = True

    def __init__(self, job: Job, coordinates: Coordinates | None, fields: Json | None = None) -> None:
        """`fields`: of the document, as published."""
        self._job = job
        self._coordinates = coordinates or Coordinates.UPRIGHT
        self._fields = fields
        self._begun = False
        self._to_review: list[int] = []

    def begin(self) -> bytes:
        head = document_to_dict(document_of(self._job, ())) | {"status": status_of(self._job).value}
        return orjson.dumps(head).removesuffix(b'],"needs_review":[]}')

    def page(self, page: PageResult) -> bytes:
        comma = b"," if self._begun else b""
        self._begun = True
        self._to_review += [page.index] if page.review else []
        return comma + orjson.dumps(page_to_dict(page, self._coordinates))

    def end(self) -> bytes:
        fields = b"" if self._fields is None else b',"extraction":' + orjson.dumps(self._fields)
        return b'],"needs_review":' + orjson.dumps(self._to_review) + fields + b"}\n"


class PagewiseText:
    """Plain text, as documents/formats/text.py makes it: no step for whole documents changes it."""

    is_document = False

    def __init__(self) -> None:
        self._separator = ""

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        text = self._separator + page_text(page)
        self._separator = PAGE_SEPARATOR
        return text.encode()

    def end(self) -> bytes:
        return b""


class PagewiseMarkdown:
    """Markdown, as documents/formats/markdown.py makes it, with figures inside as `data:` URLs.

    Attributes:
        images: of the pages until now; empty if they are inside.
    """

    is_document = True

    def __init__(self, *, several: bool, embedded: bool = True) -> None:
        """`several`: whether the document has several pages. `embedded`: False: links to files, which `images` has."""
        self.images: list[BlockImage] = []
        self._embedded = embedded
        self._several = several
        self._begun = False

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        shown = with_embedded_images(page) if self._embedded else page
        self.images += [] if self._embedded else images_on(page)
        parts = [part for part in (page_mark(page) if self._several else "", page_markdown(shown)) if part]
        if not parts:
            return b""
        lead = "\n\n" if self._begun else ""
        self._begun = True
        return (lead + "\n\n".join(parts)).encode()

    def end(self) -> bytes:
        return b"\n" if self._begun else b""


class PagewiseNdjson:
    """A line for each page, then the summary."""

    is_document = False

    def __init__(self, job: Job, coordinates: Coordinates | None, request_id: str) -> None:
        self._job = job
        self._coordinates = coordinates or Coordinates.UPRIGHT
        self._request_id = request_id
        self._pages = 0
        self._to_review: list[int] = []

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        self._pages += 1
        self._to_review += [page.index] if page.review else []
        return orjson.dumps(page_to_dict(page, self._coordinates), option=orjson.OPT_APPEND_NEWLINE)

    def end(self) -> bytes:
        summary = job_summary(self._job, self._pages, None, self._request_id)
        return orjson.dumps(summary | {"needs_review": self._to_review}) + b"\n"


@dataclass(frozen=True, slots=True)
class MarkedPages:
    """Another renderer, with what is doubtful marked in the Markdown."""

    inner: PagewiseFormat

    @property
    def is_document(self) -> bool:
        return self.inner.is_document

    def begin(self) -> bytes:
        return self.inner.begin()

    def page(self, page: PageResult) -> bytes:
        return self.inner.page(marked(page))

    def end(self) -> bytes:
        return self.inner.end()


def document_of(job: Job, pages: Sequence[PageResult]) -> DocumentResult:
    """The document of an ended job, with `pages`."""
    found = job.document or _UNKNOWN
    return DocumentResult(
        job.name, found.mime_type, found.byte_count, found.page_count, found.engine, tuple(pages), found.notes
    )


def pagewise(
    job: Job, shape: Shape, coordinates: Coordinates | None, request_id: str, fields: Json | None = None
) -> PagewiseFormat | None:
    """The page by page renderer of `shape`; None if it has none. `fields`: for JSON."""
    if shape is Native.NDJSON:
        return PagewiseNdjson(job, coordinates, request_id)
    if shape is Native.FORM or shape is Format.JSON:
        return PagewiseJson(job, coordinates, fields)
    if shape is Format.TEXT:
        return PagewiseText()
    return PagewiseMarkdown(several=job.saved > 1) if shape is Format.MARKDOWN else None


def media_type_of(shape: Shape) -> str:
    if shape is Native.NDJSON:
        return NDJSON_TYPE
    return "application/json" if isinstance(shape, Native) else shape.media_type


@dataclass(frozen=True, slots=True)
class ResultReader:
    """Reads results out of the store, a few pages at a time."""

    jobs: JobService
    threads: FairThreads
    caller: Caller

    async def rendered(self, job: Job, renderer: PagewiseFormat) -> AsyncGenerator[bytes]:
        """The document as `renderer` makes it, in pieces of a few pages.

        Raises:
            InputRejected: "job_expired", before the first piece.
            EngineFailed: pages were removed meanwhile, by a retry or a removal: what was sent isn't the document.
        """
        max_pages = FINISHED_PAGES if renderer.is_document else BATCH_PAGES
        pages = await self._pages(job, -1, max_pages)
        if job.saved and not pages:
            raise expired_error()
        yield await self.threads.run(self.caller, 1, renderer.begin)
        found = 0
        while pages:
            found += len(pages)
            last = pages[-1].index
            if renderer.is_document:
                pages = await self.threads.run(self.caller, len(pages), finished_pages, pages)
            for i in range(0, len(pages), BATCH_PAGES):
                batch = pages[i : i + BATCH_PAGES]
                yield await self.threads.run(self.caller, len(batch), _joined, renderer.page, batch)
            pages = await self._pages(job, last, max_pages)
        if found != job.saved:
            raise EngineFailed("internal", "The job changed while its result was sent.")
        yield await self.threads.run(self.caller, 1, renderer.end)

    async def _pages(self, job: Job, after: int, max_pages: int) -> Sequence[PageResult]:
        """Up to `most` pages after the one with this index."""
        found: list[PageResult] = []
        while len(found) < max_pages:
            more = await self.jobs.store.pages(job.id, found[-1].index if found else after, BATCH_PAGES)
            found += more
            if not more:
                break
        return found

    async def text(self, job: Job, renderer: PagewiseFormat) -> str:
        """The whole document, for formats that need little memory."""
        return b"".join([piece async for piece in self.rendered(job, renderer)]).decode()


def _joined(render_page: Callable[[PageResult], bytes], pages: Sequence[PageResult]) -> bytes:
    """Renders pages one by one and joins them. Blocking."""
    return b"".join(render_page(page) for page in pages)


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What a result is shown as. `coordinates`: None for the format's default. `marks`: of what is doubtful."""

    shape: Shape
    coordinates: Coordinates | None = None
    marks: bool = False


class JobResult(Response):
    """The result of a job that has one."""

    def __init__(self, call: JobCall, job: Job, form: ResultForm) -> None:
        super().__init__()
        self._call = call
        self._job = job
        self._form = form
        self._context = context_of(call.request)
        self._reader = ResultReader(call.jobs, self._context.threads, call.caller)
        if job.saved > (max_pages := self._context.settings.limits.max_pages) and self._renderer("") is None:
            detail = f"Documents of more than {max_pages} pages are sent as text, markdown, json or ndjson."
            raise InputRejected("not_acceptable", detail)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._call.watches.stream(self._call.tenant):
            async with cancelled_when_left(receive):
                fields = await self._fields()
                renderer = self._renderer(str(scope["state"].get("request_id", "")), fields)
                if renderer is None:
                    await self._send_whole(send)
                else:
                    await self._send_pagewise(renderer, send)

    async def _fields(self) -> Json | None:
        """The fields of the document, where JSON shows them; None if there are none."""
        if self._form.shape not in (Native.FORM, Format.JSON):
            return None
        reviews = JobReviews(self._call.jobs.store, self._context.service.fields.types, self._context.threads)
        return await reviews.published(self._job)

    def _renderer(self, request_id: str, fields: Json | None = None) -> PagewiseFormat | None:
        found = pagewise(self._job, self._form.shape, self._form.coordinates, request_id, fields)
        return MarkedPages(found) if found is not None and self._form.marks else found

    async def _send_pagewise(self, renderer: PagewiseFormat, send: Send) -> None:
        begun = False
        async with aclosing(self._reader.rendered(self._job, renderer)) as pieces:
            async for piece in pieces:
                if not begun:
                    begun = True
                    await self._start(send)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_whole(self, send: Send) -> None:
        """Holds the document in memory, so it is admitted as a document that is read, and made one after another."""
        shape = self._form.shape
        if isinstance(shape, Native):
            raise TypeError(f"{shape} is sent page by page")
        head = parse_head(self._call.request, self._context.settings)
        async with self._context.service.gateway.admit(head.caller) as admitted:
            async with self._call.watches.whole:
                result = await self._call.jobs.document(self._job)
                if isinstance(shape, FileFormat):
                    body = await admitted.file(await file_order(self._call.jobs, self._job, result, shape))
                else:
                    body = await self._context.threads.run(
                        admitted.caller, len(result.pages), render, result, shape, self._form.coordinates
                    )
                del result
            admitted.answered(len(body))
            await self._start(send)
            await send_freeing_slot(admitted, send)({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(self, send: Send) -> None:
        headers = {
            "content-type": media_type_of(self._form.shape),
            "cache-control": "no-store",
            STATUS_HEADER.lower(): status_of(self._job).value,
        }
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
