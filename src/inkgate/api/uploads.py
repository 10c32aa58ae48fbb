"""Receives request bodies under limits, and parses them as JSON or a form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.requests import Request

from inkgate.api.decoding import LARGE, BodyThreads, check_text, check_texts, decode_percent, parse_json
from inkgate.api.multipart import FormPart, MultipartReader
from inkgate.errors import InputRejected
from inkgate.serving.limiter import CallerLeft
from inkgate.settings import LimitSettings

_SMALL = 64 * 1024
"""Bodies up to this many bytes are parsed on the event loop: a thread would cost more than it saves."""
_MAX_FIELDS = 100
_SPACES = bytes.maketrans(b"+", b" ")
_LENGTH_DIGITS = 18
"""Digits of a Content-Length that are parsed: more than any limit has, and few enough for int()."""


@dataclass(frozen=True, slots=True)
class UploadedBody:
    """A parsed body. `fields`: values of a JSON object or texts of a form; `files`: a form's files."""

    fields: Mapping[str, Any]
    files: Mapping[str, FormPart] = field(default_factory=dict)
    is_form: bool = False


async def receive(request: Request, limits: LimitSettings, threads: BodyThreads) -> UploadedBody:
    """Receives and parses the whole body of `request`, in memory.

    Raises:
        InputRejected: it is too large (checked by Content-Length first), stalls, has an unsupported type, or does
            not match its type.
        CallerLeft: the client disconnected before the end.
    """
    content_type = request.headers.get("content-type", "")
    kind = _kind(request, limits)
    if kind == "multipart/form-data":
        reader = MultipartReader(content_type)
        await _take(request, limits, reader.feed)
        return _form(reader.finish())
    if kind == "application/x-www-form-urlencoded":
        raw = await _gather(request, limits)
        # The default type of curl -d.
        looks_like_json = raw.lstrip()[:1] == b"{"
        return await _json(raw, threads) if looks_like_json else await _urlencoded(raw, threads)
    if _is_json(kind):
        return await _json(await _gather(request, limits), threads)
    raise _unsupported(kind, "JSON or a form")


async def receive_json(request: Request, limits: LimitSettings) -> bytes:
    """The whole raw body of `request`, whose type must be JSON. Raises as `receive`."""
    kind = _kind(request, limits)
    if not _is_json(kind):
        raise _unsupported(kind, "JSON")
    return await _gather(request, limits)


def _kind(request: Request, limits: LimitSettings) -> str:
    """The media type of the body."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise InputRejected("media_type_unsupported", "Compressed bodies (Content-Encoding) are not accepted.")
    _refuse_by_length(request, limits)
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    return kind == "application/json" or re.fullmatch(r"application/[\w.-]+\+json", kind) is not None


def _unsupported(kind: str, needed: str) -> InputRejected:
    shown = kind[:100] or "missing"
    return InputRejected("media_type_unsupported", f"The Content-Type is {shown}, not {needed}.")


async def _take(request: Request, limits: LimitSettings, take: Callable[[bytes], object]) -> None:
    """Passes the body to `take` as it arrives. Raises InputRejected if it grows too large, stalls, or takes longer than
    a whole document may take (it holds an admission slot all that time).
    """
    most = int(limits.max_body_mb * 1_000_000)
    last_moment = anyio.current_time() + limits.time_s
    size = 0
    more = True
    # One scope with a moving deadline: a megabyte arrives in a dozen pieces, and a scope costs more than a piece.
    with anyio.CancelScope() as waiting:
        while more:
            waiting.deadline = min(anyio.current_time() + limits.body_timeout_s, last_moment)
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise CallerLeft
            chunk: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(chunk)
            if size > most:
                raise _too_large(limits)
            if chunk:
                take(chunk)
    if waiting.cancelled_caught:
        raise InputRejected(
            "body_timeout", f"The body paused for {limits.body_timeout_s:g} seconds or took too long as a whole."
        )


def _refuse_by_length(request: Request, limits: LimitSettings) -> None:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:_LENGTH_DIGITS]) > limits.max_body_mb * 1_000_000:
        raise _too_large(limits)


def _too_large(limits: LimitSettings) -> InputRejected:
    return InputRejected("body_too_large", f"The body is larger than {limits.max_body_mb:g} MB.")


async def _gather(request: Request, limits: LimitSettings) -> bytes:
    whole = bytearray()  # a list of small chunks would be many times as large
    await _take(request, limits, whole.extend)
    return bytes(whole)


async def _json(raw: bytes, threads: BodyThreads) -> UploadedBody:
    value = parse_json(raw) if len(raw) <= _SMALL else await threads.run(len(raw), _value, raw)
    if not isinstance(value, dict):
        raise InputRejected("request_malformed", "The body is JSON, but not a JSON object.")
    return UploadedBody(value)


def _value(raw: bytes) -> object:
    """Parses JSON, with no more memory than `raw` except for object headers. Blocking."""
    value = parse_json(raw)
    if len(raw) > LARGE:
        check_texts(value)
    return value


async def _urlencoded(raw: bytes, threads: BodyThreads) -> UploadedBody:
    if raw.count(b"&") >= _MAX_FIELDS:
        raise InputRejected("request_malformed", f"The form has more than {_MAX_FIELDS} fields.")
    try:
        return UploadedBody(await threads.run(len(raw), _pairs, raw), is_form=True)
    except UnicodeDecodeError as error:
        raise InputRejected("request_malformed", "The form can't be decoded.") from error


def _pairs(raw: bytes) -> dict[str, str]:
    """The fields of a form in application/x-www-form-urlencoded. Blocking."""
    pairs = (field.partition(b"=") for field in raw.split(b"&") if field)
    return {_form_text(name): _form_text(value) for name, _, value in pairs}


def _form_text(encoded: bytes) -> str:
    if not encoded.isascii():
        encoded.decode()  # in a form, only percent-encoded parts may be something other than UTF-8
    text = decode_percent(encoded.translate(_SPACES))
    check_text(text)
    return text.decode(errors="replace")


def _form(parts: list[FormPart]) -> UploadedBody:
    fields: dict[str, str] = {}
    files: dict[str, FormPart] = {}
    for part in parts:
        if part.name in files:
            raise InputRejected(
                "request_malformed", f"The form has the part `{part.name}` twice. Send one file per request."
            )
        text = part.text
        if text is None:
            files[part.name] = part
        else:
            fields[part.name] = text
    return UploadedBody(fields, files, is_form=True)
