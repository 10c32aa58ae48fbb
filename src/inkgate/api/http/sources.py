"""Sources of a document's bytes: base64 in the body, a data: URL, the network, or an uploaded file, which is stored in
memory for a limited time.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from inkgate.api.http.decoding import BodyThreads, decode_base64, decode_data_url
from inkgate.api.http.uploads import clean_name
from inkgate.caller import Caller
from inkgate.errors import InputRejected, Overloaded
from inkgate.storage.fetch import Fetcher
from inkgate_client.concurrency import INLINE_BYTES
from inkgate_client.types import Document

RETENTION_S = 3600.0
"""How long a file is stored: enough for upload and reading."""
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_FILES = 20_000
FILE_BYTES = 800
"""Memory overhead of a file: 0.4 kB measured with CPython 3.11, 0.63 kB if each has a different owner."""
_DOWNLOAD_PATH = re.compile("/v1/files/([0-9a-f-]{36})/content")
_SIGNED_PATH = re.compile(f".*{_DOWNLOAD_PATH.pattern}")
_TIME = re.compile("[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file and its owner. Times are Unix times in seconds."""

    id: str
    name: str
    data: bytes
    purpose: str
    owner: str
    created_at: float
    expires_at: float


def steady_clock() -> Callable[[], float]:
    """Unix time in seconds that continues by the monotonic clock.

    A change of the wall clock neither shortens nor extends the life of a file.
    """
    ahead = datetime.now(UTC).timestamp() - monotonic()
    return lambda: ahead + monotonic()


@dataclass(slots=True)
class _CallerFiles:
    """One caller's files. `bytes`: including overhead."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    bytes: int = 0


class FileStore:
    """Files by ID; each caller sees only their own. In this process only, lost when it ends.

    A caller may hold as much memory as stays free: the first caller half of it, the next one half of the rest. So there
    is always room for new callers (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6,
    1998).
    """

    def __init__(
        self,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        retention_s: float = RETENTION_S,
        now: Callable[[], float] | None = None,
        max_files: int = MAX_FILES,
    ) -> None:
        self._files: OrderedDict[str, StoredFile] = OrderedDict()  # in order of expiry
        self._held: dict[str, _CallerFiles] = {}
        self._max_total_bytes = max_total_bytes
        self._max_files = max_files
        self._retention_s = retention_s
        self.total_bytes = 0
        """Memory of all files, including overhead."""
        self._now = now or steady_clock()
        self._secret = secrets.token_bytes(32)

    def add(self, name: str, data: bytes, purpose: str, owner: str) -> StoredFile:
        """Keeps a file.

        Raises:
            Overloaded: no memory is free before the oldest file expires, or the caller exceeds their share.
        """
        self._expire()
        now = self._now()
        file = StoredFile(str(uuid4()), name, data, purpose, owner, now, now + self._retention_s)
        held = self._held.get(owner) or _CallerFiles()
        free_bytes, free_files = self._max_total_bytes - self.total_bytes, self._max_files - len(self._files)
        if _cost(file) > free_bytes or not free_files:
            detail = "The memory for uploaded files is full."
            raise Overloaded("service_full", detail, _until_oldest(self._files, now))
        if held.bytes + _cost(file) > free_bytes or len(held.files) >= free_files:
            detail = "Your uploaded files would exceed your share of the memory for files. Delete some of them."
            raise Overloaded("share_exceeded", detail, _until_oldest(held.files, now))
        self._files[file.id] = held.files[file.id] = file
        self._held[owner] = held
        held.bytes += _cost(file)
        self.total_bytes += _cost(file)
        return file

    def get(self, file_id: str, owner: str) -> StoredFile:
        """The file.

        Raises:
            InputRejected: it does not exist, has expired, or belongs to another caller.
        """
        self._expire()
        file = self._files.get(file_id)
        if file is None or file.owner != owner:
            raise InputRejected("file_unknown", "There is no file with this ID.")
        return file

    def owned(self, owner: str) -> list[StoredFile]:
        """All files of `owner`, newest first."""
        self._expire()
        held = self._held.get(owner)
        return [] if held is None else list(reversed(held.files.values()))

    def delete(self, file_id: str, owner: str) -> None:
        """Deletes the file. Raises InputRejected as `get` does."""
        self._forget(self.get(file_id, owner))

    def signed_url(self, file_id: str, owner: str, base_url: str, valid_s: float) -> str:
        """A URL of the file for `by_signed_url` of this store, valid for `valid_s` seconds."""
        file = self.get(file_id, owner)
        expires = math.ceil(min(self._now() + valid_s, file.expires_at))
        signature = self._signature(file.id, expires)
        return f"{base_url.rstrip('/')}/v1/files/{file.id}/content?expires={expires}&signature={signature}"

    def by_signed_url(self, url: str, owner: str) -> StoredFile | None:
        """The file of a URL that this store signed, with any host and root path; None for other URLs.

        Raises:
            InputRejected: this store signed it, but the file or the URL has expired.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        file_id = self._signed(_SIGNED_PATH.fullmatch(parts.path), parts.query)
        return None if file_id is None else self.get(file_id, owner)

    def signed_owner(self, path: str, query: str) -> str | None:
        """The owner of the file that a request with a signed URL downloads: whoever has the URL needs no key. None for
        other requests.

        Raises:
            InputRejected: this store signed it, but the file or the URL has expired.
        """
        file_id = self._signed(_DOWNLOAD_PATH.fullmatch(path), query)
        if file_id is None:
            return None
        self._expire()
        if (file := self._files.get(file_id)) is None:
            raise InputRejected("file_unknown", "There is no file with this ID.")
        return file.owner

    def _signed(self, match: re.Match[str] | None, query: str) -> str | None:
        """The ID in a path, if the query has its signature. Raises InputRejected: it has expired."""
        fields = parse_qs(query)
        expires, signature = fields.get("expires", [""])[0], fields.get("signature", [""])[0]
        if not (match and _TIME.fullmatch(expires) and signature.isascii()):
            return None
        if not hmac.compare_digest(signature, self._signature(match[1], int(expires))):
            return None
        if int(expires) < self._now():
            raise InputRejected("file_unknown", "The URL of the file has expired.")
        return match[1]

    def _signature(self, file_id: str, expires: int) -> str:
        return hmac.new(self._secret, f"{file_id}:{expires}".encode(), hashlib.sha256).hexdigest()

    def _expire(self) -> None:
        now = self._now()
        while self._files and (oldest := next(iter(self._files.values()))).expires_at <= now:
            self._forget(oldest)

    def _forget(self, file: StoredFile) -> None:
        held = self._held[file.owner]
        del self._files[file.id], held.files[file.id]
        held.bytes -= _cost(file)
        self.total_bytes -= _cost(file)
        if not held.files:
            del self._held[file.owner]


