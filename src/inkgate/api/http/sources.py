"""Sources of a document's bytes: base64 in the body, a data: URL, the network, or an uploaded file."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from inkgate.api.http.decoding import BodyThreads, decode_base64, decode_data_url
from inkgate.api.http.uploads import clean_name
from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.storage.fetch import Fetcher
from inkgate.storage.files import FileStore, StoredFile
from inkgate_client.concurrency import INLINE_BYTES
from inkgate_client.types import Document

_DOWNLOAD_PATH = re.compile("/v1/files/([0-9a-f-]{36})/content")
_SIGNED_PATH = re.compile(f".*{_DOWNLOAD_PATH.pattern}")
_TIME = re.compile("[0-9]{1,12}")


class SignedUrls:
    """URLs of the files of a store, which any gateway that shares the store knows."""

    def __init__(self, files: FileStore) -> None:
        self._files = files

    async def sign(self, file_id: str, owner: str, base_url: str, valid_s: float) -> str:
        """A URL of the file, valid for `valid_s` seconds. Raises InputRejected as FileStore.get does."""
        file = await self._files.get(file_id, owner)
        expires = math.ceil(min(self._files.now() + valid_s, file.expires_at))
        signature = await self._signature(file.id, expires)
        return f"{base_url.rstrip('/')}/v1/files/{file.id}/content?expires={expires}&signature={signature}"

    async def file(self, url: str, owner: str) -> StoredFile | None:
        """The file of a signed URL, with any host and root path; None for other URLs.

        Raises:
            InputRejected: it is signed, but the file or the URL has expired.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        file_id = await self._signed(_SIGNED_PATH.fullmatch(parts.path), parts.query)
        return None if file_id is None else await self._files.get(file_id, owner)

    async def owner(self, path: str, query: str) -> str | None:
        """The owner of the file that a request with a signed URL downloads: whoever has the URL needs no key. None for
        other requests.

        Raises:
            InputRejected: the URL is signed, but the file or the URL has expired.
        """
        file_id = await self._signed(_DOWNLOAD_PATH.fullmatch(path), query)
        return None if file_id is None else (await self._files.get(file_id, None)).owner

    async def _signed(self, match: re.Match[str] | None, query: str) -> str | None:
        """The ID in a path, if the query has its signature. Raises InputRejected: it has expired."""
        fields = parse_qs(query) if match else {}
        expires, signature = fields.get("expires", [""])[0], fields.get("signature", [""])[0]
        if not (match and _TIME.fullmatch(expires) and signature.isascii() and signature):
            return None
        if not hmac.compare_digest(signature, await self._signature(match[1], int(expires))):
            return None
        if int(expires) < self._files.now():
            raise InputRejected("file_unknown", "The URL of the file has expired.")
        return match[1]

    async def _signature(self, file_id: str, expires: int) -> str:
        return hmac.new(await self._files.secret(), f"{file_id}:{expires}".encode(), hashlib.sha256).hexdigest()


DEFAULT_NAME = "document"
MAX_URL_LENGTH = 8192
"""Maximum characters of a URL; data: URLs may be longer. Web servers accept no more, and the event loop parses them."""


class Sources:
    """Loads the documents that requests name."""

    def __init__(self, files: FileStore, fetcher: Fetcher, threads: BodyThreads) -> None:
        self._files = files
        self._signed = SignedUrls(files)
        self._fetcher = fetcher
        self._threads = threads

    async def from_text(self, text: str, caller: Caller, name: str = DEFAULT_NAME) -> Document:
        """The document in or at `text`: base64, a data: URL, the URL of an uploaded file, or another URL.

        Raises:
            InputRejected: it is none of these, is empty, or must not be fetched.
        """
        if text[:5].lower() == "data:":
            return document(await self._threads.run(caller, len(text), decode_data_url, text), name)
        if text[:8].lower().startswith(("http://", "https://")):
            return await self.from_url(text, caller, name)
        return document(await self.decoded(text, caller), name)

    async def decoded(self, text: str, caller: Caller) -> bytes:
        """The bytes that `text` is as base64. Raises InputRejected("base64_invalid")."""
        if len(text) <= INLINE_BYTES:
            return decode_base64(text)
        return await self._threads.run(caller, len(text), decode_base64, text)

    async def from_url(self, url: str, caller: Caller, name: str = DEFAULT_NAME) -> Document:
        """The document at a data:, http: or https: URL. Signed URLs of uploaded files need no network.

        Raises:
            InputRejected: there is no document, or it must not be fetched.
        """
        if url[:5].lower() == "data:":
            return document(await self._threads.run(caller, len(url), decode_data_url, url), name)
        if len(url) > MAX_URL_LENGTH:
            raise InputRejected("url_forbidden", f"The URL is longer than {MAX_URL_LENGTH} characters.")
        if stored := await self._signed.file(url, caller.tenant):
            return document(await self._files.load(stored), stored.name)
        fetched_name = clean_name(url.partition("?")[0])
        try:
            data = await self._fetcher.fetch(url)
        except InputRejected as error:
            if "signature=" not in url or not _SIGNED_PATH.fullmatch(url.partition("?")[0]):
                raise
            detail = "This gateway has not signed the URL. If another one has, both need the same `jobs.database`."
            raise InputRejected(error.code, detail) from error
        return document(data, name if name != DEFAULT_NAME else fetched_name)

    async def call(self, url: str, check: Callable[[str], None]) -> None:
        """Sends a GET to a public URL, whether or not `fetch` is enabled. `check` raises for URLs, and redirects, that
        are not allowed. Raises InputRejected as Fetcher.fetch does.
        """
        await self._fetcher.fetch(url, check)

    async def from_file_id(self, file_id: str, tenant: str) -> Document:
        """The document uploaded as `file_id`.

        Raises:
            InputRejected: "file_unknown".
        """
        stored = await self._files.get(file_id, tenant)
        return document(await self._files.load(stored), stored.name)


def document(data: bytes, name: str | None) -> Document:
    """A Document of these bytes.

    Raises:
        InputRejected: there are none.
    """
    if not data:
        raise InputRejected("document_empty", "The file has no bytes.")
    return Document(data, name or DEFAULT_NAME)
