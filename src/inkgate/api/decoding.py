"""What a body becomes: JSON, base64 and percent-encoding, decoded in memory that grows with the body alone.

Decoders see what anybody may send. A body can become many times its size: a JSON object of two bytes takes 64, an
escape of three bytes takes a Python object. So values are counted before they are made, and escapes are decoded a
piece at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes

import orjson
import pybase64

from inkgate.concurrency import Threads
from inkgate.errors import InputRejected

P = ParamSpec("P")
T = TypeVar("T")

MAX_JSON_VALUES = 100_000
"""Values of one JSON text, counted by the marks between them: commas and opening brackets. Those within strings count
too; base64 has none, and no prompt that fits into a model has as many."""
_MARKS = (b",", b"[", b"{")
_PIECE = 64 * 1024
LARGE = 1_000_000
"""In bytes, or characters."""
_WHITESPACE = b" \t\r\n\f\v"
_END = b"=" + _WHITESPACE
_URLSAFE = bytes.maketrans(b"-_", b"+/")


class BodyThreads:
    """Where bodies are decoded: small ones a few at a time, large ones one after another, so that the memory that one
    needs while it is decoded is needed once.
    """

    def __init__(self, small: Threads, large: Threads) -> None:
        self._small = small
        self._large = large

    async def run(self, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function(*args, **kwargs)`, run in a thread; `size` is that of what it decodes, in bytes."""
        threads = self._large if size > LARGE else self._small
        return await threads.run(function, *args, **kwargs)


def parse_json(raw: bytes) -> object:
    """The value, whether or not a byte order mark stands before it. Blocking.

    Raises:
        InputRejected: "json_invalid": it is not JSON; "body_too_complex": it has too many values.
    """
    check_json_values(raw)
    try:
        return orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputRejected("json_invalid", f"This is not JSON: {error.msg} at {error.pos}.") from error


def check_json_values(raw: bytes) -> None:
    """Refuses JSON of too many values before any of them is made. Stops counting once there are too many.

    Raises:
        InputRejected: "body_too_complex".
    """
    marks = 0
    for start in range(0, len(raw), _PIECE):
        marks += sum(raw.count(mark, start, start + _PIECE) for mark in _MARKS)
        if marks > MAX_JSON_VALUES:
            raise InputRejected("body_too_complex", f"JSON may have {MAX_JSON_VALUES} values (commas and brackets).")


def check_texts(value: object) -> None:
    """As `check_text`, of all texts in `value`. Blocking."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.keys()
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, str):
            check_text(node)


def check_text(text: str | bytes) -> None:
    """Refuses a long text that is not ASCII: for one emoji, Python keeps each of its characters in four bytes. Neither
    base64 nor a URL has any.

    Raises:
        InputRejected: "base64_invalid".
    """
    if len(text) > LARGE and not text.isascii():
        raise InputRejected("base64_invalid", "A text of a megabyte or more is no file: it is not ASCII.")


def decode_percent(data: bytes) -> bytes:
    """`data` with its percent-encoding undone (RFC 3986, 2.1); what is no escape stays. Blocking."""
    decoded = bytearray()
    start = 0
    while start < len(data):
        end = start + _PIECE
        # An escape that the end would cut begins the next piece.
        if end < len(data) and (cut := data.rfind(b"%", end - 2, end)) >= 0:
            end = cut
        decoded += unquote_to_bytes(data[start:end])
        start = end
    return bytes(decoded)


def decode_base64(text: str) -> bytes:
    """The bytes of standard or URL-safe base64; line breaks, spaces and missing padding do no harm. Blocking.

    Raises:
        InputRejected: "base64_invalid".
    """
    try:
        return pybase64.b64decode(text, validate=True)  # of standard base64 in one piece, nothing is copied
    except ValueError:
        return _decode_any_base64(text)


def _decode_any_base64(text: str) -> bytes:
    try:
        standard = text.encode("ascii").translate(_URLSAFE).rstrip(_END)
        return pybase64.b64decode(standard, validate=True, padded=False, ignorechars=_WHITESPACE)
    except ValueError as error:
        raise InputRejected("base64_invalid", "The text can't be decoded as base64.") from error


def decode_data_url(url: str) -> bytes:
    """The bytes that a data: URL carries (RFC 2397). Blocking.

    Raises:
        InputRejected: "base64_invalid": it is not one, or its base64 is wrong.
    """
    head, comma, payload = url.partition(",")
    if not comma:
        raise InputRejected("base64_invalid", "The data: URL has no comma, so nothing follows its type.")
    if head.lower().endswith(";base64"):
        return decode_base64(payload)
    return decode_percent(payload.encode("utf-8", "surrogatepass"))
