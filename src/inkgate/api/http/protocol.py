"""HTTP/1.1 connections: uvicorn's protocol with limits on heads, waiting and sending, and errors as problem documents.

A middleware sees a request only when its head is complete, and has no access to the connection. uvicorn 0.54 itself, as
tests/integration/test_http_connections.py and the measurements below show:

- takes a head of any size, for any time. httptools joins the pieces of a header's value, at quadratic cost: a header of
  16 MB blocks the event loop for 1.5 s.
- has no limit on connections that sacrifices idle ones: `limit_concurrency` refuses requests, so 8,000 connections that
  send nothing would keep all others out.
- waits for a client that does not read its response until the client leaves.
- loses the body of a request that offers an upgrade, as Java's HttpClient sends by default.
- answers invalid HTTP in plain text and closes at once, so that clients that still send get a reset and no answer.
- does not cancel the first of two pipelined requests if the client leaves.

h11, uvicorn's other parser, bounds heads and keeps the bodies, but takes 3 times httptools' CPU time for an empty
request and 7 times for a body of 1 MB, and has the other faults as well.

Of uvicorn's HttpToolsProtocol and RequestResponseCycle, this module uses documented methods of asyncio.Protocol, the
callbacks of httptools and attributes without an underscore. tests/unit/test_uvicorn_protocol.py lists them.
"""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import httptools
import orjson
import structlog
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from inkgate.api.http.connections import Connections
from inkgate.api.http.errors import PROBLEM_TYPE, Problem
from inkgate.api.http.observability import REQUEST_ID_HEADER
from inkgate.errors import InkgateError, InputRejected, Overloaded
from inkgate.operating_system import unsent_bytes
from inkgate.telemetry.observer import NO_OBSERVER, Observer

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
_MAX_AHEAD = 3
"""How many times what a client must read is counted in advance if it reads more. Its system acknowledges in jumps: with
a large receive buffer, nothing for seconds while the client reads from it.
"""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of a connection.

    Attributes:
        head_s: for receiving a request's head, from connecting or from its first byte.
        send_s: for a client that reads a response more slowly than the minimum rate.
        min_bytes_per_s: that rate; a slower client keeps the response in memory.
    """

    head_s: float
    send_s: float
    min_bytes_per_s: float


def http_protocol(
    time_limits: TimeLimits, connections: Connections, observer: Observer = NO_OBSERVER
) -> type[asyncio.Protocol]:
    """The protocol factory for uvicorn: one protocol per connection, all counted in `connections`.

    `observer` gets slow readers.
    """
    return partial(BoundedHttp, time_limits=time_limits, connections=connections, observer=observer)  # type: ignore[return-value]  # is called only


class BoundedHttp(HttpToolsProtocol):
    """One connection.

    Received bytes are counted until a head is complete or a body begins. Trailers are parsed and ignored, because
    access was checked with the head.
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
        observer: Observer,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._time_limits = time_limits
        self._observer = observer
        self._table = connections
        self._running: RequestResponseCycle | None = None
        self._awaits_continue = False
        self._in_head = True
        self._head_bytes = 0
        self._moved_on = False
        self._head_too_large = False
        self._refused = False
        self._lingered = 0
        self._unsent = 0
        self._waits_since = 0.0
        self._waited_s = 0.0
        self._taken = 0.0
        self._head_timer: TimerHandle | None = None
        self._send_timer: TimerHandle | None = None
        self._linger_timer: TimerHandle | None = None

    # -- connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if self._table.enter(transport):
            self._await_head()
            return
        limit = self._table.max_open
        self._refuse(
            Overloaded("service_full", f"All {limit} connections that are allowed are open.", self._table.return_s())
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.leave(self.transport)
        for timer in (self._head_timer, self._send_timer, self._linger_timer, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()
        # uvicorn marks only the last request; with pipelining, an earlier one may be in progress.
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)

    # -- receiving

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._discard(len(data))
            return
        self._end_keep_alive()
        error = self._feed(data)
        if error is not None:
            self._refuse(error)
        elif self._head_bytes and self._in_head and not self._is_busy():
            self._await_head()

    def _feed(self, data: bytes) -> InputRejected | None:
        """Parses `data`. Returns the error that ends the connection, if any."""
        self._moved_on = False
        try:
            self._parse(data)  # whole: parsing the head apart would cost a millisecond for each MB of bodies
        except httptools.HttpParserError:
            if not self._head_too_large:
                return InputRejected("http_invalid", "The bytes received are not HTTP/1.1.")
        self._head_bytes = 0 if self._moved_on else self._head_bytes + len(data)
        if self._head_bytes <= MAX_HEAD_BYTES and not self._head_too_large:
            return None
        size = f"{MAX_HEAD_BYTES // 1024} KB"
        detail = f"The limit is {MAX_HEADERS} headers and {size} in all, including the request line."
        return InputRejected("head_too_large", detail)

    def _parse(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                log.debug("upgrade_ignored")  # and the request is handled as any other
                data = data[offer.args[0] :]
                if self._offers_upgrade():
                    head = self._head_without_upgrade()
                    self.parser = httptools.HttpRequestParser(self)  # the old one ignores all after `Connection: close`
                    self.parser.feed_data(head)
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        method, version = self.parser.get_method(), self.parser.get_http_version()
        lines = [b"%b %b HTTP/%b\r\n" % (method, self.url, version.encode())]
        lines += [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"".join([*lines, b"\r\n"])

    def _offers_upgrade(self) -> bool:
        """Whether the head that was parsed last offers an upgrade. httptools takes all that follows it for another
        protocol, also a body, so it gets the head a second time, without the offer.
        """
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return
        if len(self.headers) >= MAX_HEADERS:
            self._head_too_large = True
            raise ValueError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._offers_upgrade():
            return
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._head_too_large = True
            raise ValueError("too long headers")
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise ValueError("too many requests before the first answer")
        is_first = not self._is_busy()
        super().on_headers_complete()
        if is_first:
            self._running = self.cycle
        # A client that waits for `100 Continue` may send the body or not once it has a response: what follows could be
        # either that or its next request.
        self._awaits_continue = self.expect_100_continue and self.cycle.keep_alive
        if self._awaits_continue:
            self.cycle.keep_alive = False
        self._moved_on = True
        self._in_head = False
        self._table.work(self.transport)
        self._end_head_timer()

    def on_body(self, body: bytes) -> None:
        self._moved_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._moved_on = True
        self._in_head = True
        if self._awaits_continue and not self.cycle.response_started:
            self.cycle.keep_alive = True
        super().on_message_complete()

    def shutdown(self) -> None:
        self._awaits_continue = False
        super().shutdown()

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
        self._table.work(self.transport)
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
            self._close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._linger_timer = self.loop.call_later(_LINGER_S, self.transport.abort)

    def _discard(self, size: int) -> None:
        self._lingered += size
        if self._lingered > _LINGER_BYTES:
            self.transport.abort()

    # -- responses

    def pause_writing(self) -> None:
        super().pause_writing()
        self._time_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._send_timer is not None and not self.transport.is_closing():
            self._send_timer.cancel()
            self._count_taken()

    def _close(self) -> None:
        """Closes when the written bytes are sent, or when the client reads them too slowly."""
        self.transport.close()
        self._time_sending()

    def _time_sending(self) -> None:
        """Times the client while it takes less than was written.

        The time until the buffer has room again adds up over the connection: a response in pieces fills the buffer
        again and again, and a slow client would start again with each piece. Nothing is counted while there is room,
        so a stream that has nothing to send makes no client slow.
        """
        if self._send_timer is None:
            self._unsent = self._bytes_not_taken()
            self._waits_since = self.loop.time()
            left_s = max(self._time_limits.send_s - self._waited_s, 0.0)
            self._send_timer = self.loop.call_later(left_s, self._cut_off_if_slow)

    def _count_taken(self) -> None:
        self._send_timer = None
        self._waited_s += self.loop.time() - self._waits_since
        self._taken += self._unsent - self._bytes_not_taken()

    def _cut_off_if_slow(self) -> None:
        self._count_taken()
        taken, waited_s = self._taken, self._waited_s
        needed = self._time_limits.min_bytes_per_s * waited_s
        self._taken, self._waited_s = min(taken - needed, _MAX_AHEAD * needed), 0.0
        if taken >= needed:
            self._time_sending()
            return
        client = self.client[0] if self.client else None
        unsent = self._bytes_not_taken()
        log.info(
            "client_reads_too_little", taken_bytes=round(taken), unsent_bytes=unsent, client=client, seconds=waited_s
        )
        self._observer.slow_reader()
        self.transport.abort()

    def _bytes_not_taken(self) -> int:
        """Written bytes that are still in the transport's buffer or unacknowledged in the system's."""
        connection = self.transport.get_extra_info("socket")
        return self.transport.get_write_buffer_size() + unsent_bytes(connection.fileno())

    def on_response_complete(self) -> None:
        following = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if self.transport.is_closing():
            self._time_sending()
        elif following is not None:
            self._running = following
        else:
            self._table.wait(self.transport)
            if self._head_bytes or not self._in_head:  # the next head has begun, or the rest of a body is not needed
                self._end_keep_alive()
                self._await_head()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _end_keep_alive(self) -> None:
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()


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
