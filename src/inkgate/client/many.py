"""Many documents at once: how many, how long refusals are retried, and what became of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Generic, TypeVar

import anyio
import httpx
from anyio.streams.memory import MemoryObjectSendStream

from inkgate.client.errors import FileUnreadable, ServiceError
from inkgate.client.files import File
from inkgate.client.jobs import Patience
from inkgate.client.pauses import pause_awaited
from inkgate.concurrency import single_error

T = TypeVar("T")
DocumentT = TypeVar("DocumentT")

RETRY_S = 300.0
"""How long a document of a batch is offered to a service that refuses it for load or can't be reached."""
_RETRIED = frozenset({None, 429, 503})
"""Statuses after which the service may read the document; None: there was no response."""


@dataclass(frozen=True, slots=True)
class ReadOutcome(Generic[DocumentT]):
    """What became of one file: a `document`, or an `error`. `index`: its place among the files, from 0."""

    index: int
    file: File
    document: DocumentT | None = None
    error: ServiceError | None = None


class ReadPatience:
    """Retries one document for `retry_s` while the service refuses it for load or can't be reached: after Retry-After,
    if the service sent it. `left`: set when nobody wants it any more. `lost`: don't wait for a service that can't be
    reached.
    """

    def __init__(self, retry_s: float, left: Event | None = None, *, lost: bool = False) -> None:
        self._patience = Patience(retry_s)
        self._left = left or Event()
        self._lost = lost

    async def pause_awaited(self, error: ServiceError) -> None:
        """Waits before the next attempt. Raises `error` if there should be none."""
        await pause_awaited(self._pause_s(error))

    def pause(self, error: ServiceError) -> None:
        """As `pause_awaited`. Blocking."""
        if self._left.wait(self._pause_s(error)):
            raise error

    def _pause_s(self, error: ServiceError) -> float:
        ends = isinstance(error, FileUnreadable) or error.status not in _RETRIED or (self._lost and _is_lost(error))
        if ends or isinstance(error.__cause__, httpx.ReadTimeout):  # the service took it, and may be busy with it still
            raise error
        return self._patience.pause_s(error)


class ReadBatch:
    """Retries for all documents of a batch. Once a document was given up because the service can't be reached, the
    following ones don't wait for it either, until it responds.
    """

    def __init__(self, retry_s: float, concurrency: int) -> None:
        """Raises ValueError if `concurrency` is not at least 1."""
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1.")
        self.concurrency = concurrency
        self.left = Event()
        self._retry_s = retry_s
        self._lost = False

    def patience(self) -> ReadPatience:
        """For one document."""
        return ReadPatience(self._retry_s, self.left, lost=self._lost)

    def note(self, error: ServiceError | None) -> None:
        """A document was read, or given up with `error`."""
        if not isinstance(error, FileUnreadable):
            self._lost = error is not None and _is_lost(error)


def _is_lost(error: ServiceError) -> bool:
    """Whether the service can't be reached. One that took a document and is late is there."""
    cause = error.__cause__
    return isinstance(cause, httpx.TransportError) and not isinstance(cause, httpx.ReadTimeout)


@asynccontextmanager
async def each_awaited(
    read_one: Callable[[int, File], Awaitable[T]], files: Iterable[File], batch: ReadBatch
) -> AsyncIterator[AsyncIterator[T]]:
    """Iterates over what `read_one` returns for each file, in the order in which they are done. Leaving the block
    cancels the others. No file is begun before one of the results of as many others was taken.
    """
    numbered = enumerate(files)

    async def work(results: MemoryObjectSendStream[T]) -> None:
        async with results:
            for index, file in numbered:
                await results.send(await read_one(index, file))

    send, receive = anyio.create_memory_object_stream[T](0)
    with single_error():
        async with send, receive, anyio.create_task_group() as tasks:
            for _ in range(batch.concurrency):
                tasks.start_soon(work, send.clone())
            await send.aclose()
            try:
                yield receive
            finally:
                tasks.cancel_scope.cancel()


@contextmanager
def each(read_one: Callable[[int, File], T], files: Iterable[File], batch: ReadBatch) -> Iterator[Iterator[T]]:
    """As `each_awaited`, in threads. Leaving the block waits for the files that were begun."""
    with ThreadPoolExecutor(batch.concurrency, "inkgate-read") as pool:
        try:
            yield _results(pool, read_one, files, batch.concurrency)
        finally:
            batch.left.set()


def _results(
    pool: ThreadPoolExecutor, read_one: Callable[[int, File], T], files: Iterable[File], concurrency: int
) -> Iterator[T]:
    numbered = enumerate(files)
    begun: set[Future[T]] = set()
    while True:
        while len(begun) < concurrency and (one := next(numbered, None)) is not None:
            begun.add(pool.submit(read_one, *one))
        if not begun:
            return
        done = next(iter(wait(begun, return_when=FIRST_COMPLETED).done))
        begun.remove(done)
        yield done.result()
