"""Many documents at once: bounded, and one that fails doesn't end the others."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from inkgate_client.concurrency import Threads, single_error
from inkgate_client.types import ReadError

T = TypeVar("T")
SourceT = TypeVar("SourceT")

CONCURRENCY = 4
"""Documents at once, unless something else is given. Pages of one document are read at once anyway."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[SourceT, T]):
    """What became of one of many documents.

    Attributes:
        index: its place among the sources, from 0.
        source: as it was given.
        error: why it could not be read; None if it was.
    """

    index: int
    source: SourceT = field(repr=False)
    value: T | None = None
    error: ReadError | OSError | ValueError | None = None

    @property
    def result(self) -> T:
        """The document's value. Raises `error`, if there is one."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class _Item(Generic[SourceT, T]):
    """One document. `outcome`: None until it ended. `failure`: what ends the whole call."""

    def __init__(self, index: int, source: SourceT) -> None:
        self.index = index
        self.source = source
        self.scope = anyio.CancelScope()
        self.outcome: Outcome[SourceT, T] | None = None
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        return self.outcome is not None or self.failure is not None


class ManyDocuments(Generic[SourceT, T]):
    """The documents of one call that are being read, or wait to be taken. Used from one event loop; its tasks belong to
    `tasks`, so that leaving a loop over the outcomes early breaks no nesting of scopes.
    """

    def __init__(
        self, read: Callable[[SourceT], Awaitable[T]], tasks: TaskGroup, concurrency: int, *, in_order: bool
    ) -> None:
        """`in_order`: outcomes come in the order of their documents, else as soon as they are there. Raises ValueError
        if `concurrency` is less than 1.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1.")
        self._read = read
        self._tasks = tasks
        self._concurrency = concurrency
        self._in_order = in_order
        self._begun = 0
        self._items: deque[_Item[SourceT, T]] = deque()
        self._changed = anyio.Event()
        self._closed: Exception | None = None

    @property
    def full(self) -> bool:
        return len(self._items) >= self._concurrency

    @property
    def empty(self) -> bool:
        return not self._items

    async def start(self, source: SourceT) -> None:
        """Begins to read a document. Does not wait. Raises the error of `close`."""
        if self._closed is not None:
            raise self._closed
        item = _Item[SourceT, T](self._begun, source)
        self._begun += 1
        self._items.append(item)
        self._tasks.start_soon(self._run, item)

    async def take(self) -> Outcome[SourceT, T]:
        """The next outcome. Raises what is no fault of the document, such as the error of `close`."""
        while True:
            candidates = list(self._items)[:1] if self._in_order else self._items
            if (ended := next((item for item in candidates if item.ended), None)) is not None:
                self._items.remove(ended)
                if ended.outcome is None:
                    assert ended.failure is not None  # noqa: S101 - one of the two
                    raise ended.failure
                return ended.outcome
            if self._closed is not None:
                raise self._closed
            self._changed = anyio.Event()
            await self._changed.wait()

    async def cancel(self) -> None:
        """Cancels what is still being read. Does not wait."""
        for item in self._items:
            item.scope.cancel()

    def close(self, error: Exception) -> None:
        """Tells whoever waits that no task runs any more."""
        self._closed = error
        self._changed.set()

    async def _run(self, item: _Item[SourceT, T]) -> None:
        try:
            with item.scope:
                item.outcome = Outcome(item.index, item.source, await self._read(item.source))
        except (ReadError, OSError, ValueError) as error:  # of this document
            item.outcome = Outcome(item.index, item.source, error=error)
        except anyio.get_cancelled_exc_class() as error:
            if anyio.current_effective_deadline() == -math.inf:
                raise
            # Not by this call: the task group would end without an error, and without the other documents.
            item.failure = RuntimeError("Reading was cancelled from elsewhere.")
            item.failure.__cause__ = error
        except Exception as error:  # noqa: BLE001 - raised by `take`
            item.failure = error
        finally:
            self._changed.set()


