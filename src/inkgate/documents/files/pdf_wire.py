"""What the service and the worker that writes PDFs say to each other (workers/wire.py).

A call is small; its memories are the document (for `add_text`), the plan, and the output. The plan is a table in JSON
behind its length in four bytes, then the bytes that the table refers to.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from inkgate.documents.files.embedded_image import EmbeddedImage
from inkgate.documents.files.text_content import PageContent

_LENGTH = struct.Struct("!I")


class WriteOp(StrEnum):
    """A writer's operations."""

    ADD_TEXT = "add_text"
    NEW_PDF = "new_pdf"


@dataclass(frozen=True, slots=True)
class WriteCall:
    """A call to a writer. `password`: of the document; empty for none."""

    op: WriteOp
    password: str = field(default="", repr=False)


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
    return reply