def _cost(file: StoredFile) -> int:
    """Memory of the file in bytes."""
    return len(file.data) + 4 * (len(file.name) + len(file.purpose)) + FILE_BYTES


def _until_oldest(files: Mapping[str, StoredFile], now: float) -> float:
    """Seconds until the first of `files` expires; 1 if there are none."""
    return next((file.expires_at - now for file in files.values()), 1.0)


DEFAULT_NAME = "document"
MAX_URL_LENGTH = 8192
"""Maximum characters of a URL; data: URLs may be longer. Web servers accept no more, and the event loop parses them."""


class Sources:
    """Loads the documents that requests name."""

    def __init__(self, files: FileStore, fetcher: Fetcher, threads: BodyThreads) -> None:
        self._files = files
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
        """The document at a data:, http: or https: URL. URLs from `FileStore.signed_url` need no network.

        Raises:
            InputRejected: there is no document, or it must not be fetched.
        """
        if url[:5].lower() == "data:":
            return document(await self._threads.run(caller, len(url), decode_data_url, url), name)
        if len(url) > MAX_URL_LENGTH:
            raise InputRejected("url_forbidden", f"The URL is longer than {MAX_URL_LENGTH} characters.")
        if stored := self._files.by_signed_url(url, caller.tenant):
            return document(stored.data, stored.name)
        fetched_name = clean_name(url.partition("?")[0])
        return document(await self._fetcher.fetch(url), name if name != DEFAULT_NAME else fetched_name)

    async def call(self, url: str, check: Callable[[str], None]) -> None:
        """Sends a GET to a public URL, whether or not `fetch` is enabled. `check` raises for URLs, and redirects, that
        are not allowed. Raises InputRejected as Fetcher.fetch does.
        """
        await self._fetcher.fetch(url, check)

    def from_file_id(self, file_id: str, tenant: str) -> Document:
        """The document uploaded as `file_id`.

        Raises:
            InputRejected: "file_unknown".
        """
        stored = self._files.get(file_id, tenant)
        return document(stored.data, stored.name)


def document(data: bytes, name: str | None) -> Document:
    """A Document of these bytes.

    Raises:
        InputRejected: there are none.
    """
    if not data:
        raise InputRejected("document_empty", "The file has no bytes.")
    return Document(data, name or DEFAULT_NAME)
