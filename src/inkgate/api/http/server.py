"""Runs uvicorn with a graceful shutdown.

On SIGTERM or SIGHUP the socket stays open until all requests in flight are finished. New requests meanwhile get the
error "draining". A socket of systemd is left to it at once: new connections wait there for the next process.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socket import socket
from types import FrameType

import anyio
import structlog
import uvicorn
from fastapi import FastAPI

from inkgate.api.http.connections import Connections, default_connections
from inkgate.api.http.context import Context
from inkgate.api.http.drain import Drain
from inkgate.api.http.protocol import TimeLimits, http_protocol
from inkgate.operating_system import STOP_SIGNALS
from inkgate.settings import ServerSettings, Settings
from inkgate.systemd import NO_MANAGER, ServiceManager
from inkgate.telemetry.observer import NO_OBSERVER, Observer

log = structlog.get_logger(__name__)

_KEEP_ALIVE_S = 30
_CLOSE_S = 2
"""Time for idle connections to close after the last response."""
_GIVE_UP_S = 2
"""Time for cancelled work to end: threads can't be cancelled, only waited for."""


async def serve(
    app: FastAPI,
    settings: Settings,
    listener: socket | None = None,
    on_ready: Callable[[str], None] | None = None,
    manager: ServiceManager = NO_MANAGER,
) -> None:
    """Serves `app` until SIGTERM, SIGINT or SIGHUP, on the bound socket `listener`, that of `manager`, or the settings'
    address.

    `on_ready`: called with the URL, with the real port, once requests are accepted.
    `manager`: is notified of start and stop.

    The first signal drains: requests in flight have `server.drain_s` seconds. The second stops at once.

    Raises:
        SystemExit: can't listen on the address.
    """
    context = app.state.context
    if not isinstance(context, Context):
        raise TypeError("`app` was not made by create_app")
    config = uvicorn.Config(
        app,
        host=settings.server.host,
        port=settings.server.port,
        loop="none",
        http=bounded_http(settings.server, context.service.observer),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # origins.py handles them
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_CLOSE_S,
    )
    server = DrainingServer(config, context.drain, settings.server.drain_s, on_ready, manager)
    listener = listener or manager.listener
    await server.serve(None if listener is None else [listener])


def bounded_http(settings: ServerSettings, observer: Observer = NO_OBSERVER) -> type[asyncio.Protocol]:
    """Uvicorn's protocol with the settings' limits on heads, sending and connections, of one server."""
    limits = TimeLimits(settings.head_timeout_s, settings.send_timeout_s, settings.min_send_kb_s * 1000)
    return http_protocol(limits, Connections(settings.max_connections or default_connections()), observer)


class DrainingServer(uvicorn.Server):
    """A server that drains before it stops accepting."""

    def __init__(
        self,
        config: uvicorn.Config,
        drain: Drain,
        drain_s: float,
        on_ready: Callable[[str], None] | None = None,
        manager: ServiceManager = NO_MANAGER,
    ) -> None:
        super().__init__(config)
        self._drain = drain
        self._drain_s = drain_s
        self._drained_by = float("inf")
        self._given_up = False
        self._on_ready = on_ready
        self._manager = manager

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        log.info("ready", url=url)
        self._manager.ready(f"Serving on {url}")
        if self._on_ready is not None:
            self._on_ready(url)

    async def on_tick(self, counter: int) -> bool:
        if self._drain.draining and not self.should_exit:
            self._go_on_draining()
        return await super().on_tick(counter)

    def _go_on_draining(self) -> None:
        now = anyio.current_time()
        if self._drained_by == float("inf"):
            self._drained_by = now + self._drain_s
            log.info("draining", in_flight=self._drain.in_flight, max_wait_s=self._drain_s)
            self._manager.stopping(self._drain_s)
            if self._manager.listener is not None:
                self._leave_connections_to_manager()
        if not self._drain.in_flight and not self._has_unsent_bytes():
            self.should_exit = True
        elif now >= self._drained_by and not self._given_up:
            log.warning("drain_time_over", in_flight=self._drain.in_flight)
            self._drain.give_up()
            self._given_up = True
            self._drained_by = now  # the requests get their error, however late this is
        elif now >= self._drained_by + _GIVE_UP_S:
            self.config.timeout_graceful_shutdown = 0
            self.should_exit = True

    def _has_unsent_bytes(self) -> bool:
        """Whether a client has not taken its response yet. Closing would cut it off after a short while."""
        return any(connection.transport.get_write_buffer_size() for connection in self.server_state.connections)

    def _leave_connections_to_manager(self) -> None:
        """Accepts no more connections: they wait in the manager's socket. Closes those without a request, so that
        their clients connect again; the others close after their response.
        """
        for server in self.servers:
            server.close()
        for connection in tuple(self.server_state.connections):
            connection.shutdown()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a handler
        """The first signal drains, the second stops at once."""
        if self._drain.draining:
            self.config.timeout_graceful_shutdown = 0
            self.should_exit = True
        self._drain.begin()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Restores the handlers at the end.

        uvicorn's own version raises the signal again, which would kill the process before the service has stopped
        its worker processes.
        """
        # nohup sets SIGHUP to be ignored, for a service that outlives its terminal.
        kept = {number for number in STOP_SIGNALS[2:] if signal.getsignal(number) is signal.SIG_IGN}
        numbers = [number for number in STOP_SIGNALS if number not in kept]
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
