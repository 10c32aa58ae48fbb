"""A worker of jobs with a real store, a real reader, and an engine whose faults the tests choose."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
from PIL import Image

from inkgate.caller import Caller
from inkgate.documents.open import Opener
from inkgate.extraction.finder import FieldFinder
from inkgate.fields.document_types import DocumentTypes
from inkgate.jobs.finding import JobFieldFinder
from inkgate.jobs.job import Job, JobSource, JobState, NewJob
from inkgate.jobs.store import JobStore, Sharing
from inkgate.jobs.store.database import database_url
from inkgate.jobs.worker import Worker
from inkgate.page import Page
from inkgate.service.page import NO_SERVER
from inkgate.service.reader import Reader
from inkgate.settings import FieldsSettings, JobSettings, LimitSettings, PdfSettings, PipelineSettings
from inkgate_client.types import Document, PageResult, Task
from support.gateways import gateway_to

SETTINGS = JobSettings(lease_s=0.6, poll_s=0.02, save_every=4, at_once=4, slice_pages=8)
WINDOW = 2


def tiff(pages: int) -> bytes:
    """A document of so many small pages."""
    frames = [Image.new("L", (32, 32), 255 - n % 200) for n in range(pages)]
    data = io.BytesIO()
    frames[0].save(data, "tiff", save_all=True, append_images=frames[1:])
    return data.getvalue()


async def until(true: Callable[[], bool]) -> None:
    """Waits for what nothing tells of."""
    with anyio.fail_after(30):
        while not true():  # noqa: ASYNC110 - other tasks change it
            await anyio.sleep(0.01)


@dataclass
class CountingEngine:
    """Counts reads by document and page; `act` may do anything before a page is read.

    `rest` is put behind the text of each page. `others`: who reads a page instead, by its index.
    """

    name: str = "counting"
    act: Callable[[str, int], object] = lambda *_: None
    rest: str = ""
    others: Mapping[int, str] = field(default_factory=dict)
    reads: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.reads[caller.flow, page.index] += 1
        acted = self.act(caller.flow, page.index)
        if acted is not None:
            await acted  # type: ignore[misc]
        await anyio.lowlevel.checkpoint()
        text, other = f"page {page.index}{self.rest}", self.others.get(page.index)
        if other is not None:
            return PageResult(index=page.index, text=text, engine=other, degraded=(NO_SERVER,))
        return PageResult(index=page.index, text=text, engine=self.name)

    def pages_of(self, job_id: str) -> Counter[int]:
        return Counter({page: count for (flow, page), count in self.reads.items() if flow == job_id})


class Documents:
    """Documents by the upload's name; what it raises is the test's."""

    def __init__(self) -> None:
        self.by_upload: dict[str, bytes | Exception] = {}

    async def load(self, job: Job) -> Document:
        found = self.by_upload[job.source.upload]
        if isinstance(found, Exception):
            raise found
        return Document(found, job.name)


@dataclass
class Plant:
    """A store and a worker of it, which runs inside `working`."""

    store: JobStore
    engine: CountingEngine
    documents: Documents
    reader: Reader
    folder: Path
    settings: JobSettings = SETTINGS
    pipelines: dict[str, PipelineSettings] = field(default_factory=dict)
    max_in_flight: int = 100

    def worker(self) -> Worker:
        gateway = gateway_to(self.reader, self.max_in_flight)
        fields = JobFieldFinder(self.store, FieldFinder(DocumentTypes.load(), FieldsSettings()))
        return Worker(self.store, gateway, self.documents, self.settings, self.pipelines, WINDOW, fields=fields)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Worker]:
        worker = self.worker()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            yield worker
            tasks.cancel_scope.cancel()

    async def add(self, pages: int | bytes | Exception, **fields: object) -> str:
        upload = f"{len(self.documents.by_upload):064x}"
        self.documents.by_upload[upload] = tiff(pages) if isinstance(pages, int) else pages
        new = replace(NewJob("a", JobSource(upload=upload)), **fields)  # type: ignore[arg-type]
        return (await self.store.add([new]))[0].id

    async def state(self, job_id: str, *wanted: JobState) -> Job:
        """The job, once it has ended or has one of these states."""
        with anyio.fail_after(30):
            while True:
                job = await self.store.get(job_id, None)
                if job.state in wanted or (not wanted and job.state.ended):
                    return job
                await anyio.sleep(0.01)

    async def saved(self, job_id: str) -> list[int]:
        return [page.index for page in await self.store.pages(job_id, limit=10_000)]


@asynccontextmanager
async def job_plant(folder: Path) -> AsyncIterator[Plant]:
    """A Plant whose store is SQLite in `folder`."""
    clock = lambda: datetime.now(UTC).timestamp()  # noqa: E731
    sharing = Sharing(slice_pages=SETTINGS.slice_pages)
    store = JobStore(database_url("", folder), clock, SETTINGS.lease_s, SETTINGS.max_queued_pages, sharing)
    engine, limits = CountingEngine(), LimitSettings(page_window=WINDOW, max_pages=5)
    async with store.running(), Opener(limits, PdfSettings(warm_workers=0)) as opener:
        yield Plant(store, engine, Documents(), Reader(opener, engine, limits), folder)
