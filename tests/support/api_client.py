"""The API in process, with the real Reader and Opener and a fake engine."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import httpx
import structlog
from anyio.abc import TaskGroup
from fastapi import FastAPI
from PIL import Image
from starlette.types import ASGIApp

from inkgate.api.app import create_app
from inkgate.api.http.context import Context
from inkgate.bootstrap.jobs import JobSurroundings, running_jobs
from inkgate.documents.open import Opener
from inkgate.extraction.finder import FieldFinder, field_finder
from inkgate.jobs.intake.arrivals import Intake
from inkgate.jobs.service import JobService
from inkgate.model_servers.upstream import Upstream
from inkgate.service.gateway import Gateway
from inkgate.service.reader import Reader
from inkgate.service.readiness import EngineProgress, Readiness, blank_page_probe
from inkgate.settings import Settings, load_settings
from inkgate.storage.fetch import Fetcher
from inkgate.supervision import Supervisor
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate_client.concurrency import single_error
from support.fake_engine import FakeEngine
from support.fake_observatory import FakeObservatory
from support.fixed_limiter import FixedLimiter

Message = MutableMapping[str, Any]


@dataclass(frozen=True)
class FakeService:
    settings: Settings
    gateway: Gateway
    engine: FakeEngine
    upstream: Upstream | None
    readiness: Readiness
    observer: Observer
    fields: FieldFinder
    observatory: FakeObservatory = field(default_factory=FakeObservatory)
    supervisor: Supervisor = field(default_factory=Supervisor)
    jobs: JobService | None = None
    intake: Intake | None = None


@dataclass(frozen=True)
class Api:
    """An app, the parts behind it, and a client of it."""

    app: FastAPI
    client: httpx.AsyncClient
    engine: FakeEngine
    limiter: FixedLimiter
    context: Context
    opener: Opener
    logs: list[MutableMapping[str, Any]]
    """Every log entry, with its context."""


@asynccontextmanager
async def _background() -> AsyncIterator[TaskGroup]:
    """Background tasks that end with the block; their exceptions are raised unwrapped."""
    with single_error():
        async with anyio.create_task_group() as tasks:
            yield tasks
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def running_api(
    engine: FakeEngine | None = None,
    fetcher: Fetcher | None = None,
    upstream: Upstream | None = None,
    vllm: dict[str, object] | None = None,
    observer: Observer = NO_OBSERVER,
    page: ASGIApp | None = None,
    **flags: dict[str, object],
) -> AsyncIterator[Api]:
    """The API with the settings in `flags`; `vllm` are those of `engine.vllm`. `observer` gets events; `page` is served
    below /ui. Jobs run only if the settings of `jobs` are given, which need a `folder`.
    """
    pdf = {"warm_workers": 0, **flags.pop("pdf", {})}  # each costs a process, and few tests read a PDF
    named = {"name": "vllm"} if vllm and "preset" in vllm else {}
    settings = load_settings(None, **flags, pdf=pdf, engine={**named, "vllm": vllm or {}})
    engine = engine or FakeEngine()
    limiter = FixedLimiter(settings.limits.max_in_flight, waiting_mb=settings.serving.admission.waiting_mb)
    with_context = [structlog.contextvars.merge_contextvars]
    with structlog.testing.capture_logs(processors=with_context) as logs:
        async with (
            Opener(settings.limits, settings.pdf) as opener,
            _background() as background,
        ):
            readiness = Readiness(engine.name, EngineProgress(), blank_page_probe(engine), list, settings.limits.time_s)
            background.start_soon(readiness.run)
            readiness.engine_started()
            reader = Reader(opener, engine, settings.limits, observer=observer)
            gateway = Gateway(reader, limiter, observer)
            service = FakeService(settings, gateway, engine, upstream, readiness, observer, field_finder(settings))
            service.observatory.add_reasons(readiness.known_reasons)
            async with _with_jobs(service, wanted="jobs" in flags) as service:
                app = create_app(service, settings, fetcher, page)
                transport = httpx.ASGITransport(app, client=("203.0.113.9", 1234))
                async with (
                    app.router.lifespan_context(app),
                    httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost") as client,
                ):
                    yield Api(app, client, engine, limiter, app.state.context, opener, logs)


@asynccontextmanager
async def _with_jobs(service: FakeService, *, wanted: bool) -> AsyncIterator[FakeService]:
    if not wanted:
        yield service
        return
    settings = service.settings
    surroundings = JobSurroundings(service.gateway, service.fields)
    async with running_jobs(settings, surroundings, service.supervisor, work=settings.jobs.work) as jobs:
        yield replace(service, jobs=jobs.service)


def add_intake(api: Api, intake: Intake) -> None:
    """Makes the API take events."""
    service = api.context.service
    assert isinstance(service, FakeService)
    api.app.state.context = replace(api.context, service=replace(service, intake=intake))


@dataclass
class RawCall:
    """One request as ASGI messages, for what a client library can't do: disconnect, or send in parts."""

    app: Callable[..., Awaitable[None]]
    headers: dict[str, str]
    chunks: list[bytes]
    path: str = "/ocr"
    query: str = ""
    method: str = "POST"
    left: anyio.Event = field(default_factory=anyio.Event)
    sent: list[Message] = field(default_factory=list)
    received: int = 0
    ends: bool = True

    async def run(self) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": self.query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in self.headers.items()],
            "client": ("203.0.113.9", 1234),
            "server": ("inkgate.localhost", 80),
        }
        await self.app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if self.received < len(self.chunks):
            self.received += 1
            more = self.received < len(self.chunks) or not self.ends
            return {"type": "http.request", "body": self.chunks[self.received - 1], "more_body": more}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int | None:
        return next((message["status"] for message in self.sent if message["type"] == "http.response.start"), None)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def png(width: int = 200, height: int = 130) -> bytes:
    return _saved(Image.new("RGB", (width, height), "white"), "PNG")


def tiff(pages: int) -> bytes:
    """A document of several pages that needs no PDF worker."""
    images = [Image.new("L", (200, 130), 255) for _ in range(pages)]
    return _saved(images[0], "TIFF", save_all=True, append_images=images[1:])


def pdf(pages: int) -> bytes:
    images = [Image.new("L", (200, 130), 255) for _ in range(pages)]
    return _saved(images[0], "PDF", save_all=True, append_images=images[1:])


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
