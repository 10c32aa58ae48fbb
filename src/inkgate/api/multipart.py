"""Parses multipart/form-data as it arrives, in memory, without temporary files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from inkgate.api.decoding import LARGE
from inkgate.errors import InputRejected

MAX_PARTS = 100
MAX_NAME_LENGTH = 200
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")


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
            raise InputRejected("request_malformed", "The Content-Type names no multipart boundary.")
        self._parts: list[FormPart] = []
        self._headers: dict[str, str] = {}
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._data = bytearray()
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
        self._data = bytearray()

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
        self._data += data[start:end]

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
                bytes(self._data),
            )
        )
        self._data = bytearray()

    def _on_end(self) -> None:
        self._ended = True


def _disposition(header: str) -> dict[str, str]:
    """The parameters of a Content-Disposition header, which browsers send in UTF-8."""
    # The parser expects latin-1, which maps every byte; afterwards the bytes are decoded as UTF-8.
    options = parse_options_header(header.encode().decode("latin-1"))[1]
    return {key.decode("latin-1"): value.decode("utf-8", "replace") for key, value in options.items()}


def clean_name(name: str) -> str:
    """A file name that is safe in messages: without folders and control characters, and shortened."""
    return _UNSAFE.sub("", name.replace("\\", "/").rpartition("/")[2])[:MAX_NAME_LENGTH]
