"""Receives request bodies under limits, in memory, and parses them as JSON or a form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import anyio
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from inkgate.api.http.decoding import LARGE, BodyThreads, check_text, check_texts, decode_percent, parse_json
from inkgate.caller import Caller
from inkgate.documents.sniff import sniff
from inkgate.errors import InputRejected
from inkgate.serving.outcomes import CallerLeft
from inkgate.settings import LimitSettings
from inkgate_client.concurrency import INLINE_BYTES

_DIGITS = 15
"""Digits of an announced length that are parsed: no body is longer, and Python parses at most 4,300."""


def announced_bytes(text: str) -> int | None:
    """Parses a Content-Length, in bytes; None if it is missing or impossible."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


MAX_PARTS = 100
MAX_NAME_LENGTH = 200
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")
_ENCODED_NAME = re.compile(r";\s*filename\*\s*=\s*\"?(utf-8|iso-8859-1)'[\w-]*'([^;\s\"]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part of a form. `filename` is None for plain fields."""

    name: str
    filename: str | None
    content_type: str
    data: bytes

    @property
    def text(self) -> str | None:
        """The value of a plain field; None if filename, type or bytes show that the part is a file."""
        if self.filename is not None or self.content_type.startswith(("image/", "application/")):
            return None
        if len(self.data) > LARGE and not self.data.isascii():
            return None
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            return None


class MultipartReader:
    """Parses a body from chunks."""

    def __init__(self, content_type: str) -> None:
        """`content_type`: the request's header.

        Raises:
            InputRejected: it has no usable boundary.
        """
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
        if not boundary:
            detail = "The Content-Type names no multipart boundary. Leave this header to your client."
            raise InputRejected("request_malformed", detail)
        self._parts: list[FormPart] = []
        self._headers: dict[str, str] = {}
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._data = BytesIO()
        self._ended = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_part_begin,
                    "on_part_data": self._on_part_data,
                    "on_part_end": self._on_part_end,
                    "on_header_field": self._on_header_field,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._on_header_end,
                    "on_end": self._on_end,
                },
            )
        except FormParserError as error:
            raise InputRejected("request_malformed", "The multipart boundary is too long.") from error

    def feed(self, chunk: bytes) -> None:
        """Takes the next chunk.

        Raises:
            InputRejected: it is not multipart/form-data, or has too many parts.
        """
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise InputRejected("request_malformed", "The body is not valid multipart/form-data.") from error

    def finish(self) -> list[FormPart]:
        """All parts, in the order sent.

        Raises:
            InputRejected: the body ended before its last boundary.
        """
        if not self._ended:
            raise InputRejected("request_malformed", "The multipart body ended before its closing boundary.")
        return self._parts

    def _on_part_begin(self) -> None:
        if len(self._parts) >= MAX_PARTS:
            raise InputRejected("request_malformed", f"The form has more than {MAX_PARTS} parts.")
        self._headers = {}
        self._data = BytesIO()

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        name = self._header_name.decode("latin-1").lower()
        self._headers[name] = self._header_value.decode("utf-8", "replace")
        self._header_name.clear()
        self._header_value.clear()

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._data.write(memoryview(data)[start:end])

    def _on_part_end(self) -> None:
        disposition = _disposition(self._headers.get("content-disposition", ""))
        name = disposition.get("name")
        if name is None:
            raise InputRejected("request_malformed", "A part of the form has no name.")
        content_type = self._headers.get("content-type", "").partition(";")[0].strip().lower()
        filename = disposition.get("filename")
        self._parts.append(
            FormPart(
                _UNSAFE.sub("", name)[:MAX_NAME_LENGTH],
                None if filename is None else clean_name(filename),
                content_type,
                self._data.getvalue(),
            )
        )
        self._data = BytesIO()

    def _on_end(self) -> None:
        self._ended = True


