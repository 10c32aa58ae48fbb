"""Sources of a document's bytes: base64 in the body, a data: URL, an uploaded file, or the network."""

from __future__ import annotations

from inkgate.api.decoding import BodyThreads, decode_base64, decode_data_url
from inkgate.api.fetch import Fetcher
from inkgate.api.files import FileStore
from inkgate.api.multipart import clean_name
from inkgate.errors import InputRejected
from inkgate.types import Document

DEFAULT_NAME = "document"
LONGEST_URL = 8192
"""In characters; data: URLs may be longer. More than web servers accept, and few enough to parse on the event loop."""


class Sources:
    """Loads the documents that requests name."""

    def __init__(self, files: FileStore, fetcher: Fetcher, threads: BodyThreads) -> None:
        self._files = files
        self._fetcher = fetcher
        self._threads = threads

    async def from_text(self, text: str, caller: str, name: str = DEFAULT_NAME) -> Document:
        """The document in or at `text`: base64, a data: URL, the URL of an uploaded file, or another URL.

        Raises:
            InputRejected: it is none of these, is empty, or must not be fetched.
        """
        if text[:5].lower() == "data:":
            return document(await self._threads.run(len(text), decode_data_url, text), name)
        if text[:8].lower().startswith(("http://", "https://")):
            return await self.from_url(text, caller, name)
        return document(await self._threads.run(len(text), decode_base64, text), name)

    async def from_url(self, url: str, caller: str, name: str = DEFAULT_NAME) -> Document:
        """The document at a data:, http: or https: URL. URLs from `FileStore.signed_url` need no network.

        Raises:
            InputRejected: there is no document, or it must not be fetched.
        """
        if url[:5].lower() == "data:":
            return document(await self._threads.run(len(url), decode_data_url, url), name)
        if len(url) > LONGEST_URL:
            raise InputRejected("url_forbidden", f"The URL is longer than {LONGEST_URL} characters.")
        if stored := self._files.by_signed_url(url, caller):
            return document(stored.data, stored.name)
        fetched_name = clean_name(url.partition("?")[0])
        return document(await self._fetcher.fetch(url), name if name != DEFAULT_NAME else fetched_name)

    def from_file_id(self, file_id: str, caller: str) -> Document:
        """The document uploaded as `file_id`.

        Raises:
            InputRejected: "file_unknown".
        """
        stored = self._files.get(file_id, caller)
        return document(stored.data, stored.name)


def document(data: bytes, name: str | None) -> Document:
    """A Document of these bytes.

    Raises:
        InputRejected: there are none.
    """
    if not data:
        raise InputRejected("document_empty", "The file has no bytes.")
    return Document(data, name or DEFAULT_NAME)
