"""Objects, one at a time, between a load test and its processes that send."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

import anyio


class Channel:
    """One end of a pair of sockets, whose descriptor it owns. Objects are pickled: both ends are our own.

    Sending and the rest of an object that has begun to arrive block the event loop: both take microseconds, because
    the other end reads and writes at once.
    """

    def __init__(self, descriptor: int) -> None:
        self._connection = Connection(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def send(self, told: object) -> None:
        """Raises OSError: the other end is gone."""
        self._blocking()
        self._connection.send(told)

    async def readable(self) -> None:
        """Returns once something has come, or the other end is gone."""
        await anyio.wait_readable(self._connection)

    async def receive(self) -> Any:  # noqa: ANN401 - whatever the other end has sent
        """The next object. Raises EOFError, OSError: the other end is gone."""
        await self.readable()
        self._blocking()
        return self._connection.recv()

    def _blocking(self) -> None:
        """A descriptor that uvloop has waited for blocks no more, and half an object would be an error then."""
        os.set_blocking(self._connection.fileno(), True)
