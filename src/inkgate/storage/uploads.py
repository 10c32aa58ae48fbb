"""Uploads of jobs, stored by the SHA-256 of their bytes in a local folder or a bucket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256

import structlog

from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.storage.objects import DISK_FULL, Objects
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

_RETRY_S = 30.0
_NO_LIMIT = 1 << 62
"""Uploads are limited when they are stored."""
_HASH_THREADS = 2


class Uploads:
    """Stores uploads as `ab/abcdef...` in a folder. Equal uploads are stored once. Used from one event loop."""

    def __init__(self, objects: Objects, folder_url: str) -> None:
        self._objects = objects
        self._folder_url = folder_url.rstrip("/") + "/"
        self._threads = Threads("upload_hashes", _HASH_THREADS)
        self.missing = 0
        """Uploads so far that were not there."""

    async def put(self, data: bytes) -> str:
        """Stores `data` and returns its SHA-256 in hex. Data that is already stored is written again, so that its age
        is that of its last upload.

        Raises:
            Overloaded: "storage_full" or "jobs_unavailable": it can't be stored. Nothing of it is.
        """
        digest = await self._threads.run(_digest, data)
        try:
            await self._objects.put(self._url(digest), data, private=True)
        except EngineFailed as error:
            raise not_kept(error) from error
        return digest

    async def get(self, digest: str) -> bytes:
        """The upload with this SHA-256.

        Raises:
            InputRejected: "source_missing": it is not stored, or was damaged.
            EngineFailed: "source_unreachable".
        """
        try:
            data = await self._objects.get(self._url(digest), max_bytes=_NO_LIMIT)
        except InputRejected as error:
            self.missing += 1
            detail = "The uploaded file is no longer kept, or is in the `jobs.uploads` of another process."
            raise InputRejected("source_missing", detail) from error
        if await self._threads.run(_digest, data) != digest:
            log.error("upload_damaged", sha256=digest)
            raise InputRejected("source_missing", "The uploaded file was damaged while it was kept.")
        return data

    async def delete_older(self, digest: str, than: float) -> bool:
        """Deletes an upload that was last written before `than` (Unix time); returns whether it did. With a time well
        in the past, such as an hour ago, an upload that is being added now stays, as its job may not be there yet.

        Raises:
            EngineFailed: "source_unreachable".
        """
        return await self._objects.delete_older(self._url(digest), than)

    async def older(self, than: float) -> AsyncIterator[str]:
        """The SHA-256 of each upload that was last written before `than`, to find those that no job needs.

        Raises:
            EngineFailed: "source_unreachable".
        """
        async for each in self._objects.list(self._folder_url):
            digest = each.url.rpartition("/")[2]
            if each.modified < than and each.url == self._url(digest):
                yield digest

    def _url(self, digest: str) -> str:
        return f"{self._folder_url}{digest[:2]}/{digest}"


def not_kept(error: EngineFailed) -> Overloaded:
    """The error for an upload that the object store can't take or give, for this reason."""
    code = "storage_full" if error.detail == DISK_FULL else "jobs_unavailable"
    return Overloaded(code, f"Uploads can't be kept or read: {error.detail}", _RETRY_S)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
