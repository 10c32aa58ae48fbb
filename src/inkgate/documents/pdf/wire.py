"""What the service and its PDF workers say to each other: frames over a socket pair, file descriptors beside them.

A frame is its length (4 bytes, big endian), then JSON. Not pickle: a worker that a hostile PDF has taken over may
lie about a page, but can't run anything here. One call is answered by one reply before the next is sent; only
`close` has no reply.
"""

from __future__ import annotations

import array
import socket
import struct
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

MAX_FRAME = 64 * 2**20
"""Bytes of a frame; a page of 100,000 characters needs about 20 MB."""
_LENGTH = struct.Struct("!I")
_MAX_FDS = 2


class Op(StrEnum):
    """What a worker is asked to do."""

    OPEN = "open"
    PAGE = "page"
    RENDER = "render"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Call:
    """One thing asked of a worker.

    Attributes:
        document: the number the service gave the document.
        document_bytes: its length when its descriptor comes with this call, else 0.
        password: of the document, with its descriptor; empty for none.
        index: of the page, from 0.
        dpi, max_side, text: for `page`: resolution wanted, longest side in pixels, a value of `PdfText`.
        width, height: for `render`: pixels of the shared bitmap whose descriptor comes last with this call.
    """

    op: Op
    document: int
    document_bytes: int = 0
    password: str = field(default="", repr=False)
    index: int = 0
    dpi: float = 72.0
    max_side: int = 0
    text: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answer: `value`, or `error` (a code of errors.py) with `detail`.

    `private_mb` is the memory that it holds now, what is shared left out.
    """

    value: dict[str, Any]
    error: str = ""
    detail: str = ""
    private_mb: float = 0.0


def encode(message: Call | Reply) -> bytes:
    """The whole frame."""
    body = orjson.dumps(message)
    return _LENGTH.pack(len(body)) + body


def frame_length(head: bytes) -> int:
    """How many bytes of JSON follow `head`, the first `HEAD_BYTES` of a frame. Raises ValueError when too many."""
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes")
    return int(length)


HEAD_BYTES = _LENGTH.size


def decode_reply(body: bytes) -> Reply:
    """Raises ValueError or TypeError when `body` is no reply."""
    fields = orjson.loads(body)
    if not isinstance(fields, dict):
        raise TypeError("not a reply")
    kinds = {"value": dict, "error": str, "detail": str, "private_mb": float}
    if fields.keys() != kinds.keys() or not all(isinstance(fields[name], kind) for name, kind in kinds.items()):
        raise TypeError("not a reply")
    return Reply(**fields)


def receive_call(channel: socket.socket) -> tuple[Call, list[int]] | None:
    """The next call and its descriptors, or None when the service has gone. Blocking; used by workers."""
    fds = array.array("i")
    head = b""
    while len(head) < HEAD_BYTES:
        # Descriptors ride on the first byte of the frame they were sent with.
        data, ancillary, _, _ = channel.recvmsg(HEAD_BYTES - len(head), socket.CMSG_SPACE(_MAX_FDS * fds.itemsize))
        if not data:
            return None
        head += data
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    body = bytearray()
    length = frame_length(head)
    while len(body) < length:
        chunk = channel.recv(length - len(body))
        if not chunk:
            return None
        body += chunk
    fields = orjson.loads(body)
    return Call(**{**fields, "op": Op(fields["op"])}), list(fds)