def check_sources(sources: object) -> None:
    """Raises TypeError for one document, whose letters or bytes would be taken for documents."""
    if isinstance(sources, str | bytes | bytearray):
        raise TypeError("Give a list of documents; `read` and `extract` take one.")


def _until_failure(sources: Iterable[SourceT], failures: list[Exception]) -> Iterator[SourceT]:
    """The sources. If iterating raises, they end, and `failures` has the error."""
    try:
        for source in sources:  # noqa: UP028 - `yield from` would close a generator that its owner may go on with
            yield source
    except Exception as error:  # noqa: BLE001 - the caller raises it
        failures.append(error)


async def outcomes(
    many: ManyDocuments[SourceT, T], sources: Iterable[SourceT]
) -> AsyncGenerator[Outcome[SourceT, T], None]:
    """The outcomes of all `sources`, which are taken from their iterable as there is room. An error of the iterable is
    raised after the documents that were begun.
    """
    failures: list[Exception] = []
    try:
        for source in _until_failure(sources, failures):
            if many.full:
                yield await many.take()
            await many.start(source)
        while not many.empty:
            yield await many.take()
        for failure in failures:
            raise failure
    finally:
        await many.cancel()


@asynccontextmanager
async def read_many(
    read: Callable[[SourceT], Awaitable[T]], sources: Iterable[SourceT], concurrency: int, *, in_order: bool = True
) -> AsyncIterator[AsyncIterator[Outcome[SourceT, T]]]:
    """Reads many documents with `read`: iterate over what became of them. A document that fails has an `error` and does
    not end the others.

    No more than `concurrency` are read or wait to be taken; `sources` is iterated as there is room. Leaving the block
    cancels the others. See ManyDocuments.
    """
    check_sources(sources)
    async with (
        _many_documents(read, concurrency, in_order=in_order) as many,
        aclosing(outcomes(many, sources)) as found,
    ):
        yield found


@asynccontextmanager
async def _many_documents(
    read: Callable[[SourceT], Awaitable[T]], concurrency: int, *, in_order: bool
) -> AsyncIterator[ManyDocuments[SourceT, T]]:
    with single_error():
        async with anyio.create_task_group() as tasks:
            yield ManyDocuments(read, tasks, concurrency, in_order=in_order)
            tasks.cancel_scope.cancel()


def call(portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> T:
    """The result of `function` on the portal's event loop. An exception here, such as Ctrl-C, cancels it."""
    future = portal.start_task_soon(function)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def blocking_outcomes(
    many: ManyDocuments[SourceT, T],
    sources: Iterable[SourceT],
    portal: BlockingPortal,
    check: Callable[[], None] = lambda: None,
) -> Generator[Outcome[SourceT, T], None, None]:
    """Yields outcomes like `outcomes`, in a thread beside the event loop, which iterates over `sources`. `check` is
    called before the portal is used.
    """
    failures: list[Exception] = []
    for source in _until_failure(sources, failures):
        check()
        if many.full:
            yield call(portal, many.take)
            check()
        portal.call(many.start, source)
    while not many.empty:
        check()
        yield call(portal, many.take)
    for failure in failures:
        raise failure


@contextmanager
def read_many_blocking(
    read: Callable[[SourceT], T], sources: Iterable[SourceT], concurrency: int, *, in_order: bool = True
) -> Iterator[Iterator[Outcome[SourceT, T]]]:
    """Reads many documents like `read_many`, for blocking code. `read` runs in threads. Leaving the block waits for the
    documents that were begun.
    """
    check_sources(sources)
    with start_blocking_portal() as portal:
        threads = portal.call(Threads, "read_many", max(1, concurrency))

        async def read_in_thread(source: SourceT) -> T:
            return await threads.run(read, source)

        running = _many_documents(read_in_thread, concurrency, in_order=in_order)
        with (
            portal.wrap_async_context_manager(running) as many,
            closing(blocking_outcomes(many, sources, portal)) as found,
        ):
            yield found
