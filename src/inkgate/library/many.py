"""Many documents at once: bounded, and one that fails doesn't end the others."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from inkgate.errors import InkgateError
from inkgate.library.originals import Source
from inkgate.library.results import DocumentOutcome

T = TypeVar("T")
CONCURRENCY = 4
"""Documents at once, unless told otherwise. Pages of one document are read at once anyway."""


class _Item(Generic[T]):
    """One document. `outcome`: None until it ended. `failure`: what ends the whole call."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.scope = anyio.CancelScope()
        self.outcome: DocumentOutcome[T] | None = None
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        return self.outcome is not None or self.failure is not None


class ManyDocuments(Generic[T]):
    """The documents of one call that are being read, or wait to be taken. Used from one event loop; its tasks belong to
    whoever opened the engine, so that leaving a loop over the outcomes early breaks no nesting of scopes.
    """

    def __init__(self, read: Callable[[Source], Awaitable[T]], tasks: TaskGroup, concurrency: int, order: bool) -> None:
        """`order`: outcomes in the order of their documents, else as they come."""
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be 1 or more.")
        self._read = read
        self._tasks = tasks
        self._concurrency = concurrency
        self._order = order
        self._items: deque[_Item[T]] = deque()
        self._changed = anyio.Event()
        self._closed: Exception | None = None

    @property
    def full(self) -> bool:
        return len(self._items) >= self._concurrency

    @property
    def empty(self) -> bool:
        return not self._items

    async def start(self, source: Source) -> None:
        """Begins to read a document. Does not wait. Raises RuntimeError if the engine was closed."""
        if self._closed is not None:
            raise self._closed
        item = _Item[T](source)
        self._items.append(item)
        self._tasks.start_soon(self._run, item)

    async def take(self) -> DocumentOutcome[T]:
        """The next outcome. Raises what is no fault of the document, such as RuntimeError if the engine was closed."""
        while True:
            ended = next((item for item in (list(self._items)[:1] if self._order else self._items) if item.ended), None)
            if ended is not None:
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

    async def _run(self, item: _Item[T]) -> None:
        try:
            with item.scope:
                item.outcome = DocumentOutcome(item.source, await self._read(item.source))
        except (InkgateError, OSError, ValueError) as error:  # of this document
            item.outcome = DocumentOutcome(item.source, error=error)
        except Exception as error:  # noqa: BLE001 - raised by `take`
            item.failure = error
        finally:
            self._changed.set()


def check_documents(documents: Iterable[Source]) -> None:
    """Raises TypeError for one document, whose letters or bytes would be taken for documents."""
    if isinstance(documents, str | bytes | bytearray):
        raise TypeError("Give a list of documents; `read` and `extract` take one.")


async def outcomes(many: ManyDocuments[T], sources: Iterable[Source]) -> AsyncGenerator[DocumentOutcome[T], None]:
    """The outcomes of all `sources`, which are taken from their iterable as there is room."""
    try:
        for source in sources:
            if many.full:
                yield await many.take()
            await many.start(source)
        while not many.empty:
            yield await many.take()
    finally:
        await many.cancel()
