"""Serves /metrics on a separate port, in the service's event loop."""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import structlog
import uvicorn
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http.connections import Connections
from inkgate.api.http.protocol import TimeLimits, http_protocol
from inkgate.settings import USUAL_METRICS_PORT, MetricsSettings
from inkgate.supervision import BackgroundTask, Supervisor

log = structlog.get_logger(__name__)

_PATH = "/metrics"
_CLOSE_S = 1
_TIME_LIMITS = TimeLimits(head_s=10.0, send_s=30.0, min_bytes_per_s=8000.0)
_CONNECTIONS = 64


def registry_of(collectors: Iterable[Collector]) -> CollectorRegistry:
    """A registry of these collectors and of the library's own (`process_*`, `python_*`)."""
    registry = CollectorRegistry(auto_describe=False)
    for collector in (ProcessCollector(registry=None), PlatformCollector(registry=None), *collectors):
        registry.register(collector)
    GCCollector(registry)
    return registry


def exposed(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """All current metrics and their content type: OpenMetrics with exemplars if `accept` includes it, else Prometheus'
    text format.
    """
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class MetricsApp:
    """An ASGI application that answers `GET /metrics`, and nothing else."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["path"] != _PATH:
            return PlainTextResponse(f"Metrics are at {_PATH}.\n", 404)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse(f"Request {_PATH} with GET.\n", 405, {"Allow": "GET, HEAD"})
        body, content_type = exposed(self._registry, Headers(scope=scope).get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})


class _Server(uvicorn.Server):
    """A second server; the first one handles the signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.servers = []  # uvicorn sets it after start

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_metrics(
    settings: MetricsSettings, collectors: Iterable[Collector], api_port: int = 0, supervisor: Supervisor | None = None
) -> AsyncIterator[str | None]:
    """Serves the metrics within the block. Yields the URL; None if the settings turn it off or the default port is in
    use, which must not stop the service. `api_port`: in use by the API. `supervisor`: restarts the server if it fails.

    Raises:
        OSError: can't listen on the address, for any reason except that the default port is in use.
    """
    listener = _listener(settings, api_port) if settings.enabled else None
    if listener is None:
        yield None
        return
    app = MetricsApp(registry_of(collectors))
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}{_PATH}" if ":" in host else f"http://{host}:{port}{_PATH}"
    with listener:
        async with anyio.create_task_group() as tasks:
            running = _Running(app, listener)
            tasks.start_soon((supervisor or Supervisor()).keep, BackgroundTask("metrics_server", running.run))
            log.info("metrics_served", url=url)
            try:
                yield url
            finally:
                await running.stop()
                tasks.cancel_scope.cancel()


class _Running:
    """A server of `app` on `listener`, which stays open: each run uses its own descriptor."""

    def __init__(self, app: MetricsApp, listener: socket.socket) -> None:
        self._app = app
        self._listener = listener
        self._server: _Server | None = None
        self._ended = anyio.Event()

    async def run(self) -> None:
        """Serves until `stop`."""
        server = self._server = _Server(_config(self._app))
        self._ended = anyio.Event()
        with self._listener.dup() as listener:
            try:
                await server.serve([listener])
            finally:
                for listening in server.servers:  # still open if it failed or was cancelled
                    listening.close()
                self._server = None
                self._ended.set()

    async def stop(self) -> None:
        """Stops the server if it runs, and returns when its connections are closed."""
        if self._server is not None:
            self._server.should_exit = True
            await self._ended.wait()


def _config(app: MetricsApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        http=http_protocol(_TIME_LIMITS, Connections(_CONNECTIONS)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_S,
    )


def _listener(settings: MetricsSettings, api_port: int) -> socket.socket | None:
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if settings.port and settings.port == api_port:
            raise OSError(errno.EADDRINUSE, "The API listens there")
        return socket.create_server((host, settings.port), family=family)
    except OSError as error:
        if settings.port != USUAL_METRICS_PORT or error.errno != errno.EADDRINUSE:
            raise
        remedy = "Set metrics.port to a free one, or 0."
        log.warning("metrics_not_served", reason=error.strerror, port=settings.port, remedy=remedy)
        return None
