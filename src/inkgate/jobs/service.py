"""Adds jobs and looks after them: what HTTP, intake and the command line use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded, from_page_error
from inkgate.jobs.documents import JobDocuments
from inkgate.jobs.job import AddedJob, Job, JobSource, JobState, NewJob
from inkgate.jobs.shared_files import SharedFiles
from inkgate.jobs.store import JobStore
from inkgate.layout.whole_document import finished_pages
from inkgate.serving.threads import FairThreads
from inkgate.settings import JobSettings
from inkgate.storage.uploads import Uploads
from inkgate_client.concurrency import loop_time
from inkgate_client.types import Document, DocumentResult, PageError, PageResult

log = structlog.get_logger(__name__)

_DAY_S = 86_400.0
_PURGE_EVERY_S = 600.0
_SWEEP_EVERY_S = 3600.0
_UPLOAD_IN_USE_S = 3600.0
_PAGES_AT_ONCE = 200
_UPLOADS_AT_ONCE = 500


class JobService:
    """Jobs for those who add and watch them.

    Attributes:
        store: of the jobs.
        settings: of jobs.
        files: of `/v1/files`, if the database is one that gateways share.
    """

    def __init__(
        self,
        store: JobStore,
        uploads: Uploads,
        documents: JobDocuments,
        settings: JobSettings,
        files: SharedFiles | None = None,
    ) -> None:
        self.store = store
        self.files = files
        self.settings = settings
        self._uploads = uploads
        self._documents = documents
        self._finishing = FairThreads(1)
        self._swept_at = -math.inf
        self._added: list[Callable[[], None]] = []

    @property
    def uploads_missing(self) -> int:
        """Uploads and files so far that were not where this process keeps uploads."""
        return self._uploads.missing + (0 if self.files is None else self.files.missing)

    def call_when_added(self, wake: Callable[[], None]) -> None:
        """Calls `wake` after jobs were added, such as a worker of this process."""
        self._added.append(wake)

    async def submit(self, job: NewJob, data: bytes | None) -> AddedJob:
        """Adds a job for `data`, an upload, or for its source's URL. The upload is kept before the job is added.

        Raises:
            InputRejected: "source_forbidden", "key_reused".
            Overloaded: "jobs_full", "share_exceeded", "jobs_unavailable", "storage_full".
        """
        (added,) = await self.add([await self.keep(job, data)])
        return added

    async def keep(self, job: NewJob, data: bytes | None) -> NewJob:
        """The job, ready to be added: its upload `data` is kept, or its source's URL may be read.

        Raises:
            InputRejected: "source_forbidden".
            Overloaded: "jobs_full", "share_exceeded", "jobs_unavailable", "storage_full". Nothing is kept then.
        """
        if data is None:
            self._documents.check(job.source.url)
            return job
        await self.store.check_room(job.tenant, 1)
        return replace(job, source=JobSource(upload=await self._uploads.put(data)))

    async def add(self, jobs: Sequence[NewJob]) -> Sequence[AddedJob]:
        """Adds jobs that `keep` or intake has checked, in one transaction; see JobStore.add."""
        added = await self.store.add(jobs)
        self.wake()
        return added

    async def add_batch(self, jobs: Sequence[NewJob]) -> AddedJob:
        """Adds a batch whose jobs `keep` has checked; see JobStore.add_batch."""
        added = await self.store.add_batch(jobs)
        self.wake()
        return added

    def wake(self) -> None:
        """Lets the worker of this process look for jobs at once."""
        for wake in self._added:
            wake()

    async def document(self, job: Job) -> DocumentResult:
        """The document with all pages that were read, after the steps for whole documents.

        Raises:
            InputRejected: "job_not_ended", "job_expired", or the job's own error if no page was read.
        """
        if not job.state.ended:
            raise InputRejected("job_not_ended", f"The job is {job.state}.")
        if job.document is None:
            raise failure_of(job)
        pages: list[PageResult] = []
        while more := await self.store.pages(job.id, pages[-1].index if pages else -1, _PAGES_AT_ONCE, job.tenant):
            pages += more
        if pages and len(pages) < job.saved:  # some were removed meanwhile
            now = await self.store.get(job.id, None)
            if now.state.ended:
                raise InputRejected("job_expired", "The result is no longer kept.")
            raise InputRejected("job_not_ended", f"The job is {now.state}.")
        if not pages:
            raise InputRejected("job_expired", "The result is no longer kept.") if job.saved else failure_of(job)
        known = job.document
        finished = await self._finishing.run(Caller(job.tenant, flow=job.id), len(pages), finished_pages, pages)
        return DocumentResult(
            job.name, known.mime_type, known.byte_count, known.page_count, known.engine, finished, known.notes
        )

    async def load(self, job: Job) -> Document:
        """The job's document as it was sent.

        Raises:
            InputRejected, EngineFailed: as JobDocuments.load; "job_expired": it was uploaded, and is no longer kept.
        """
        if job.expired and job.source.upload:
            raise InputRejected("job_expired", "The upload is no longer kept.")
        return await self._documents.load(job)

    async def remove(self, job_id: str, tenant: str | None) -> None:
        """Removes an ended job and its pages; its upload goes with the next purge. Raises InputRejected as
        JobStore.remove does.
        """
        await self.store.remove(job_id, tenant)

    async def purge(self, after_s: float | None = None) -> int:
        """Removes results and uploads of jobs that ended `after_s` ago, by default `jobs.retention_days`. Returns how
        many jobs lost their pages.

        Jobs themselves are kept as long again, so that a client learns that a result is gone, and a repeated event is
        still a duplicate.
        """
        retention_s = self.settings.retention_days * _DAY_S
        count = await self.store.expire(self.store.clock() - (retention_s if after_s is None else after_s))
        await self.store.forget(self.store.clock() - 2 * retention_s)
        if self.files is not None:
            await self.files.expire()
        if loop_time() - self._swept_at >= _SWEEP_EVERY_S:
            await self._sweep_uploads()
            self._swept_at = loop_time()
        return count

    async def keep_purged(self) -> None:
        """Purges now and then, until it is cancelled."""
        while True:
            try:
                if count := await self.purge():
                    log.info("jobs_purged", jobs=count)
            except (
                Overloaded,
                EngineFailed,
            ) as error:  # the database or the uploads are unavailable; the next time will do
                log.warning("jobs_not_purged", error=error.code)
            await anyio.sleep(_PURGE_EVERY_S)

    async def _sweep_uploads(self) -> None:
        """Deletes uploads that no job needs, also those whose job was never added, or whose deletion failed before."""
        # One that is younger may belong to a job that is being added just now.
        before = self.store.clock() - _UPLOAD_IN_USE_S
        if self.files is not None:
            await self.files.sweep(before)
        batch: list[str] = []
        async for sha256 in self._uploads.older(before):
            batch.append(sha256)
            if len(batch) >= _UPLOADS_AT_ONCE:
                await self._delete_uploads(await self.store.unneeded(batch))
                batch.clear()
        await self._delete_uploads(await self.store.unneeded(batch))

    async def _delete_uploads(self, unused: Iterable[str]) -> None:
        for sha256 in unused:
            await self._uploads.delete_older(sha256, self.store.clock() - _UPLOAD_IN_USE_S)


def failure_of(job: Job) -> InkgateError:
    """The error of an ended job without any result."""
    if job.failure is not None:
        return from_page_error(PageError(job.failure.code, job.failure.detail, ""))
    if job.state is JobState.CANCELLED:
        return InputRejected("job_cancelled", "The job was cancelled before a page was read.")
    return EngineFailed("internal", "The job has neither a result nor an error.")
