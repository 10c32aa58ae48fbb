"""Uploaded files, kept in memory for a limited time, as Mistral's clients use them."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from inkgate.errors import InputRejected, Overloaded

KEPT_S = 3600.0
"""How long a file is kept: time enough to upload, then read; after that it costs memory for nothing."""
MAX_TOTAL_BYTES = 512 * 1024 * 1024
_SIGNED_PATH = re.compile(r"/v1/files/([0-9a-f-]{36})/content")
_TIME = re.compile("[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file and whose it is. Times are seconds since 1970."""

    id: str
    name: str
    data: bytes
    purpose: str
    owner: str
    created_at: float
    expires_at: float


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 by the wall clock of now, from here on by the monotonic one.

    When the wall clock is set anew, no file is lost before its time, and none stays longer.
    """
    ahead = datetime.now(UTC).timestamp() - monotonic()
    return lambda: ahead + monotonic()


class FileStore:
    """Files by ID; each caller sees only their own. Not shared between processes, gone with this one."""

    def __init__(
        self, max_total_bytes: int = MAX_TOTAL_BYTES, kept_s: float = KEPT_S, now: Callable[[], float] | None = None
    ) -> None:
        self._files: dict[str, StoredFile] = {}
        self._max_total_bytes = max_total_bytes
        self._kept_s = kept_s
        self._now = now or steady_clock()
        self._secret = secrets.token_bytes(32)

    @property
    def total_bytes(self) -> int:
        return sum(len(file.data) for file in self._files.values())

    def add(self, name: str, data: bytes, purpose: str, owner: str) -> StoredFile:
        """Keeps a file.

        Raises:
            Overloaded: there is no room before the oldest file expires.
        """
        self._expire()
        now = self._now()
        if self.total_bytes + len(data) > self._max_total_bytes:
            oldest = min((file.expires_at for file in self._files.values()), default=now + 1.0)
            raise Overloaded("service_full", "There is no room for more uploaded files.", oldest - now)
        file = StoredFile(str(uuid4()), name, data, purpose, owner, now, now + self._kept_s)
        self._files[file.id] = file
        return file

    def get(self, file_id: str, owner: str) -> StoredFile:
        """The file.

        Raises:
            InputRejected: there is none (any more), or it is somebody else's.
        """
        self._expire()
        file = self._files.get(file_id)
        if file is None or file.owner != owner:
            raise InputRejected("file_unknown", "There is no file with this ID.")
        return file

    def owned(self, owner: str) -> list[StoredFile]:
        """All files of `owner`, the latest first."""
        self._expire()
        return [file for file in reversed(self._files.values()) if file.owner == owner]

    def delete(self, file_id: str, owner: str) -> None:
        """Forgets the file. Raises InputRejected as `get` does."""
        del self._files[self.get(file_id, owner).id]

    def signed_url(self, file_id: str, owner: str, base_url: str, valid_s: float) -> str:
        """A URL of the file that `by_signed_url` of this store understands until `valid_s` seconds from now."""
        file = self.get(file_id, owner)
        expires = math.ceil(min(self._now() + valid_s, file.expires_at))
        signature = self._signature(file.id, expires)
        return f"{base_url.rstrip('/')}/v1/files/{file.id}/content?expires={expires}&signature={signature}"

    def by_signed_url(self, url: str, owner: str) -> StoredFile | None:
        """The file of a URL that this store signed, whatever host it names; None when it did not.

        Raises:
            InputRejected: it was signed here, but the file is gone or the URL has expired.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        match = _SIGNED_PATH.fullmatch(parts.path)
        query = parse_qs(parts.query)
        expires, signature = query.get("expires", [""])[0], query.get("signature", [""])[0]
        if not (match and _TIME.fullmatch(expires) and signature.isascii()):
            return None
        if not hmac.compare_digest(signature, self._signature(match[1], int(expires))):
            return None
        if int(expires) < self._now():
            raise InputRejected("file_unknown", "The URL of the file has expired.")
        return self.get(match[1], owner)

    def _signature(self, file_id: str, expires: int) -> str:
        return hmac.new(self._secret, f"{file_id}:{expires}".encode(), hashlib.sha256).hexdigest()

    def _expire(self) -> None:
        now = self._now()
        for file in [file for file in self._files.values() if file.expires_at <= now]:
            del self._files[file.id]
