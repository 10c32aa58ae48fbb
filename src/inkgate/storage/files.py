"""Files of `/v1/files`: what a store of them offers, their limits, and the store in the memory of this process."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Protocol
from uuid import uuid4

from inkgate.errors import InputRejected, Overloaded

RETENTION_S = 3600.0
"""How long a file is stored: enough for upload and reading."""
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_FILES = 20_000
FILE_BYTES = 800
"""Memory overhead of a file: 0.4 kB measured with CPython 3.11, 0.63 kB if each has a different owner."""
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file and its owner. Times are Unix times in seconds. `data`: None if it has to be loaded."""

    id: str
    name: str
    byte_count: int
    purpose: str
    owner: str
    created_at: float
    expires_at: float
    data: bytes | None = None

    @property
    def cost(self) -> int:
        """Its bytes, with overhead."""
        return self.byte_count + 4 * (len(self.name) + len(self.purpose)) + FILE_BYTES


class FileStore(Protocol):
    """Files by ID; each caller sees only their own. Used from one event loop.

    A store that other gateways share raises Overloaded ("jobs_unavailable" or "storage_full") while it can't be used.
    """

    def now(self) -> float:
        """Unix time in seconds, by which URLs expire."""
        ...

    async def secret(self) -> bytes:
        """Signs URLs of files. All gateways that share the store have the same."""
        ...

    async def add(self, name: str, data: bytes, purpose: str, owner: str) -> StoredFile:
        """Keeps a file.

        Raises:
            Overloaded: "service_full": there is no room before the oldest file expires; "share_exceeded": the caller's
                share of it is used.
        """
        ...

    async def get(self, file_id: str, owner: str | None) -> StoredFile:
        """The file; `owner` None: of any caller.

        Raises:
            InputRejected: "file_unknown": it does not exist, has expired, or belongs to another caller.
        """
        ...

    async def load(self, file: StoredFile) -> bytes:
        """The content of a file that `get` or `owned` returned. Raises InputRejected if it was deleted meanwhile."""
        ...

    async def owned(self, owner: str) -> Sequence[StoredFile]:
        """All files of `owner`, newest first."""
        ...

    async def delete(self, file_id: str, owner: str) -> None:
        """Deletes the file. Raises InputRejected as `get` does."""
        ...


@dataclass(slots=True)
class FileUse:
    """What files take. `bytes`: including overhead. `first_expiry`: of the file that expires first; 0 without files."""

    files: int = 0
    bytes: int = 0
    first_expiry: float = 0.0


def check_room(cost: int, total: FileUse, own: FileUse, max_bytes: int, now: float) -> None:
    """Checks that a file of this cost can be added.

    A caller may use as much room as stays free: the first caller half of it, the next one half of the rest. So there is
    always room for new callers (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).

    Raises:
        Overloaded: as FileStore.add does.
    """
    free_bytes, free_files = max_bytes - total.bytes, MAX_FILES - total.files
    if cost > free_bytes or free_files <= 0:
        detail = "The room for uploaded files is full."
        raise Overloaded("service_full", detail, _wait_s(total, now))
    if own.bytes + cost > free_bytes or own.files >= free_files:
        detail = "Your uploaded files would exceed your share of the room for files. Delete some of them."
        raise Overloaded("share_exceeded", detail, _wait_s(own, now))


def _wait_s(use: FileUse, now: float) -> float:
    return use.first_expiry - now if use.files else 1.0


def unknown_file() -> InputRejected:
    """The error for an ID without a file."""
    return InputRejected("file_unknown", "There is no file with this ID.")


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


class MemoryFiles:
    """A FileStore in the memory of this process: its files are lost when it ends."""

    def __init__(self, max_total_bytes: int = MAX_TOTAL_BYTES, now: Callable[[], float] | None = None) -> None:
        self._files: OrderedDict[str, StoredFile] = OrderedDict()  # in order of expiry
        self._held: dict[str, _CallerFiles] = {}
        self._max_total_bytes = max_total_bytes
        self.total_bytes = 0
        """Memory of all files, including overhead."""
        self._now = now or steady_clock()
        self._secret = secrets.token_bytes(SECRET_BYTES)

    def now(self) -> float:
        return self._now()

    async def secret(self) -> bytes:
        return self._secret

    async def add(self, name: str, data: bytes, purpose: str, owner: str) -> StoredFile:
        self._expire()
        now = self._now()
        file = StoredFile(str(uuid4()), name, len(data), purpose, owner, now, now + RETENTION_S, data)
        held = self._held.get(owner) or _CallerFiles()
        total = FileUse(len(self._files), self.total_bytes, _first_expiry(self._files.values()))
        own = FileUse(len(held.files), held.bytes, _first_expiry(held.files.values()))
        check_room(file.cost, total, own, self._max_total_bytes, now)
        self._files[file.id] = held.files[file.id] = file
        self._held[owner] = held
        held.bytes += file.cost
        self.total_bytes += file.cost
        return file

    async def get(self, file_id: str, owner: str | None) -> StoredFile:
        self._expire()
        file = self._files.get(file_id)
        if file is None or owner not in {None, file.owner}:
            raise unknown_file()
        return file

    async def load(self, file: StoredFile) -> bytes:
        return file.data or b""

    async def owned(self, owner: str) -> Sequence[StoredFile]:
        self._expire()
        held = self._held.get(owner)
        return [] if held is None else list(reversed(held.files.values()))

    async def delete(self, file_id: str, owner: str) -> None:
        self._forget(await self.get(file_id, owner))

    def _expire(self) -> None:
        now = self._now()
        while self._files and (oldest := next(iter(self._files.values()))).expires_at <= now:
            self._forget(oldest)

    def _forget(self, file: StoredFile) -> None:
        held = self._held[file.owner]
        del self._files[file.id], held.files[file.id]
        held.bytes -= file.cost
        self.total_bytes -= file.cost
        if not held.files:
            del self._held[file.owner]


def _first_expiry(files: Iterable[StoredFile]) -> float:
    return next((file.expires_at for file in files), 0.0)
