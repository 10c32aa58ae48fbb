"""Protocol between the service and its PDF workers: frames with file descriptors over a socket pair.

A frame is its length (4 bytes, big endian), then JSON. Not pickle: a worker that a hostile PDF has hijacked may lie
about a page, but can't run code in the service. Each call has one reply before the next call; only `close` has none.
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
"""Maximum bytes of a frame; a page of 100,000 characters needs about 20 MB."""
_LENGTH = struct.Struct("!I")
_MAX_FDS = 2


class Op(StrEnum):
    """A worker's operations."""

    OPEN = "open"
    PAGE = "page"
    RENDER = "render"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a worker.

    Attributes:
        document: the document's number in the service.
        document_bytes: its length if this call carries its descriptor, else 0.
        password: of the document, sent with its descriptor; empty for none.
        index: of the page, from 0.
        dpi, max_side, text: for `page`: requested resolution, longest side in pixels, a value of `PdfText`.
        width, height: for `render`: size in pixels of the shared bitmap, whose descriptor comes last.
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
    """A worker's reply: `value`, or `error` (a code of errors.py) with `detail`.

    `private_mb`: the worker's memory without shared memory.
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
    """The bytes of JSON that follow `head`, the first `HEAD_BYTES` of a frame. Raises ValueError if too many."""
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes")
    return int(length)


HEAD_BYTES = _LENGTH.size


def decode_reply(body: bytes) -> Reply:
    """Parses a reply. Raises ValueError or TypeError if `body` is not one."""
    fields = orjson.loads(body)
    if not isinstance(fields, dict):
        raise TypeError("not a reply")
    kinds = {"value": dict, "error": str, "detail": str, "private_mb": float}
    if fields.keys() != kinds.keys() or not all(isinstance(fields[name], kind) for name, kind in kinds.items()):
        raise TypeError("not a reply")
    return Reply(**fields)


def receive_call(channel: socket.socket) -> tuple[Call, list[int]] | None:
    """The next call and its descriptors, or None if the service has closed the socket. Blocking; used by workers."""
    fds = array.array("i")
    head = b""
    while len(head) < HEAD_BYTES:
        # Descriptors arrive with the first byte of their frame.
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
