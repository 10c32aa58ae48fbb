"""Where a document's bytes come from: base64 in the body, a data: URL, an uploaded file, or the network."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pybase64

from inkgate.api.fetch import Fetcher
from inkgate.api.files import FileStore
from inkgate.api.multipart import clean_name
from inkgate.concurrency import Threads
from inkgate.errors import InputRejected
from inkgate.types import Document

_WHITESPACE = b" \t\r\n\f\v"
_END = b"=" + _WHITESPACE
_URLSAFE = bytes.maketrans(b"-_", b"+/")
DEFAULT_NAME = "document"


class Sources:
    """Gets the bytes that a request names."""

    def __init__(self, files: FileStore, fetcher: Fetcher, threads: Threads) -> None:
        self._files = files
        self._fetcher = fetcher
        self._threads = threads

    async def from_text(self, text: str, caller: str, name: str = DEFAULT_NAME) -> Document:
        """The document that `text` is, or names: base64, a data: URL, a URL of an uploaded file, any other URL.

        Raises:
            InputRejected: it is none of these, is empty, or may not be fetched.
        """
        if text[:5].lower() == "data:":
            return document(await self._threads.run(decode_data_url, text), name)
        if text[:8].lower().startswith(("http://", "https://")):
            return await self.from_url(text, caller, name)
        return document(await self._threads.run(decode_base64, text), name)

    async def from_url(self, url: str, caller: str, name: str = DEFAULT_NAME) -> Document:
        """The document at a data:, http: or https: URL. Those that `FileStore.signed_url` made need no network.

        Raises:
            InputRejected: there is none, or it may not be fetched.
        """
        if url[:5].lower() == "data:":
            return document(await self._threads.run(decode_data_url, url), name)
        if stored := self._files.by_signed_url(url, caller):
            return document(stored.data, stored.name)
        fetched_name = clean_name(url.partition("?")[0])
        return document(await self._fetcher.fetch(url), name if name != DEFAULT_NAME else fetched_name)

    def from_file_id(self, file_id: str, caller: str) -> Document:
        """The document that was uploaded as `file_id`.

        Raises:
            InputRejected: "file_unknown".
        """
        stored = self._files.get(file_id, caller)
        return document(stored.data, stored.name)


def document(data: bytes, name: str | None) -> Document:
    """The Document of these bytes.

    Raises:
        InputRejected: there are none.
    """
    if not data:
        raise InputRejected("document_empty", "The file that was sent has no bytes.")
    return Document(data, name or DEFAULT_NAME)


def decode_base64(text: str) -> bytes:
    """The bytes of standard or URL-safe base64; line breaks, spaces and missing padding do no harm. Blocking.

    Raises:
        InputRejected: "base64_invalid".
    """
    try:
        return pybase64.b64decode(text, validate=True)  # of standard base64 in one piece, nothing is copied
    except ValueError:
        return _decode_any(text)


def _decode_any(text: str) -> bytes:
    try:
        standard = text.encode("ascii").translate(_URLSAFE).rstrip(_END)
        return pybase64.b64decode(standard, validate=True, padded=False, ignorechars=_WHITESPACE)
    except ValueError as error:
        raise InputRejected("base64_invalid", "The text can't be decoded as base64.") from error


def decode_data_url(url: str) -> bytes:
    """The bytes that a data: URL carries (RFC 2397). Blocking.

    Raises:
        InputRejected: it is not one, or its base64 is wrong.
    """
    head, comma, payload = url.partition(",")
    if not comma:
        raise InputRejected("base64_invalid", "The data: URL has no comma, so nothing follows its type.")
    if head.lower().endswith(";base64"):
        return decode_base64(payload)
    return unquote_to_bytes(payload)
