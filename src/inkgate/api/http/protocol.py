"""HTTP/1.1 connections: uvicorn's protocol with limits on request heads, waiting and sending, with errors as problem
documents, and with responses for half-closed clients.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from asyncio.events import TimerHandle
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import httptools
import orjson
import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from inkgate.api.http.connections import Connections
from inkgate.api.http.errors import PROBLEM_TYPE, Problem
from inkgate.api.http.observability import REQUEST_ID_HEADER
from inkgate.errors import InkgateError, InputRejected, Overloaded

log = structlog.get_logger(__name__)

MAX_HEAD_BYTES = 64 * 1024
"""Maximum bytes of request line and headers together, and of a chunked body's trailers."""
MAX_HEADERS = 200
"""Maximum headers of a request. In memory, each takes a hundred bytes more than on the wire."""
_MAX_PIPELINED = 16
_LINGER_S = 2.0
_LINGER_BYTES = 1_000_000
"""How many seconds and bytes are read and discarded after a refused head, so that the client can read the response:
closing a connection with unread data resets it and loses the response."""
_LEAST_RATE = 1000
"""Minimum bytes per second at which a client must read a response; a slower one blocks a slot."""
_FULL_RETRY_S = 1.0
_FIRST_LOOK_S = 0.05
_LOOK_EVERY_S = 1.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
_TCP_CLOSED = 7
"""TCP_CLOSE in Linux's net/tcp_states.h."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of a connection.

    Attributes:
        head_s: for receiving a request's head, from connecting or from its first byte.
        send_s: for a client that reads a response more slowly than the minimum rate.
    """

    head_s: float
    send_s: float


def http_protocol(time_limits: TimeLimits, connections: Connections) -> type[asyncio.Protocol]:
    """The protocol factory for uvicorn: one protocol per connection, all counted in `connections`."""
    return partial(BoundedHttp, time_limits=time_limits, connections=connections)  # type: ignore[return-value]  # is called only


