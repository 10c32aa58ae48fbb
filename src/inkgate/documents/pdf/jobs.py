"""What a worker is asked for: calls that somebody waits for, and the documents that they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO

import anyio

from inkgate.documents.pdf.wire import Call
from inkgate.errors import EngineFailed


class Source:
    """A document's bytes in shared memory, ready to be sent to workers: open until the last who holds it leaves.

    Used from one event loop. `on_close` is called once, when it has been closed.
    """

    def __init__(self, number: int, file: FileIO, size: int, digest: bytes, on_close: Callable[[], None]) -> None:
        self.number = number
        self.file = file
        self.size = size
        self.digest = digest
        self._on_close = on_close
        self._holders = 0

    @property
    def closed(self) -> bool:
        return self.file.closed

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keeps the document open inside, whoever else leaves it.

        Raises:
            EngineFailed: "engine_unavailable": it is closed.
        """
        if self.closed:
            raise closed()
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
    """A call that somebody waits for: `done` is set when either `value` or `error` is there."""

    source: Source
    call: Call
    bitmap: FileIO | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    value: dict[str, object] = field(default_factory=dict)
    error: Exception | None = None
    abandoned: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether a file that would be sent with the call is closed."""
        return self.source.closed or (self.bitmap is not None and self.bitmap.closed)

    def finish(self, value: dict[str, object]) -> None:
        self.value = value
        self.done.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done.set()


def stopped() -> EngineFailed:
    """For calls that come, or still wait, when the pool is closed."""
    return EngineFailed("engine_unavailable", "PDF documents are not read any more: the service is about to stop.")


def closed() -> EngineFailed:
    """For calls on a document that nobody holds open."""
    return EngineFailed("engine_unavailable", "The document was closed before this page was read.")