def _disposition(header: str) -> dict[str, str]:
    """The parameters of a Content-Disposition header, which browsers send in UTF-8. `filename*` (RFC 5987) wins over
    `filename`.
    """
    # The parser expects latin-1, which maps every byte; afterwards the bytes are decoded as UTF-8.
    options = parse_options_header(header.encode().decode("latin-1"))[1]
    found = {key.decode("latin-1"): value.decode("utf-8", "replace") for key, value in options.items()}
    if encoded := _ENCODED_NAME.search(header):  # the parser leaves it out, as RFC 7578 does; .NET and urllib3 send it
        found["filename"] = unquote(encoded[2], encoded[1], errors="replace")
    return found


def _name_in(header: str) -> str | None:
    """The file name in the Content-Disposition header of a request, which Starlette decodes as latin-1."""
    name = _disposition(header.encode("latin-1").decode("utf-8", "replace")).get("filename")
    return None if name is None else clean_name(name)


def clean_name(name: str) -> str:
    """A file name that is safe in messages: without folders and control characters, and shortened."""
    return _UNSAFE.sub("", name.replace("\\", "/").rpartition("/")[2])[:MAX_NAME_LENGTH]


_MAX_FIELDS = 100
_SPACES = bytes.maketrans(b"+", b" ")
_LENGTH_DIGITS = 18
"""Digits of a Content-Length that are parsed: more than any limit has, and few enough for int()."""


@dataclass(frozen=True, slots=True)
class UploadedBody:
    """A parsed body. `fields`: values of a JSON object or texts of a form; `files`: a form's files; `repeated`: all
    texts of the fields that a multipart form has more than once.
    """

    fields: Mapping[str, Any]
    files: Mapping[str, FormPart] = field(default_factory=dict)
    is_form: bool = False
    repeated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    raw: FormPart | None = None
    """The body itself, where it is the document."""

    @property
    def names(self) -> list[str]:
        """The names of all fields and files."""
        return [*self.fields, *self.files]


CountBytes = Callable[[int], None]
"""Takes the bytes received so far, and raises Overloaded if there is no room for them; see Admitted.receiving."""


async def receive_document(
    request: Request, limits: LimitSettings, threads: BodyThreads, caller: Caller, count_bytes: CountBytes
) -> UploadedBody:
    """Receives an upload like `receive`; a body of another type for files, such as application/pdf or image/png, is the
    document itself. Its name is the one in the Content-Disposition header. Without a type, and with the one that curl
    gives every body, the bytes decide.
    """
    kind = _kind(request, limits)
    by_bytes = kind in {"", _URLENCODED}
    is_file = kind == "binary/octet-stream" or kind.startswith(("image/", "application/"))
    if not (by_bytes or is_file) or kind == "multipart/form-data" or _is_json(kind):
        return await receive(request, limits, threads, caller, count_bytes)
    raw = await _gather(request, limits, count_bytes)
    if by_bytes and raw[:_HEAD_BYTES].lstrip().startswith(b"{"):
        return await _json(raw, threads, caller)
    if kind == _URLENCODED and not _is_file(raw):
        return await _urlencoded(raw, threads, caller)
    name = _name_in(request.headers.get("content-disposition", ""))
    return UploadedBody({}, raw=FormPart("file", name, kind, raw))


_URLENCODED = "application/x-www-form-urlencoded"
_HEAD_BYTES = 4096


def _is_file(raw: bytes) -> bool:
    """Whether a body that is called a form is a file. Raises InputRejected if the client took bytes out of it."""
    known = raw.startswith(b"\x89PNG")
    with suppress(InputRejected):
        known = bool(sniff(raw))
    if known and len(raw) > _HEAD_BYTES and not any(byte in raw for byte in b"\0\r\n"):
        detail = "The file has neither line ends nor zero bytes: `curl -d` takes them out. Use `curl -F file=@...`."
        raise InputRejected("request_malformed", detail)
    return known or b"\0" in raw[:_HEAD_BYTES]


