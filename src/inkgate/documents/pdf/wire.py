"""What the service and its PDF workers say to each other: calls on pages, and replies in JSON (workers/wire.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson


class Op(StrEnum):
    """A worker's operations."""

    OPEN = "open"
    PAGE = "page"
    RENDER = "render"


_USUAL_MS = {Op.OPEN: 5, Op.PAGE: 65, Op.RENDER: 1}
_PIXELS_PER_MS = 25_000
"""Rates measured on 83 pages of test documents on two busy cores: medians, and for rendering the 90th percentile, which
scans take."""


@dataclass(frozen=True, slots=True)
class PdfCall:
    """A call to a worker. Its first shared memory is the document; for `render`, its last one is the bitmap.

    Attributes:
        document: the number of the document's shared memory.
        password: of the document; empty for none.
        index: of the page, from 0.
        dpi, max_side, text: for `page`: requested resolution, longest side in pixels, a value of `PdfText`.
        width, height: for `render`: size of the bitmap in pixels.
    """

    op: Op
    document: int
    password: str = field(default="", repr=False)
    index: int = 0
    dpi: float = 72.0
    max_side: int = 0
    text: str = ""
    width: int = 0
    height: int = 0

    @property
    def usual_ms(self) -> int:
        """What it costs until its worker's time is known."""
        return _USUAL_MS[self.op] + self.width * self.height // _PIXELS_PER_MS

    @property
    def what(self) -> str:
        """What is worked on, for messages."""
        return "The document" if self.op is Op.OPEN else f"Page {self.index + 1}"


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's reply: `value`, or `error` (a code of errors.py) with `detail`."""

    value: dict[str, Any]
    error: str = ""
    detail: str = ""


def encode_reply(reply: Reply) -> bytes:
    """The body of a reply."""
    return orjson.dumps(reply)


def decode_reply(body: bytes) -> Reply:
    """Parses a reply. Raises ValueError or TypeError if `body` is not one."""
    fields = orjson.loads(body)
    if not isinstance(fields, dict):
        raise TypeError("not a reply")
    kinds = {"value": dict, "error": str, "detail": str}
    if fields.keys() != kinds.keys() or not all(isinstance(fields[name], kind) for name, kind in kinds.items()):
        raise TypeError("not a reply")
    return Reply(**fields)
