"""Formats of results that are rendered page by page, as the whole document would be. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from inkgate.api.http.options import Native, Shape
from inkgate.api.jobs.streams import job_summary
from inkgate.api.jobs.views import status_of
from inkgate.jobs.job import Job, JobDocument
from inkgate_client.block_image import BlockImage
from inkgate_client.codec import Json, document_to_dict, page_to_dict
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format
from inkgate_client.formats.chunks import ChunkOptions
from inkgate_client.formats.chunks.lines import ChunkLines
from inkgate_client.formats.markdown import page_mark, page_markdown
from inkgate_client.formats.marks import marked
from inkgate_client.formats.text import PAGE_SEPARATOR, page_text
from inkgate_client.image_links import images_on, with_embedded_images
from inkgate_client.types import DocumentResult, PageResult

_UNKNOWN = JobDocument("application/octet-stream", 0, 0, "")


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
    """The document as JSON: the same bytes as formats/json.py makes."""

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
    """Plain text, as formats/text.py makes it: no step for whole documents changes it."""

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
    """Markdown, as formats/markdown.py makes it, with figures inside as `data:` URLs.

    Attributes:
        images: of the pages until now; empty if they are inside.
    """

    is_document = True

    def __init__(self, *, marked: bool = False, embedded: bool = True, page_break: str = "") -> None:
        """`marked`: a comment begins each page. `embedded`: False: links to files, which `images` has. `page_break`:
        stands between pages. A blank page has its break, too, so that clients can count pages.
        """
        self.images: list[BlockImage] = []
        self._embedded = embedded
        self._marked = marked
        self._page_break = page_break
        self._begun = False

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        shown = with_embedded_images(page) if self._embedded else page
        self.images += [] if self._embedded else images_on(page)
        parts = [part for part in (page_mark(page) if self._marked else "", page_markdown(shown)) if part]
        between = f"\n\n{self._page_break}\n\n" if self._page_break else "\n\n"
        if not (parts or self._page_break):
            return b""
        lead = between if self._begun else ""
        self._begun = True
        return (lead + "\n\n".join(parts)).encode()

    def end(self) -> bytes:
        return b"\n" if self._begun and not self._page_break else b""


class PagewiseChunks:
    """Chunks, as formats/chunks makes them: of the document, only the chunk that is being made is kept."""

    is_document = True

    def __init__(self, name: str, options: ChunkOptions | None, coordinates: Coordinates | None) -> None:
        self._lines = ChunkLines(name, options, coordinates)

    def begin(self) -> bytes:
        return b""

    def page(self, page: PageResult) -> bytes:
        return self._lines.page(page)

    def end(self) -> bytes:
        return self._lines.end()


class PagewiseElements:
    """A JSON array, or an object, of what `part` makes of each page."""

    is_document = True

    def __init__(self, part: Callable[[PageResult], bytes], begin: str = "[", end: str = "]") -> None:
        """`part`: the elements that a page adds, without the comma before them; may be empty."""
        self._part = part
        self._begin, self._end = begin.encode(), end.encode()
        self._lead = b""

    def begin(self) -> bytes:
        return self._begin

    def page(self, page: PageResult) -> bytes:
        shown = self._part(page)
        if not shown:
            return b""
        lead, self._lead = self._lead, b","
        return lead + shown

    def end(self) -> bytes:
        return self._end


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


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What a result is shown as. `coordinates`: None for the format's default. `marks`: of what is doubtful."""

    shape: Shape
    coordinates: Coordinates | None = None
    marks: bool = False
    chunks: ChunkOptions | None = None


def pagewise(job: Job, form: ResultForm, request_id: str, fields: Json | None = None) -> PagewiseFormat | None:
    """The page by page renderer of the form; None if it has none. `fields`: for JSON."""
    shape, coordinates = form.shape, form.coordinates
    if shape is Native.NDJSON:
        return PagewiseNdjson(job, coordinates, request_id)
    if shape is Native.FORM or shape is Format.JSON:
        return PagewiseJson(job, coordinates, fields)
    if shape is Format.CHUNKS:
        return PagewiseChunks(job.name, form.chunks, coordinates)
    if shape is Format.TEXT:
        return PagewiseText()
    return PagewiseMarkdown(marked=job.saved > 1) if shape is Format.MARKDOWN else None