async def receive(
    request: Request, limits: LimitSettings, threads: BodyThreads, caller: Caller, count_bytes: CountBytes
) -> UploadedBody:
    """Receives and parses the whole body of `request`, in memory, on behalf of `caller`.

    Raises:
        InputRejected: it is too large (checked by Content-Length first), stalls, has an unsupported type, or does
            not match its type.
        Overloaded: it has outgrown the room for it.
        CallerLeft: the client disconnected before the end.
    """
    content_type = request.headers.get("content-type", "")
    kind = _kind(request, limits)
    if kind == "multipart/form-data":
        reader = MultipartReader(content_type)
        await _take(request, limits, count_bytes, reader.feed)
        return _form(reader.finish())
    if kind == _URLENCODED:
        raw = await _gather(request, limits, count_bytes)
        # The default type of curl -d.
        looks_like_json = raw.lstrip()[:1] == b"{"
        return await _json(raw, threads, caller) if looks_like_json else await _urlencoded(raw, threads, caller)
    if _is_json(kind):
        return await _json(await _gather(request, limits, count_bytes), threads, caller)
    raise _unsupported(kind, "JSON or a form")


async def receive_json(request: Request, limits: LimitSettings, count_bytes: CountBytes) -> bytes:
    """The whole raw body of `request`, whose type must be JSON. Raises as `receive`."""
    kind = _kind(request, limits)
    if not _is_json(kind):
        raise _unsupported(kind, "JSON")
    return await _gather(request, limits, count_bytes)


async def receive_bytes(request: Request, limits: LimitSettings, max_bytes: int, count_bytes: CountBytes) -> bytes:
    """The whole raw body of `request`, of any type, with at most `most` bytes. Raises as `receive`."""
    smaller = limits.model_copy(update={"max_body_mb": min(limits.max_body_mb, max_bytes / 1_000_000)})
    _kind(request, smaller)
    return await _gather(request, smaller, count_bytes)


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


async def _take(
    request: Request, limits: LimitSettings, count_bytes: CountBytes, take: Callable[[bytes], object]
) -> None:
    """Passes the body to `take` as it arrives. Raises InputRejected if it grows too large, stalls, or takes longer than
    a whole document may take (it holds an admission slot all that time).
    """
    max_bytes = int(limits.max_body_mb * 1_000_000)
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
            if size > max_bytes:
                raise _too_large(limits)
            if chunk:
                count_bytes(size)
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


async def _gather(request: Request, limits: LimitSettings, count_bytes: CountBytes) -> bytes:
    # A list of small chunks would be many times as large, and a bytearray would be copied, on the event loop.
    whole = BytesIO()
    await _take(request, limits, count_bytes, whole.write)
    return whole.getvalue()


async def _json(raw: bytes, threads: BodyThreads, caller: Caller) -> UploadedBody:
    value = parse_json(raw) if len(raw) <= INLINE_BYTES else await threads.run(caller, len(raw), _value, raw)
    if not isinstance(value, dict):
        raise InputRejected("request_malformed", "The body is JSON, but not a JSON object.")
    return UploadedBody(value)


def _value(raw: bytes) -> object:
    """Parses JSON, with no more memory than `raw` except for object headers. Blocking."""
    value = parse_json(raw)
    if len(raw) > LARGE:
        check_texts(value)
    return value


async def _urlencoded(raw: bytes, threads: BodyThreads, caller: Caller) -> UploadedBody:
    if raw.count(b"&") >= _MAX_FIELDS:
        raise InputRejected("request_malformed", f"The form has more than {_MAX_FIELDS} fields.")
    try:
        return UploadedBody(await threads.run(caller, len(raw), _pairs, raw), is_form=True)
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
    repeated: dict[str, list[str]] = {}
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
            if part.name in fields:
                repeated.setdefault(part.name, [fields[part.name]]).append(text)
            fields[part.name] = text
    return UploadedBody(fields, files, is_form=True, repeated=repeated)
