"""Decodes JSON, base64 and percent-encoding in memory proportional to the body.

Bodies are untrusted, and decoding can multiply their size: a JSON object of two bytes takes 64, an escape of three
bytes takes a Python object. So values are counted before they are created, and escapes are decoded piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes

import orjson
import pybase64

from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.serving.threads import FairThreads

P = ParamSpec("P")
T = TypeVar("T")

MAX_JSON_VALUES = 100_000
"""Values of one JSON text, counted by commas and opening brackets. Those within strings count too; base64 has none, and
no prompt that fits into a model has as many."""
_MARKS = (b",", b"[", b"{")
_PIECE = 64 * 1024
_BYTES_PER_MS = 100_000
"""Estimate of what a thread decodes, until its time is known."""
LARGE = 1_000_000
"""A body with more bytes than this, or a text with more characters, is large."""
_WHITESPACE = b" \t\r\n\f\v"
_END = b"=" + _WHITESPACE
_FILE_NAME = re.compile(r".{1,250}\.[A-Za-z]{3,4}")
_WITHIN_LINE = re.compile(r"(?<=\S) +(?=\S)")
_FEWEST_SPACES = 4
"""Spaces of which one at least would be within a line if each stood for a `+`."""
_URLSAFE = bytes.maketrans(b"-_", b"+/")


class BodyThreads:
    """Threads that decode bodies: a few small bodies at a time, but one large body at a time, so that only one needs
    memory for decoding.
    """

    def __init__(self, small: FairThreads, large: FairThreads) -> None:
        self._small = small
        self._large = large

    async def run(self, caller: Caller, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function(*args, **kwargs)`, run in a thread on behalf of `caller`. `size`: of the input, in bytes.

        Raises:
            InputRejected, EngineFailed: the deadline passed before it ended; see Caller.timeout_error.
        """
        threads = self._large if size > LARGE else self._small
        with caller.in_time("The time limit passed before the body was decoded."):
            return await threads.run(caller, 1 + size // _BYTES_PER_MS, function, *args, **kwargs)


def parse_json(raw: bytes) -> object:
    """Parses JSON, with or without a byte order mark. Blocking.

    Raises:
        InputRejected: "json_invalid": it is not JSON; "body_too_complex": it has too many values.
    """
    check_json_values(raw)
    try:
        return orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputRejected("json_invalid", f"Error at position {error.pos}: {error.msg}.") from error


def check_json_values(raw: bytes) -> None:
    """Refuses JSON with too many values before creating any of them. Stops counting at the limit.

    Raises:
        InputRejected: "body_too_complex".
    """
    marks = 0
    for start in range(0, len(raw), _PIECE):
        marks += sum(raw.count(mark, start, start + _PIECE) for mark in _MARKS)
        if marks > MAX_JSON_VALUES:
            raise InputRejected(
                "body_too_complex", f"The JSON has more than {MAX_JSON_VALUES} values (counted by commas and brackets)."
            )


def check_texts(value: object) -> None:
    """Applies `check_text` to all texts in `value`. Blocking."""
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
    """Refuses a long text that is not ASCII: with one emoji in it, Python uses four bytes per character. Base64 and
    URLs are ASCII.

    Raises:
        InputRejected: "base64_invalid".
    """
    if len(text) > LARGE and not text.isascii():
        raise InputRejected("base64_invalid", "A text of a megabyte or more is not ASCII, so it is not base64.")


def decode_percent(data: bytes) -> bytes:
    """Decodes percent-encoding (RFC 3986, 2.1); invalid escapes stay unchanged. Blocking."""
    decoded = bytearray()
    start = 0
    while start < len(data):
        end = start + _PIECE
        # If the end would cut an escape, the escape begins the next piece.
        if end < len(data) and (cut := data.rfind(b"%", end - 2, end)) >= 0:
            end = cut
        decoded += unquote_to_bytes(data[start:end])
        start = end
    return bytes(decoded)


def decode_base64(text: str) -> bytes:
    """Decodes standard or URL-safe base64. Line breaks, spaces and missing padding are accepted, also spaces that a
    form's decoding made of each `+`. Blocking.

    Raises:
        InputRejected: "base64_invalid": it is not base64, or its spaces may stand for `+` or for nothing.
    """
    try:
        return pybase64.b64decode(text, validate=True)  # standard base64 in one piece is not copied
    except ValueError:
        return _decode_any_base64(text)


def _decode_any_base64(text: str) -> bytes:
    if _has_lost_pluses(text.lstrip()):
        text = text.lstrip().rstrip("\r\n").replace(" ", "+")
    try:
        standard = text.encode("ascii").translate(_URLSAFE).rstrip(_END)
        return pybase64.b64decode(standard, validate=True, padded=False, ignorechars=_WHITESPACE)
    except ValueError as error:
        hint = " A file is sent with `curl -F file=@page.png`." if _FILE_NAME.fullmatch(text) else ""
        raise InputRejected("base64_invalid", f"The text can't be decoded as base64.{hint}") from error


def _has_lost_pluses(text: str) -> bool:
    """Whether the spaces of base64 stand for `+`, which forms decode to a space. If so, it has whole groups of four
    with them, as padded base64 has. If it can be decoded without as well, spaces only at the ends of lines, or that cut
    the text into lines of one length, stand for nothing.

    Raises:
        InputRejected: "base64_invalid": spaces so few may be where they are by chance.
    """
    first = text.find(" ")
    if first < 0 or any(sign in text for sign in "+-_"):
        return False
    with_spaces, spaces = len(text) - sum(map(text.count, "\r\n\t\f\v")), text.count(" ")
    without, is_padded = with_spaces - spaces, "=" in text
    if with_spaces % 4 or (is_padded and " " in text[text.find("=") :]):
        return False
    if without % 4 == 1 or (is_padded and without % 4):
        return True
    ends = text.rstrip()[first :: first + 1]
    in_lines = ends.count(" ") == len(ends) == text.rstrip().count(" ")
    if not in_lines and _WITHIN_LINE.search(text):
        return True
    if spaces < _FEWEST_SPACES:
        detail = "Its spaces can stand for `+` or for nothing. Send it without spaces, or each `+` in a form as `%2B`."
        raise InputRejected("base64_invalid", detail)
    return False


def decode_data_url(url: str) -> bytes:
    """Decodes a data: URL (RFC 2397). Blocking.

    Raises:
        InputRejected: "base64_invalid": it is not a data: URL, or its base64 is invalid.
    """
    head, comma, payload = url.partition(",")
    if not comma:
        raise InputRejected("base64_invalid", "The data: URL has no comma between its type and its data.")
    if head.lower().endswith(";base64"):
        return decode_base64(payload)
    return decode_percent(payload.encode("utf-8", "surrogatepass"))
