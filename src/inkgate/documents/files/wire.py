"""What the service and the workers that write files say to each other (workers/wire.py).

A call is small. Its memories are what is written, and the output last. For a PDF these are the document (`add_text`
alone) and the plan: a table in JSON behind its length in four bytes, then the bytes that the table refers to. An office
file is written of a result (`encode_result`); a conversion of a document and a table of fields of what a client sent.
"""

from __future__ import annotations

import io
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson

from inkgate.documents.files.embedded_image import EmbeddedImage
from inkgate.documents.files.text_content import PageContent
from inkgate.errors import InputRejected
from inkgate_client.codec import dump_page, encodable, load_page
from inkgate_client.types import DocumentResult

_LENGTH = struct.Struct("!I")
_MAX_DETAIL = 500
"""Characters of the detail of an error that are taken from a worker."""


class WriteOp(StrEnum):
    """A writer's operations."""

    ADD_TEXT = "add_text"
    NEW_PDF = "new_pdf"
    OFFICE = "office"
    CONVERT = "convert"
    FIELDS = "fields"


@dataclass(frozen=True, slots=True)
class WriteCall:
    """A call to a writer.

    Attributes:
        password: of the document, for `add_text`; empty for none.
        format: name of the format of all but PDFs.
        marks: whether a conversion marks what is doubtful.
    """

    op: WriteOp
    password: str = field(default="", repr=False)
    format: str = ""
    marks: bool = False


class WritePlan:
    """A plan being made. `to_unicode`: the CMap of the texts, which must be complete."""

    def __init__(self, to_unicode: bytes) -> None:
        self._pages: list[dict[str, Any]] = []
        self._blobs: list[bytes] = []
        self._size = 0
        self._cmap = self._added(to_unicode)

    def add(self, content: PageContent | None, image: EmbeddedImage | None = None) -> None:
        """Adds a page: the text of one of the document's, or an image with its text."""
        page: dict[str, Any] = {"text": None, "image": None}
        if content is not None:
            fields = {"index": content.index, "width": content.width, "height": content.height}
            page["text"] = fields | {"content": self._added(content.content)}
        if image is not None:
            data, palette = self._added(image.data), self._added(image.palette)
            page["image"] = asdict(image) | {"data": data, "palette": palette}
        self._pages.append(page)

    @property
    def pages(self) -> int:
        return len(self._pages)

    def encoded(self) -> bytes:
        """The plan for the worker. Frees the blobs: nothing can be added any more."""
        table = orjson.dumps({"to_unicode": self._cmap, "pages": self._pages})
        blobs, self._blobs = self._blobs, []
        return b"".join([_LENGTH.pack(len(table)), table, *blobs])

    def _added(self, blob: bytes) -> tuple[int, int]:
        """Start and end of `blob` behind the table."""
        start = self._size
        self._blobs.append(blob)
        self._size += len(blob)
        return start, self._size


class ReceivedPlan:
    """A plan in a worker. `pages`: dicts as WritePlan.add makes them."""

    def __init__(self, data: mmap.mmap) -> None:
        view = memoryview(data)
        (length,) = _LENGTH.unpack_from(view)
        table = orjson.loads(view[_LENGTH.size : _LENGTH.size + length])
        self.pages: Sequence[Mapping[str, Any]] = table["pages"]
        self._blobs = view[_LENGTH.size + length :]
        self.to_unicode = self.blob(table["to_unicode"])

    def blob(self, place: Sequence[int]) -> bytes:
        start, end = place
        return bytes(self._blobs[start:end])


def encode_result(result: DocumentResult) -> bytes:
    """What office files show of a result, one line of JSON for the document and one for each page. Blocking."""
    facts = (encodable(result.name), result.mime_type, result.byte_count, result.page_count, result.engine)
    pages = (dump_page(replace(page, lines=(), words=())) for page in result.pages)
    return b"\n".join([orjson.dumps(facts), *pages])


def decode_result(data: bytes) -> DocumentResult:
    """The result that `encode_result` wrote, without lines, words and notes."""
    head, *pages = data.split(b"\n")
    name, mime_type, byte_count, page_count, engine = orjson.loads(head)
    return DocumentResult(name, mime_type, byte_count, page_count, engine, tuple(map(load_page, pages)))


@dataclass(frozen=True, slots=True)
class WriteReply:
    """A writer's reply: `length` of the output in bytes, or `error` (a code of errors.py) with `detail`."""

    length: int = 0
    error: str = ""
    detail: str = ""


def encode_reply(reply: WriteReply) -> bytes:
    """The body of a reply."""
    return orjson.dumps(reply)


def decode_reply(body: bytes) -> WriteReply:
    """Parses a reply. Raises ValueError or TypeError if `body` is not one."""
    fields = orjson.loads(body)
    reply = WriteReply(**fields)
    if [type(value) for value in (reply.length, reply.error, reply.detail)] != [int, str, str]:
        raise TypeError("not a reply")
    return replace(reply, detail=reply.detail[:_MAX_DETAIL])


class MemoryFile(io.RawIOBase):
    """A file of fixed size in memory that is not copied. `end`: of what was written."""

    def __init__(self, memory: mmap.mmap, *, writable: bool) -> None:
        super().__init__()
        self._view = memoryview(memory)
        self._writable = writable
        self._at = 0
        self.end = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return self._writable

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._view)}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a buffer, which has no name before Python 3.12
        target = memoryview(buffer).cast("B")
        part = self._view[self._at : self._at + len(target)]
        target[: len(part)] = part
        self._at += len(part)
        return len(part)

    def write(self, data: Any) -> int:  # noqa: ANN401 - as above
        source = memoryview(data).cast("B")
        if self._at + len(source) > len(self._view):
            raise InputRejected("pdf_corrupt", "The PDF grows beyond its limit when it is written again.")
        self._view[self._at : self._at + len(source)] = source
        self._at += len(source)
        self.end = max(self.end, self._at)
        return len(source)
