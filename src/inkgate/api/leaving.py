"""Clients that leave: their work is cancelled, and while they wait for room, too.

That a client left is known when its whole body was received. So those of requests that wait are received early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from starlette.types import Message, Receive

from inkgate.concurrency import single_error
from inkgate.serving.limiter import CallerLeft

_LOOKS_S = 0.25
"""Between two tries to find room for a body."""


@asynccontextmanager
async def cancelled_when_left(receive: Receive) -> AsyncIterator[None]:
    """Cancels the block when the client goes away. Enter it when the whole body has been received.

    Raises:
        CallerLeft: that happened before the block was done.
    """
    done = False
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_left, receive, tasks.cancel_scope)
            yield
            done = True
            tasks.cancel_scope.cancel()
    if not done:
        raise CallerLeft


async def _cancel_when_left(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class EarlyBodies:
    """Memory for bodies that are received early. A body that finds no room stays with the system and its client.

    Attributes:
        reserved: bytes of it in use.
    """

    def __init__(self, most: int) -> None:
        self.reserved = 0
        self._most = most

    async def reserve(self, size: int) -> int:
        """Waits for room, and gives the bytes that may be received; to be given back to `release`."""
        size = min(size, self._most)
        while self.reserved + size > self._most:  # noqa: ASYNC110 - that of every body that leaves, for any that waits
            await anyio.sleep(_LOOKS_S)
        self.reserved += size
        return size

    def release(self, size: int) -> None:
        self.reserved -= size


class EarlyBody:
    """The body of one request: what comes while the request waits is kept for whoever receives it later."""

    def __init__(self, bodies: EarlyBodies, receive: Receive, size: int) -> None:
        """`size`: bytes of it, at most."""
        self._bodies = bodies
        self._receive = receive
        self._size = size
        self._room: int | None = None
        self._kept: deque[Message] = deque()
        self._kept_bytes = 0

    async def receive(self) -> Message:
        """What came early, then the rest; as in ASGI."""
        return self._kept.popleft() if self._kept else await self._receive()

    @asynccontextmanager
    async def receiving_early(self) -> AsyncIterator[None]:
        """Receives while the block runs, and cancels the block when the client goes away.

        Raises:
            CallerLeft: that happened before the block was done.
        """
        try:
            async with cancelled_when_left(self._receive_early):
                yield
        finally:
            if self._room is not None:
                self._bodies.release(self._room)
                self._room = None

    async def _receive_early(self) -> Message:
        if self._room is None:
            self._room = await self._bodies.reserve(self._size)
        if self._kept_bytes > self._room:  # only a body without a length, or one that is too large, gets here
            await anyio.sleep_forever()
        message = await self._receive()
        self._kept.append(message)
        self._kept_bytes += len(message.get("body", b""))
        return message
