"""A receiver of webhooks that can behave badly: a real HTTP server on loopback, on the test's event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream

Script = Callable[["WebhookRequest"], bytes | str]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer(status: int, *headers: str) -> bytes:
    """An answer without a body."""
    return "\r\n".join([f"HTTP/1.1 {status} X", "Content-Length: 0", *headers, "", ""]).encode()


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """What was received: the headers' names are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


def always_ok(_: WebhookRequest) -> bytes:
    return OK


@dataclass(slots=True)
class Receiver:
    """Answers each request with what `script` says: bytes; or `hang`, `close`, `drip` (an endless body, a byte at a
    time), `pour` (an endless body, as fast as it goes) or `heads` (an endless head).
    """

    script: Script = always_ok
    requests: list[WebhookRequest] = field(default_factory=list)
    connections: int = 0
    poured: int = 0
    url: str = ""

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while (request := await _request(stream)) is not None:
                    self.requests.append(request)
                    if not await self._behave(stream, self.script(request)):
                        return
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                return

    async def _behave(self, stream: SocketStream, how: bytes | str) -> bool:
        """Returns whether the connection goes on."""
        if isinstance(how, bytes):
            await stream.send(how)
            return True
        if how == "hang":
            await anyio.sleep_forever()
        elif how == "drip":
            await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                await stream.send(b"1\r\nx\r\n")
                await anyio.sleep(0.02)
        elif how == "pour":
            await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                await stream.send(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                self.poured += 4096
        elif how == "heads":
            await stream.send(b"HTTP/1.1 200 OK\r\n")
            while True:
                await stream.send(b"X: y\r\n")
                await anyio.sleep(0.02)
        return False


async def _request(stream: SocketStream) -> WebhookRequest | None:
    """None: the connection was closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            data += await stream.receive()
        except anyio.EndOfStream:
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += await stream.receive()
    return WebhookRequest(first.split()[1], headers, body)


@asynccontextmanager
async def running_receiver(script: Script = always_ok) -> AsyncIterator[Receiver]:
    """A receiver at `url`, for as long as the block."""
    receiver = Receiver(script)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - nothing of Django's
        receiver.url = f"http://127.0.0.1:{port}/hook"
        group.start_soon(listener.serve, receiver.serve)
        try:
            yield receiver
        finally:
            group.cancel_scope.cancel()
