"""Handles clients that leave: cancels the work of those that disconnect, also while they wait for admission, and frees
the slot of those that get the last bytes of their response.

A disconnect is detected only after the whole body is received. So the bodies of waiting requests are received early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from inkgate.service.gateway import Admitted
from inkgate.serving.outcomes import CallerLeft
from inkgate.serving.sending import SendingRoom
from inkgate_client.concurrency import single_error

_LAST_BYTES = 64 * 1024
"""Bytes at the end of a response sent when its slot is free. Servers write more without waiting for clients."""
_PIECE_BYTES = 64 * 1024
"""Bytes that a connection gets at once of content that is in memory: after as many, it waits for its client."""


def send_freeing_slot(admitted: Admitted, send: Send) -> Send:
    """A `send` that frees the slot just before the last bytes of the response go out. A client that has the whole
    response may send its next request at once, and that request must not find the slot taken.

    All other bytes must be sent by then: a client that does not read its response keeps its slot.
    """
    begun = False

    async def send_body(body: bytes | memoryview) -> None:
        nonlocal begun
        begun = True
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async def send_to_the_end(message: Message) -> None:
        body: bytes | memoryview = message.get("body", b"")
        if message["type"] != "http.response.body":
            await send(message)
        elif message.get("more_body", False):
            await send_body(body)
        else:
            if len(body) > _LAST_BYTES:
                body = memoryview(body)
                await send_body(body[:-_LAST_BYTES])
                body = body[-_LAST_BYTES:]
            if begun:
                await send_body(b"")  # returns when the client has taken what was sent before
            admitted.end()
            await send({"type": "http.response.body", "body": body})

    return send_to_the_end


class InPieces(Response):
    """Content that stays in memory anyway. It is sent in pieces, so that the connection of a client that reads slowly
    keeps a copy of one of them.
    """

    def __init__(self, content: bytes, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(media_type=media_type, headers=headers)
        self.headers["content-length"] = str(len(content))
        self._content = memoryview(content)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as in ASGI
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for at in range(0, len(self._content), _PIECE_BYTES):
            piece = self._content[at : at + _PIECE_BYTES]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class CountedContent(InPieces):
    """Content that is counted in the room for results until the client has taken it."""

    def __init__(
        self, room: SendingRoom, tenant: str, content: bytes, media_type: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(content, media_type, headers)
        self._room = room
        self._tenant = tenant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._room.sending(self._tenant) as permit:
            permit.grow(len(self._content))
            await super().__call__(scope, receive, send)


class LoadedContent(Response):
    """Bytes that are counted in the room for results before they are loaded, until the client has taken them."""

    def __init__(
        self,
        room: SendingRoom,
        tenant: str,
        load: Callable[[], Awaitable[bytes]],
        loaded_bytes: int,
        headers: Mapping[str, str],
    ) -> None:
        """`loaded_bytes`: what `load` needs memory for; 0 if they stay in memory anyway: then one piece is counted."""
        super().__init__()
        self._sent_headers = headers
        self._room = room
        self._tenant = tenant
        self._load = load
        self._loaded_bytes = loaded_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._room.sending(self._tenant) as permit:
            permit.grow(self._loaded_bytes or _PIECE_BYTES)
            content = InPieces(await self._load(), "application/octet-stream", self._sent_headers)
            await content(scope, receive, send)


@asynccontextmanager
async def cancelled_when_left(receive: Receive) -> AsyncIterator[None]:
    """Cancels the block if the client disconnects. Enter it after the whole body is received.

    Raises:
        CallerLeft: the client disconnected before the block was done.
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
    """Memory for bodies that are received early. A body without a reservation stays in socket buffers.

    Attributes:
        reserved: bytes in use.
    """

    def __init__(self, max_bytes: int) -> None:
        self.reserved = 0
        self._max_bytes = max_bytes
        self._waiting: dict[anyio.Event, int] = {}

    async def reserve(self, size: int) -> int:
        """Waits for memory. Returns the reserved bytes; give them back with `release`."""
        size = min(size, self._max_bytes)
        if self.reserved + size <= self._max_bytes:
            self.reserved += size
            return size
        reserved = anyio.Event()
        self._waiting[reserved] = size
        try:
            await reserved.wait()
        except BaseException:
            if self._waiting.pop(reserved, None) is None:
                self.release(size)
            raise
        return size

    def release(self, size: int) -> None:
        """Gives bytes back. Waiting bodies that fit get them, in order of arrival."""
        self.reserved -= size
        for reserved, waiting_size in tuple(self._waiting.items()):
            if self.reserved + waiting_size <= self._max_bytes:
                self.reserved += waiting_size
                del self._waiting[reserved]
                reserved.set()


class EarlyBody:
    """The body of one request, buffered while the request waits."""

    def __init__(self, bodies: EarlyBodies, receive: Receive, size: int) -> None:
        """`size`: maximum bytes."""
        self._bodies = bodies
        self._receive = receive
        self._size = size
        self._reserved: int | None = None
        self._buffered: deque[Message] = deque()
        self._buffered_bytes = 0

    async def receive(self) -> Message:
        """The buffered part, then the rest; as in ASGI."""
        return self._buffered.popleft() if self._buffered else await self._receive()

    @asynccontextmanager
    async def receive_early(self) -> AsyncIterator[None]:
        """Receives while the block runs, and cancels the block if the client disconnects.

        Raises:
            CallerLeft: the client disconnected before the block was done.
        """
        try:
            async with cancelled_when_left(self._receive_early):
                yield
        finally:
            if self._reserved is not None:
                self._bodies.release(self._reserved)
                self._reserved = None

    async def _receive_early(self) -> Message:
        if self._reserved is None:
            self._reserved = await self._bodies.reserve(self._size)
        if self._buffered_bytes > self._reserved:  # only reached by a body without a length, or a too large one
            await anyio.sleep_forever()
        message = await self._receive()
        self._buffered.append(message)
        self._buffered_bytes += len(message.get("body", b""))
        return message
