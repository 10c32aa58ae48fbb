"""The composition root: the only package that creates concrete classes, starts them and stops them, in order.

`stack` builds the parts, `jobs` what reads documents later, `state` reads them for State.
"""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from inkgate.bootstrap.stack import ServiceParts, build_parts
from inkgate.bootstrap.state import StateReader
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine, started
from inkgate.errors import EngineFailed
from inkgate.extraction.finder import FieldFinder, field_finder
from inkgate.model_servers.upstream import Upstream
from inkgate.operating_system import HAS_WORKERS, STOP_SIGNALS
from inkgate.runtimes.memory import MemoryReturn, freeze_gc
from inkgate.service.gateway import Gateway
from inkgate.service.reader import Reader
from inkgate.service.readiness import Readiness
from inkgate.service.starting import StartsLater
from inkgate.settings import Settings
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.systemd import NO_MANAGER, ServiceManager
from inkgate.telemetry.metrics import Metrics
from inkgate.telemetry.observer import Observer
from inkgate.telemetry.state_collector import StateCollector
from inkgate.telemetry.tracing import tracer_of
from inkgate_client.concurrency import single_error

if TYPE_CHECKING:
    from inkgate.bootstrap.jobs import JobSurroundings
    from inkgate.jobs.intake.arrivals import Intake
    from inkgate.jobs.service import JobService

__all__ = ["Service", "ServiceParts", "build_parts", "running", "serve", "work"]


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that an entry point (HTTP, command line, evaluation) needs."""

    settings: Settings
    gateway: Gateway
    engine: Engine
    upstream: Upstream | None
    metrics: Metrics
    observer: Observer
    observatory: StateReader
    supervisor: Supervisor
    readiness: Readiness
    fields: FieldFinder
    jobs: JobService | None = None
    intake: Intake | None = None
    later: StartsLater | None = None


@asynccontextmanager
async def running(
    settings: Settings, supervisor: Supervisor | None = None, *, listens_first: bool = False
) -> AsyncIterator[Service]:
    """A started service: entering loads the models, leaving frees everything. `supervisor` runs its background tasks.
    `listens_first`: it starts without its model server, if that takes long.

    Raises:
        InputRejected: `engine.name` names no engine, or the engine lacks a setting.
        EngineFailed: the engine did not start, the layout model is unusable, or this system can't run workers.
    """
    if not HAS_WORKERS:
        raise EngineFailed("system_not_supported", f"This is {platform.system()}; inkgate reads on Linux and macOS.")
    parts = build_parts(settings, supervisor, listens_first=listens_first)
    fields = field_finder(settings)
    memory = MemoryReturn()
    opener = Opener(settings.limits, settings.pdf, parts.supervisor, settings.serving.scheduling)
    observatory = StateReader(parts.state_objects, settings, parts.metrics, opener)
    observatory.add_reasons(parts.readiness.known_reasons)
    own = (BackgroundTask("memory_return", memory.run), BackgroundTask("history", observatory.run))
    with single_error():
        async with fields.running(), opener, parts.supervisor.running((*own, *parts.background)), started(parts.engine):
            parts.readiness.engine_started()
            reader = Reader(opener, parts.engine, settings.limits, memory.work_ended, parts.observer)
            yield Service(
                settings,
                Gateway(reader, parts.limiter, parts.observer),
                parts.engine,
                parts.upstream,
                metrics=parts.metrics,
                observer=parts.observer,
                observatory=observatory,
                supervisor=parts.supervisor,
                readiness=parts.readiness,
                fields=fields,
                later=parts.later,
            )


def _job_surroundings(service: Service) -> JobSurroundings:
    from inkgate.bootstrap.jobs import JobSurroundings

    return JobSurroundings(service.gateway, service.fields)


@asynccontextmanager
async def _with_jobs(service: Service) -> AsyncIterator[Service]:
    """The service with jobs, if the settings enable them."""
    settings = service.settings
    if not settings.jobs.enabled:
        yield service
        return
    # Imported here, so that what has no jobs, such as a program that reads a file, doesn't load a database toolkit.
    from inkgate.bootstrap.jobs import running_jobs

    async with running_jobs(settings, _job_surroundings(service), service.supervisor, work=settings.jobs.work) as jobs:
        service.observatory.watch_jobs(jobs.watch.state)
        yield replace(service, jobs=jobs.service, intake=jobs.intake)


async def work(
    settings: Settings, on_ready: Callable[[], None] | None = None, manager: ServiceManager = NO_MANAGER
) -> None:
    """Runs jobs without HTTP, beside other processes that share their store, until a signal ends it; the jobs that it
    runs then go back to the queue, with the pages that were read. `manager` is notified of start and stop.

    Raises:
        TracingUnavailable: tracing is configured, but its packages are not installed.
        EngineFailed: the engine did not start.
    """
    from inkgate.api.http import metrics_server
    from inkgate.bootstrap.jobs import running_jobs

    with tracer_of(settings.tracing), single_error():
        async with running(settings) as service:
            jobs = running_jobs(settings, _job_surroundings(service), service.supervisor, work=True)
            collectors = (service.metrics, StateCollector(service.observatory.measured))
            freeze_gc()
            with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
                async with (
                    metrics_server.serve_metrics(settings.metrics, collectors, supervisor=service.supervisor),
                    jobs as of_jobs,
                ):
                    service.observatory.watch_jobs(of_jobs.watch.state)
                    if on_ready is not None:
                        on_ready()
                    async with service.supervisor.running([BackgroundTask("watchdog", manager.run_watchdog)]):
                        manager.ready("Running jobs")
                        async for _ in signals:
                            break
                        manager.stopping(settings.server.drain_s)


async def serve(
    settings: Settings, on_ready: Callable[[str], None] | None = None, manager: ServiceManager = NO_MANAGER
) -> None:
    """Serves HTTP until a signal ends it. `on_ready` is called with the URL once requests are accepted.
    `manager` is notified of start and stop; its socket, if it has one, is used instead of the settings' address.

    The service listens only after the engine has started, so that every connection can be served. It waits for a model
    server only `engine.vllm.listen_after_s`.

    Raises:
        TracingUnavailable: tracing is configured, but its packages are not installed.
        EngineFailed: the engine did not start, or will never.
        SystemExit: the service can't listen on the address.
    """
    # Imported here, so that reading files from the command line doesn't load a web framework.
    from inkgate.api import app
    from inkgate.api.http import metrics_server, server
    from inkgate.api.website import UI_PATH
    from inkgate.ui.site import PageSite

    with tracer_of(settings.tracing) as tracer, single_error():
        async with (
            running(settings, listens_first=True) as service,
            _with_jobs(service) as service,
        ):
            page = PageSite(settings.server.root_path + UI_PATH) if settings.ui.enabled else None
            application = app.create_app(service, settings, page=page, tracer=tracer)
            service.readiness.ask()
            freeze_gc()
            collectors = (service.metrics, StateCollector(service.observatory.measured))
            async with (
                metrics_server.serve_metrics(settings.metrics, collectors, settings.server.port, service.supervisor),
                service.supervisor.running([BackgroundTask("watchdog", manager.run_watchdog)]),
                anyio.create_task_group() as tasks,
            ):
                if service.later is not None:
                    tasks.start_soon(service.later.until_failed)
                await server.serve(application, settings, on_ready=on_ready, manager=manager)
                tasks.cancel_scope.cancel()
