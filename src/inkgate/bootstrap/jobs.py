"""Builds the jobs of the service: their store, worker, intake and sinks, and runs them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from inkgate.errors import InputRejected
from inkgate.extraction.finder import FieldFinder
from inkgate.jobs.documents import JobDocuments
from inkgate.jobs.files import JobFiles
from inkgate.jobs.finding import JobFieldFinder
from inkgate.jobs.intake.arrivals import Intake
from inkgate.jobs.intake.brokers import intake_tasks
from inkgate.jobs.machine import jobs_folder
from inkgate.jobs.reviewing import JobReviews
from inkgate.jobs.service import JobService
from inkgate.jobs.shared_files import SharedFiles
from inkgate.jobs.sinks.build import build_sinks
from inkgate.jobs.sinks.relay import Relay, RelayLoads, RelaySettings
from inkgate.jobs.store import JobStore, Sharing
from inkgate.jobs.store.database import database_url
from inkgate.jobs.watch import JobParts, JobsWatch
from inkgate.jobs.worker import Worker
from inkgate.service.gateway import Gateway
from inkgate.serving.threads import FairThreads
from inkgate.settings import Settings
from inkgate.storage.fetch import Fetcher
from inkgate.storage.objects import Objects, file_url
from inkgate.storage.uploads import Uploads
from inkgate.supervision import BackgroundTask, Supervisor


@dataclass(frozen=True, slots=True)
class RunningJobs:
    """Jobs of a running service.

    Attributes:
        service: adds and shows jobs.
        intake: adds them for events.
        worker: runs them; None: other processes do.
        watch: the state of them.
    """

    service: JobService
    intake: Intake
    worker: Worker | None
    watch: JobsWatch


@dataclass(frozen=True, slots=True)
class JobSurroundings:
    """What reads the documents of jobs, and what finds fields in them."""

    gateway: Gateway
    fields: FieldFinder


def job_service(settings: Settings) -> tuple[JobService, JobDocuments, Objects]:
    """The service of jobs, whose store does not run yet, and what it is made of."""
    configured = settings.jobs
    folder = jobs_folder(settings)
    store = JobStore(
        database_url(configured.database.get_secret_value(), folder),
        lambda: datetime.now(UTC).timestamp(),
        configured.lease_s,
        configured.max_queued_pages,
        Sharing(configured.tenant_share, configured.slice_pages, settings.serving.scheduling.weights),
    )
    try:
        objects = Objects(settings.storage)
    except ValueError as error:
        raise InputRejected("feature_unavailable", f"`storage.options`: {error}") from error
    uploads_url = configured.uploads or file_url(folder / "uploads")
    uploads = Uploads(objects, uploads_url)
    files: SharedFiles | None = None
    if configured.database.get_secret_value():
        max_files_bytes = int(configured.max_files_mb * 1_000_000)
        files = SharedFiles(store.database, store.clock, objects, uploads_url, max_files_bytes)
    max_bytes = int(settings.limits.max_body_mb * 1_000_000)
    sources = {name: pipeline.sources for name, pipeline in settings.pipelines.items()}
    fetcher = Fetcher(settings.fetch, max_bytes)
    documents = JobDocuments(objects, uploads, fetcher, configured.sources, max_bytes, sources)
    return JobService(store, uploads, documents, configured, files), documents, objects


@asynccontextmanager
async def running_jobs(
    settings: Settings, parts: JobSurroundings, supervisor: Supervisor, *, work: bool
) -> AsyncIterator[RunningJobs]:
    """Jobs, running until the block is left. `work`: this process runs them and delivers their results.

    Raises:
        InputRejected: "feature_unavailable": packages for a broker of `intake` or `sinks` are missing.
    """
    service, documents, objects = job_service(settings)
    intake = Intake(service, settings.pipelines)
    tasks = [BackgroundTask("jobs_purge", service.keep_purged), *intake_tasks(settings.intake, intake)]
    worker: Worker | None = None
    relay: Relay | None = None
    if work:
        worker = Worker(
            service.store,
            parts.gateway,
            documents,
            settings.jobs,
            settings.pipelines,
            settings.limits.page_window,
            fields=JobFieldFinder(service.store, parts.fields),
        )
        service.call_when_added(worker.wake)
        files = JobFiles(service, parts.gateway)
        sinks = build_sinks(settings, objects, service.store.clock, files.make)
        reviews = JobReviews(service.store, parts.fields.types, FairThreads(1))
        relay = Relay(
            service.store,
            sinks,
            service.document,
            RelaySettings(poll_s=settings.jobs.poll_s),
            also=RelayLoads(reviews.published, service.load),
        )
        tasks += [BackgroundTask("jobs_worker", worker.run), BackgroundTask("jobs_relay", relay.run)]
    watch = JobsWatch(service.store, settings, JobParts(worker, relay, intake, service))
    tasks.append(BackgroundTask("jobs_watch", watch.run))
    async with service.store.running(), relay or nullcontext(), supervisor.running(tasks):
        yield RunningJobs(service, intake, worker, watch)
