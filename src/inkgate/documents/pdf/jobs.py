"""Jobs for workers: calls with a waiting caller, and the documents that they need."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from itertools import count

import anyio

from inkgate.documents.pdf.wire import Call
from inkgate.errors import EngineFailed

OLDEST_EVERY = 8


@dataclass(frozen=True, slots=True)
class Content:
    """An uploaded file: its length, the key of its bytes, and its password (empty for none)."""

    size: int
    digest: bytes
    password: str = field(repr=False)


class Source:
    """A document's bytes in shared memory, for workers. Reference-counted: open until its last holder releases it.

    Used from one event loop. `on_close` is called once, after closing.

    Attributes:
        number: of the document. New for each opening, so that no caller uses a document opened by another's password.
    """

    def __init__(self, content: Content, number: int, file: FileIO, on_close: Callable[[], None]) -> None:
        self.number = number
        self.file = file
        self.size = content.size
        self.digest = content.digest
        self.password = content.password
        self._on_close = on_close
        self._holders = 0

    @property
    def closed(self) -> bool:
        return self.file.closed

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keeps the document open within the block.

        Raises:
            EngineFailed: "engine_unavailable": it is closed.
        """
        if self.closed:
            raise closed_error()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self.file.close()
                self._on_close()


@dataclass(eq=False, slots=True)
class Job:
    """A call with a waiting caller. `done` is set when `value` or `error` is set. Rank 0 goes first."""

    source: Source
    call: Call
    rank: int
    bitmap: FileIO | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    value: dict[str, object] = field(default_factory=dict)
    error: Exception | None = None
    abandoned: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether a file for the call is already closed."""
        return self.source.closed or (self.bitmap is not None and self.bitmap.closed)

    def finish(self, value: dict[str, object]) -> None:
        self.value = value
        self.done.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done.set()


class JobQueue:
    """Jobs that wait for a worker, by rank, then in order of arrival.

    Every `OLDEST_EVERY`th job is the one that has waited longest, whatever its rank, so that none starves.
    """

    def __init__(self) -> None:
        self._ranks: dict[int, deque[tuple[int, Job]]] = {}
        self._put = count()
        self._taken = 0

    def __len__(self) -> int:
        return sum(not job.abandoned for jobs in self._ranks.values() for _, job in jobs)

    def put(self, job: Job) -> None:
        self._ranks.setdefault(job.rank, deque()).append((next(self._put), job))

    def take(self) -> Job | None:
        """The next job whose caller still waits."""
        for jobs in self._ranks.values():
            while jobs and jobs[0][1].abandoned:
                jobs.popleft()
        waiting = [jobs for _, jobs in sorted(self._ranks.items()) if jobs]
        if not waiting:
            return None
        self._taken += 1
        is_oldests = self._taken % OLDEST_EVERY == 0
        return (min(waiting, key=lambda jobs: jobs[0][0]) if is_oldests else waiting[0]).popleft()[1]


def stopped_error() -> EngineFailed:
    """The error of calls when the pool is closed."""
    return EngineFailed("engine_unavailable", "The service is stopping and reads no more PDFs.")


def closed_error() -> EngineFailed:
    """The error of calls on a closed document."""
    return EngineFailed("engine_unavailable", "The document was closed before this page was read.")
