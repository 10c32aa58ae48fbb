"""Request bodies: streamed in under their limits, then understood as JSON or as a form."""

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
"""Bodies up to this many bytes are parsed where they arrive: a thread would cost more than it saves."""
_MAX_FIELDS = 100
_SPACES = bytes.maketrans(b"+", b" ")
_LENGTH_DIGITS = 18
"""Digits of a Content-Length that are looked at: more than any limit has, and few enough for int()."""


@dataclass(frozen=True, slots=True)
class UploadedBody:
    """A body that has arrived: `fields` are a JSON object's values or a form's texts, `files` a form's files."""

    fields: Mapping[str, Any]
    files: Mapping[str, FormPart] = field(default_factory=dict)
    is_form: bool = False


async def receive(request: Request, limits: LimitSettings, threads: BodyThreads) -> UploadedBody:
    """The whole body of `request`, in memory.

    Raises:
        InputRejected: it is too large (by Content-Length before anything is read), stalls, is of no type
            that is accepted, or is not what its type says.
        CallerLeft: the client went away before the end.
    """
    content_type = request.headers.get("content-type", "")
    kind = _kind(request, limits)
    if kind == "multipart/form-data":
        reader = MultipartReader(content_type)
        await _take(request, limits, reader.feed)
        return _form(reader.finish())
    if kind == "application/x-www-form-urlencoded":
        raw = await _gather(request, limits)
        # What curl -d calls a body unless told otherwise.
        looks_like_json = raw.lstrip()[:1] == b"{"
        return await _json(raw, threads) if looks_like_json else await _urlencoded(raw, threads)
    if _is_json(kind):
        return await _json(await _gather(request, limits), threads)
    raise _unsupported(kind, "JSON or a form")


async def receive_json(request: Request, limits: LimitSettings) -> bytes:
    """The whole body of `request`, whose type says that it is JSON, as it came. Raises as `receive`."""
    kind = _kind(request, limits)
    if not _is_json(kind):
        raise _unsupported(kind, "JSON")
    return await _gather(request, limits)


def _kind(request: Request, limits: LimitSettings) -> str:
    """The media type of a body that may be read."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise InputRejected("media_type_unsupported", "Compressed bodies (Content-Encoding) are not accepted.")
    _refuse_by_length(request, limits)
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    return kind == "application/json" or re.fullmatch(r"application/[\w.-]+\+json", kind) is not None


def _unsupported(kind: str, needed: str) -> InputRejected:
    shown = kind[:100] or "missing"
    return InputRejected("media_type_unsupported", f"The Content-Type is {shown}; {needed} is needed.")


async def _take(request: Request, limits: LimitSettings, take: Callable[[bytes], object]) -> None:
    """Hands the body to `take` as it arrives, counted: it ends in an error when it grows too large, stalls, or trickles
    in for longer than a whole document may take (it holds a place in the service all that time).
    """
    most = int(limits.max_body_mb * 1_000_000)
    last_moment = anyio.current_time() + limits.time_s
    size = 0
    more = True
    # One scope whose deadline moves: a megabyte comes in a dozen pieces, and a scope costs more than such a piece.
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
        raise InputRejected("body_timeout", f"The body paused for {limits.body_timeout_s:g} seconds, or never ended.")


def _refuse_by_length(request: Request, limits: LimitSettings) -> None:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:_LENGTH_DIGITS]) > limits.max_body_mb * 1_000_000:
        raise _too_large(limits)


def _too_large(limits: LimitSettings) -> InputRejected:
    return InputRejected("body_too_large", f"A body may have {limits.max_body_mb:g} MB.")


async def _gather(request: Request, limits: LimitSettings) -> bytes:
    whole = bytearray()  # of a body in small chunks, a list of them would be many times as large
    await _take(request, limits, whole.extend)
    return bytes(whole)


async def _json(raw: bytes, threads: BodyThreads) -> UploadedBody:
    value = parse_json(raw) if len(raw) <= _SMALL else await threads.run(len(raw), _value, raw)
    if not isinstance(value, dict):
        raise InputRejected("request_malformed", "The body is JSON, but not an object.")
    return UploadedBody(value)


def _value(raw: bytes) -> object:
    """The value of JSON, which takes no more memory than `raw` but for its values' heads. Blocking."""
    value = parse_json(raw)
    if len(raw) > LARGE:
        check_texts(value)
    return value


async def _urlencoded(raw: bytes, threads: BodyThreads) -> UploadedBody:
    if raw.count(b"&") >= _MAX_FIELDS:
        raise InputRejected("request_malformed", f"A form may have {_MAX_FIELDS} fields.")
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
        encoded.decode()  # in a form, only what is percent-encoded may be something else than UTF-8
    text = decode_percent(encoded.translate(_SPACES))
    check_text(text)
    return text.decode(errors="replace")


def _form(parts: list[FormPart]) -> UploadedBody:
    fields: dict[str, str] = {}
    files: dict[str, FormPart] = {}
    for part in parts:
        if part.name in files:
            raise InputRejected("request_malformed", f"The part `{part.name}` was sent twice; send one file a request.")
        text = part.text
        if text is None:
            files[part.name] = part
        else:
            fields[part.name] = text
    return UploadedBody(fields, files, is_form=True)
