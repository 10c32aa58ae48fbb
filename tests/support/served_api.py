"""The API in process on a real socket, for tests of its start and stop, and of raw bytes."""

from __future__ import annotations

import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import httpx

from inkgate.api.http.server import serve
from inkgate.model_servers.upstream import Upstream
from inkgate.systemd import NO_MANAGER, ServiceManager
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from support.api_client import Api, running_api
from support.fake_engine import FakeEngine

WAIT_S = 60


@dataclass
class Served:
    api: Api
    client: httpx.AsyncClient
    url: str
    stopped: anyio.Event = field(default_factory=anyio.Event)
    connections: list[anyio.abc.SocketStream] = field(default_factory=list)

    async def connect(self) -> anyio.abc.SocketStream:
        """A raw connection. Closed at the end if it is still open."""
        url = httpx.URL(self.url)
        assert url.port is not None
        self.connections.append(await anyio.connect_tcp(url.host, url.port))
        return self.connections[-1]

    async def until_ended(self, count: int = 1) -> None:
        """Waits until `count` permits were returned to the limiter."""
        with anyio.fail_after(WAIT_S):
            while self.api.limiter.ended.total() < count:  # noqa: ASYNC110 - the limiter has no event to wait for
                await anyio.sleep(0.01)


@asynccontextmanager
async def served(
    engine: FakeEngine | None = None,
    limits: dict[str, object] | None = None,
    listener: socket.socket | None = None,
    upstream: Upstream | None = None,
    manager: ServiceManager = NO_MANAGER,
    *,
    observer: Observer = NO_OBSERVER,
    branches: Mapping[str, Any] | None = None,
    **server: object,
) -> AsyncIterator[Served]:
    """The API with these settings of the branches `limits`, `server` and others; stopped at the end if it still runs.

    `listener`: a bound socket to serve on. `upstream`: handles chat completions. `manager`: what started it.
    `observer`: gets events.
    """
    settings: dict[str, object] = {"port": 0, "drain_s": 5, **server}
    async with running_api(
        engine, upstream=upstream, observer=observer, server=settings, limits=limits or {}, **branches or {}
    ) as api:
        urls: list[str] = []
        ready = anyio.Event()

        def on_ready(url: str) -> None:
            urls.append(url)
            ready.set()

        async with anyio.create_task_group() as tasks:
            stopped = anyio.Event()

            async def run() -> None:
                await serve(api.app, api.context.settings, listener, on_ready=on_ready, manager=manager)
                stopped.set()

            tasks.start_soon(run)
            with anyio.fail_after(WAIT_S):
                await ready.wait()
            connections: list[anyio.abc.SocketStream] = []
            try:
                async with httpx.AsyncClient(base_url=urls[0], trust_env=False, timeout=WAIT_S) as client:
                    yield Served(api, client, urls[0], stopped, connections)
            finally:
                for connection in connections:  # an answer that a failed test left on it keeps uvloop from closing
                    await anyio.aclose_forcefully(connection)
                if not stopped.is_set():
                    signal.raise_signal(signal.SIGTERM)
                    signal.raise_signal(signal.SIGTERM)
                with anyio.fail_after(WAIT_S):
                    await stopped.wait()


async def received(connection: anyio.abc.SocketStream) -> bytes:
    """All data until the other side closes."""
    pieces = []
    with anyio.fail_after(WAIT_S):
        try:
            while True:
                pieces.append(await connection.receive(65536))
        except anyio.EndOfStream:
            return b"".join(pieces)
        except anyio.BrokenResourceError:  # a reset closes it, too
            return b"".join(pieces)