class BoundedHttp(HttpToolsProtocol):
    """One connection.

    *Heads.* httptools joins the pieces of a header's value, at quadratic cost. So received bytes are counted until a
    head is complete or a body begins. Trailers are parsed and ignored, because access was checked with the head.

    *Sending.* A request is in flight until the system has taken the last byte of its response. If the client reads
    hardly anything for `send_s`, the connection is closed.

    *Half-closed clients.* A client that has sent its request may close its sending half and wait (`nc -N`). A client
    that disconnected looks the same, so inkgate sends a `100 Continue`, which a disconnected client's system answers
    with a reset. That works only before the response begins, with HTTP/1.1, and on Linux, which reports the reset.
    Otherwise a client that closes its sending half counts as disconnected, and its work is cancelled.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        time_limits: TimeLimits,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._time_limits = time_limits
        self._table = connections
        self._running: RequestResponseCycle | None = None
        self._in_head = True
        self._head_bytes = 0
        self._moved_on = False
        self._too_many_headers = False
        self._skipped_body = b""
        self._refused = False
        self._lingered = 0
        self._half_closed = False
        self._lost = False
        self._unsent = 0
        self._head_timer: TimerHandle | None = None
        self._send_timer: TimerHandle | None = None
        self._last_timer: TimerHandle | None = None

    # -- connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if self._table.enter(self):
            self._await_head()
            return
        most = self._table.most
        self._refuse(Overloaded("service_full", f"All {most} connections that are allowed are open.", _FULL_RETRY_S))

    def give_way(self) -> None:
        """See Closable."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._table.leave(self)
        for timer in (self._head_timer, self._send_timer, self._last_timer):
            if timer is not None:
                timer.cancel()
        self._unset_keepalive_if_required()
        # uvicorn marks only the last request; with pipelining, an earlier one may be in progress.
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)

    # -- receiving

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._throw_away(len(data))
            return
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        while rest:
            piece = rest[: MAX_HEAD_BYTES + 1 - self._head_bytes] if self._in_head else rest
            rest = rest[len(piece) :]
            error = self._feed(piece)
            if error is not None:
                self._refuse(error)
                return
        if self._head_bytes and self._in_head and not self._is_busy():
            self._await_head()

    def _feed(self, piece: memoryview) -> InputRejected | None:
        """Parses `piece`. Returns the error that ends the connection, if any."""
        self._moved_on = False
        try:
            self._parse(piece)
        except httptools.HttpParserError:
            if not self._too_many_headers:
                return InputRejected("http_invalid", "The bytes received are not HTTP/1.1.")
        self._head_bytes = 0 if self._moved_on else self._head_bytes + len(piece)
        if self._head_bytes <= MAX_HEAD_BYTES and not self._too_many_headers:
            return None
        size = f"{MAX_HEAD_BYTES // 1024} KB"
        detail = f"The limit is {MAX_HEADERS} headers and {size} in all, including the request line."
        return InputRejected("head_too_large", detail)

    def _parse(self, piece: memoryview) -> None:
        while piece:
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                log.debug("upgrade_ignored")  # and the request is handled as any other
                if self._skipped_body:
                    self._parse_body_after_upgrade()
                piece = piece[upgrade.args[0] :]
            else:
                return

    def _parse_body_after_upgrade(self) -> None:
        """Start to parse the body of a request with `Upgrade`, as Java's HttpClient sends. httptools takes it for
        another protocol. A new parser gets a head with the same framing, whose callbacks do nothing, and then the body.
        """
        head = b"POST / HTTP/1.1\r\n" + self._skipped_body + b"\r\n"
        self._skipped_body = b""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(head)

    def on_message_begin(self) -> None:
        if self._in_head:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._in_head:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return
        if len(self.headers) >= MAX_HEADERS:
            self._too_many_headers = True
            raise ValueError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._in_head:
            return
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise ValueError("too many requests before the first answer")
        super().on_headers_complete()
        self._moved_on = True
        self._in_head = False
        self._table.work(self)
        self._end_head_timer()
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._skipped_body = _framing(self.headers)

    def on_body(self, body: bytes) -> None:
        self._moved_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._skipped_body:
            return
        self._moved_on = True
        self._in_head = True
        super().on_message_complete()

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._time_limits.head_s, self._head_is_late)

    def _end_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._head_bytes:
            self.transport.close()
            return
        detail = f"The request line and headers did not arrive within {self._time_limits.head_s:g} seconds."
        self._refuse(InputRejected("head_timeout", detail))

    def _is_busy(self) -> bool:
        """Whether a request is in progress."""
        return self._running is not None and not self._running.response_complete

    # -- refusals before a request is complete

    def _refuse(self, error: InkgateError) -> None:
        """Responds with `error` and closes. A request in progress is finished first, and is the last."""
        self._refused = True
        self._end_head_timer()
        self._table.work(self)
        running = self._running
        if running is not None and not running.response_complete:
            if running.response_started or running is not self.cycle or not running.more_body:
                running.keep_alive = False
                self.pipeline.clear()
                return
            # The invalid bytes are in the body of the request in progress.
            running.disconnected = True
            running.message_event.set()
        problem = Problem.of(error, uuid4().hex)
        client = self.client[0] if self.client else None
        # At the limit, an info line per connection would help an attack.
        write = log.debug if isinstance(error, Overloaded) else log.info
        write("request_refused", code=problem.code, status=problem.status, client=client, request_id=problem.request_id)
        self.transport.write(_rendered(problem, self.server_state.default_headers))
        if isinstance(error, Overloaded):
            self._close_in_time()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._last_timer = self.loop.call_later(_LINGER_S, self.transport.abort)

    def _throw_away(self, size: int) -> None:
        self._lingered += size
        if self._lingered > _LINGER_BYTES:
            self.transport.abort()

    def _close_in_time(self) -> None:
        """Closes when the written bytes are sent or the time limit expires."""
        self.transport.close()
        self._last_timer = self.loop.call_later(self._time_limits.send_s, self.transport.abort)

    # -- responses

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]  # as uvicorn
        self._running = cycle
        super()._start_asgi_task(cycle, partial(self._answer, cycle, app))

    async def _answer(
        self, cycle: RequestResponseCycle, app: ASGIApp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Runs `app`; for it, a response ends only when all bytes are sent."""

        async def send_all(message: Message) -> None:
            if cycle.waiting_for_100_continue:
                cycle.keep_alive = False  # the next bytes could be the body or the next request
            await send(message)
            if cycle.response_complete:
                await self._until_sent()

        async def receive_until_sent() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                await self._until_sent()
            return message

        await app(scope, receive_until_sent, send_all)

    async def _until_sent(self) -> None:
        """Returns when the system has taken all written bytes, or the connection is lost."""
        if not self._is_unsent():
            return
        await asyncio.sleep(0)  # uvloop writes at the end of its loop iteration
        if self._is_unsent():
            self.transport.set_write_buffer_limits(high=0)
            await self.flow.drain()
            if not self._lost:
                self.transport.set_write_buffer_limits()

    def _is_unsent(self) -> bool:
        return not self._lost and self.transport.get_write_buffer_size() > 0

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._send_timer is None:
            self._time_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _time_sending(self) -> None:
        self._unsent = self._bytes_not_taken()
        self._send_timer = self.loop.call_later(self._time_limits.send_s, self._cut_off_unless_sent)

    def _cut_off_unless_sent(self) -> None:
        self._send_timer = None
        if self._unsent - self._bytes_not_taken() >= _LEAST_RATE * self._time_limits.send_s:
            self._time_sending()
            return
        client = self.client[0] if self.client else None
        log.info("client_reads_too_little", unsent_bytes=self._unsent, client=client, seconds=self._time_limits.send_s)
        self.transport.abort()

    def _bytes_not_taken(self) -> int:
        """Written bytes that are still in the transport's buffer or unacknowledged in the system's."""
        connection = self.transport.get_extra_info("socket")
        try:
            in_system = struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
        except OSError:
            in_system = 0
        return self.transport.get_write_buffer_size() + int(in_system)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self._is_busy():
            return
        if self._half_closed:
            self.transport.close()
            return
        self._table.wait(self)
        if self._head_bytes or not self._in_head:  # the next head has begun, or the rest of a body is not needed
            self._unset_keepalive_if_required()
            self._await_head()

    # -- half-closed clients

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn always closes
        """Returns whether the connection stays open: see the class."""
        if self._half_closed:
            return True
        running = self._running
        if running is None or running.response_started or self.cycle.more_body or self._refused:
            return False
        if _TCP_INFO is None or running.scope["http_version"] != "1.1":
            return False
        self._half_closed = True
        self._ask(_FIRST_LOOK_S)
        return True

    def _ask(self, look_after_s: float) -> None:
        self.transport.write(_CONTINUE)
        self._last_timer = self.loop.call_later(look_after_s, self._look)

    def _look(self) -> None:
        if self._was_reset():
            self.transport.abort()
        elif self._running is not None and not self._running.response_started:
            self._ask(_LOOK_EVERY_S)

    def _was_reset(self) -> bool:
        connection = self.transport.get_extra_info("socket")
        if connection is None or _TCP_INFO is None:
            return False
        return bool(connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] == _TCP_CLOSED)


def _framing(headers: list[tuple[bytes, bytes]]) -> bytes:
    """The header lines that say where the body ends, or nothing if there is no body. llhttp has checked them."""
    lines = [(name, value) for name, value in headers if name in {b"content-length", b"transfer-encoding"}]
    if all(name == b"content-length" and int(value) == 0 for name, value in lines):
        return b""
    return b"".join(b"%b: %b\r\n" % line for line in lines)


def _rendered(problem: Problem, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    body = orjson.dumps(problem.as_dict())
    headers = {
        "content-type": PROBLEM_TYPE,
        "content-length": str(len(body)),
        "connection": "close",
        REQUEST_ID_HEADER: problem.request_id,
        **problem.headers,
    }
    lines = [STATUS_LINE[problem.status]]
    lines += [b"%s: %s\r\n" % pair for pair in default_headers]
    lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in headers.items()]
    return b"".join([*lines, b"\r\n", body])
