"""The store of jobs, in SQLite or PostgreSQL. A saved page is the checkpoint of its job."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import ColumnElement, Connection
from sqlalchemy.engine import URL

from inkgate.caller import Caller
from inkgate.errors import Overloaded
from inkgate.jobs.job import (
    ALL_JOBS,
    AddedJob,
    Job,
    JobCounts,
    JobDocument,
    JobFilter,
    JobForecast,
    JobState,
    NewJob,
)
from inkgate.jobs.store import deliveries, fields, lines, queue, turns, views
from inkgate.jobs.store.database import Clock, Database, Recent
from inkgate.jobs.store.deliveries import DeliveryLane, Due, StoredDelivery
from inkgate.jobs.store.fields import FieldCorrection, FoundFields, StoredFields
from inkgate.jobs.store.queue import Claim, JobEnd, LeaseLost, Progress, Release
from inkgate.jobs.store.records import JobIds, job_of, pack, unpack
from inkgate.jobs.store.turns import NextJob, Sharing
from inkgate.serving.threads import FairThreads
from inkgate_client.types import PageResult

__all__ = [
    "Claim",
    "DeliveryLane",
    "Due",
    "FieldCorrection",
    "FoundFields",
    "JobEnd",
    "JobStore",
    "LeaseLost",
    "NextJob",
    "Progress",
    "Release",
    "Sharing",
    "StoredDelivery",
    "StoredFields",
]

_FULL_RETRY_S = 30.0
_PURGED_AT_ONCE = 200


class JobStore:
    """Jobs, their pages, and deliveries. Several processes may share one database. Used from one event loop.

    Every method raises Overloaded("jobs_unavailable") if the database can't be used, and "storage_full" if its disk
    is full.

    Attributes:
        database: where they are kept.
        clock: Unix time in seconds.
    """

    def __init__(
        self, url: URL, clock: Clock, lease_s: float, max_queued_pages: int, sharing: Sharing | None = None
    ) -> None:
        """`url`: see `database_url`. `clock`: Unix time in seconds."""
        self.database = Database(url, clock)
        self.clock = clock
        self._lease_s = lease_s
        self._max_queued_pages = max_queued_pages
        self._sharing = sharing or Sharing()
        self._ids = JobIds()
        self._packing = FairThreads(2)
        self._backlog = Recent(views.backlog, self.database)
        self._rate = Recent(lambda connection: views.pages_per_s(connection, self.database.now()), self.database)
        self._counts = Recent(lambda connection: views.counts(connection, self.database.now()), self.database)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The store can be used during the block."""
        async with self.database.running():
            yield

    async def exists(self) -> bool:
        """Whether there is a database with tables of jobs. Makes none."""
        return await self.database.exists()

    # -- for those who add and watch --

    async def check_room(self, tenant: str, count: int) -> None:
        """Raises Overloaded if there is no room for `count` more jobs of the tenant: "jobs_full", or "share_exceeded"
        if what is left is for others.
        """
        backlog = await self._backlog.value()
        mine = backlog.pages_of(tenant) + self._backlog.added[tenant]
        others = backlog.pages + self._backlog.added.total() - mine
        most = self._max_queued_pages
        if others + mine + count > most:
            raise Overloaded("jobs_full", f"{most:,} pages wait to be read, the maximum.", _FULL_RETRY_S)
        own = math.ceil(self._sharing.tenant_share * (most - others))
        if mine + count > own:
            detail = f"{mine:,} pages of your jobs wait to be read, of the {own:,} that you may have waiting now."
            raise Overloaded("share_exceeded", detail, _FULL_RETRY_S)

    async def add(self, jobs: Sequence[NewJob]) -> Sequence[AddedJob]:
        """Adds jobs, in one transaction.

        Raises:
            Overloaded: "jobs_full": `jobs.max_queued_pages` is reached; "share_exceeded": a tenant's share of it is.
            InputRejected: "key_reused".
        """
        for tenant, count in Counter(job.tenant for job in jobs).items():
            await self.check_room(tenant, count)
        now = self.clock()
        new = [(self._ids.make(now), job) for job in jobs]
        added = await self.database.write(
            lambda connection: queue.add(connection, new, self.database.now()), turns.lock_turns
        )
        self._backlog.added.update(job.tenant for job, one in zip(jobs, added, strict=True) if not one.duplicate)
        return added

    async def add_batch(self, jobs: Sequence[NewJob]) -> AddedJob:
        """Adds a batch of one tenant, at least one job, in one transaction. Returns its first job, whose key is that of
        the batch; the others have IDs that follow, and become jobs as there is room.

        Raises:
            Overloaded, InputRejected: as `add` does.
        """
        tenant = jobs[0].tenant
        await self.check_room(tenant, len(jobs))
        now = self.clock()
        new = [(self._ids.make(now), job) for job in jobs]
        added = await self.database.write(
            lambda connection: lines.add_batch(connection, new, self.database.now()), turns.lock_turns
        )
        self._backlog.added[tenant] += 0 if added.duplicate else len(jobs)
        return added

    async def waiting_lines(self, tenant: str, id_start: str, limit: int) -> Sequence[Job]:
        """The tenant's lines of batches that are no jobs yet, as jobs that wait: the latest `limit` whose IDs begin
        with this.
        """
        return await self.database.read(
            lambda connection: lines.waiting_lines(connection, tenant, id_start, limit), tenant
        )

    async def cancel_lines(self, tenant: str, job_ids: Sequence[str]) -> None:
        """Makes cancelled jobs of the tenant's lines with these IDs that are no jobs yet."""
        await self.database.write(
            lambda connection: lines.cancel_lines(connection, tenant, job_ids, self.database.now()), turns.lock_turns
        )

    async def get(self, job_id: str, tenant: str | None) -> Job:
        """The job; `tenant` None: of any tenant.

        Raises:
            InputRejected: "job_unknown", also for another tenant's.
        """
        return await self.database.read(
            lambda connection: job_of(views.row_of(connection, job_id, tenant)), tenant or ""
        )

    async def list(
        self, tenant: str | None, which: JobFilter = ALL_JOBS, after: str = "", limit: int = 100
    ) -> Sequence[Job]:
        """Jobs in the filter's order. `after`: ID of the last one seen."""
        return await self.database.read(
            lambda connection: views.listed(connection, tenant, which, after, limit), tenant or ""
        )

    async def fields(self, job_id: str) -> StoredFields:
        """The job's fields. Raises InputRejected("fields_missing")."""
        return await self.database.read(lambda connection: fields.fields_of(connection, job_id))

    async def correct(
        self, job_id: str, version: int | None, correction: FieldCorrection, *, reviewed: bool
    ) -> StoredFields:
        """Keeps a correction of the job's fields, which is delivered to the sinks that have had the result. Raises
        InputRejected as fields.correct does, and "job_not_ended", "job_unknown".
        """

        def write(connection: Connection) -> StoredFields:
            # First the job's row, as all writes lock it before what belongs to it.
            views.lock_ended(connection, job_id)
            changed = fields.correct(connection, job_id, version, correction, reviewed=reviewed)
            deliveries.deliver_again(connection, job_id, self.database.now())
            return changed

        return await self.database.write(write)

    async def forecast(self, job: Job) -> JobForecast:
        """Returns when the job may end. Raises InputRejected("job_unknown") if it was removed."""
        rate, others = await self._rate.value(), await self._backlog.value()
        ahead = await self.database.read(
            lambda connection: views.ahead_of(connection, job, others, self._sharing), job.tenant
        )
        left = ahead.pages + max((job.pages or 1) - job.saved, 0)
        return JobForecast(ahead.jobs, left / rate if rate else None)

    async def pages(self, job_id: str, after: int = -1, limit: int = 100, tenant: str = "") -> Sequence[PageResult]:
        """Results of pages above `after` that are saved so far, ascending. `tenant`: whose job it is; tenants share the
        readers and the threads that unpack.
        """
        stored = await self.database.read(
            lambda connection: views.saved_after(connection, job_id, after, limit), tenant
        )
        return await self._packing.run(Caller(tenant), len(stored), lambda: [unpack(one) for one in stored])

    async def cancel(self, job_id: str, tenant: str | None) -> Job:
        """Cancels the job. Raises InputRejected: "job_unknown", "job_ended"."""
        return await self.database.write(
            lambda connection: views.cancel(connection, job_id, tenant, self.database.now()), turns.lock_turns
        )

    async def retry(self, job_id: str, tenant: str | None) -> Job:
        """Queues the job's failed and missing pages. Raises InputRejected as views.retry does, and Overloaded as
        `check_room` does for a job of `tenant`.
        """
        if tenant is not None:
            await self.check_room(tenant, 1)
        return await self.database.write(
            lambda connection: views.retry(connection, job_id, tenant, self.database.now()), turns.lock_turns
        )

    async def remove(self, job_id: str, tenant: str | None) -> None:
        """Removes an ended job.

        Raises:
            InputRejected: "job_unknown", "job_not_ended".
        """
        await self.database.write(lambda connection: views.remove(connection, job_id, tenant), turns.lock_turns)

    async def unneeded(self, uploads: Sequence[str]) -> Sequence[str]:
        """Returns those of `uploads` that no job needs any more."""
        return await self.database.read(lambda connection: views.unneeded(connection, uploads)) if uploads else ()

    async def counts(self) -> JobCounts:
        """Counts over all tenants, at most two seconds old."""
        return await self._counts.value()

    async def expire(self, before: float) -> int:
        """Removes the pages of jobs that ended before this time. Returns how many jobs. The jobs themselves are kept,
        so that clients learn that the result is gone, until `forget`.
        """
        count = 0
        when = self._ended(before)
        while done := await self.database.write(
            lambda connection: views.expire(connection, when(), _PURGED_AT_ONCE), turns.lock_turns
        ):
            count += done
        return count

    async def forget(self, before: float) -> int:
        """Removes jobs that were expired and ended before this time. Returns how many."""
        count = 0
        when = self._ended(before)
        while done := await self.database.write(
            lambda connection: views.forget(connection, when(), _PURGED_AT_ONCE), turns.lock_turns
        ):
            count += done
        return count

    def _ended(self, before: float) -> Callable[[], ColumnElement[float]]:
        """This time by the database's clock, which wrote the ends: a node whose clock is wrong must remove nothing."""
        age_s = self.clock() - before
        return lambda: self.database.now() - age_s

    # -- for workers --

    async def claim(self, room: int) -> Sequence[Claim]:
        """Claims up to `room` jobs that wait, in turn."""
        token = secrets.token_hex(16)

        def write(connection: Connection) -> Sequence[Claim]:
            now = self.database.now()
            lines.begin_lines(connection, now)
            return queue.claim(connection, token, room, now, self._lease_s, self._sharing)

        return await self.database.write(write, turns.lock_turns)

    async def next_in_turn(self) -> NextJob | None:
        """The job that would be claimed now; None if none waits."""
        return await self.database.read(
            lambda connection: turns.next_in_turn(connection, self._sharing, self.database.now())
        )

    async def has_abandoned(self) -> bool:
        """Whether there is a job whose worker is gone."""
        return await self.database.read(lambda connection: queue.has_abandoned(connection, self.database.now()))

    async def claim_abandoned(self) -> Sequence[Claim]:
        """Claims a job whose worker is gone: none or one."""
        token = secrets.token_hex(16)
        return await self.database.write(
            lambda connection: queue.claim_abandoned(connection, token, self.database.now(), self._lease_s)
        )

    async def renew(self, held: Sequence[Claim]) -> dict[str, JobState]:
        """Extends the leases. Returns the jobs' states by ID; those that are missing were lost."""
        return await self.database.write(
            lambda connection: queue.renew(connection, held, self.database.now(), self._lease_s)
        )

    async def save(
        self,
        held: Claim,
        pages: Sequence[PageResult] = (),
        opened: tuple[JobDocument, int] | None = None,
        end: JobEnd | None = None,
    ) -> JobState:
        """Saves pages, what was opened (see Progress), and the end, in one transaction. Returns the job's state.

        Raises:
            LeaseLost: nothing was saved.
        """
        packed = await self._packing.run(held.job.caller, len(pages), pack, pages) if pages else ()
        progress = Progress(packed, opened, end)
        return await self.database.write(
            lambda connection: queue.save(
                connection, held, progress, self.database.now(), self._lease_s, self._sharing
            ),
            turns.lock_turns if end is not None and held.owed(end.pages_read, self._sharing) else None,
        )

    async def mark_suspect(self, held: Claim, page: int) -> None:
        """Notes that `page` is read alone now. Raises LeaseLost."""
        await self.database.write(lambda connection: queue.mark_suspect(connection, held, page))

    async def release(self, held: Claim, how: Release) -> JobState:
        """Gives the job back. Raises LeaseLost."""
        return await self.database.write(
            lambda connection: queue.release(connection, held, how, self.database.now(), self._sharing),
            turns.lock_turns if how.to_the_end or held.owed(how.pages_read, self._sharing) else None,
        )

    # -- the outbox --

    async def due_lanes(self) -> Sequence[DeliveryLane]:
        """The lanes with a delivery that is due; see deliveries.due_lanes."""
        return await self.database.read(lambda connection: deliveries.due_lanes(connection, self.database.now()))

    async def take_due(self, room: Mapping[DeliveryLane, int], lease_s: float) -> Sequence[Due]:
        """Returns up to this many deliveries of each lane, to make now; they are due again after `lease_s` if nobody
        reports their end.
        """
        token = secrets.token_hex(16)
        return await self.database.write(
            lambda connection: deliveries.take_due(connection, token, room, self.database.now(), lease_s)
        )

    async def delivered(self, due: Due) -> None:
        """The delivery was made."""
        await self.database.write(lambda connection: deliveries.settle(connection, due, state="done", error=None))

    async def later(self, due: Due, after_s: float, error: str) -> None:
        """The delivery is to be tried again after this many seconds."""
        await self.database.write(
            lambda connection: deliveries.settle(connection, due, not_before=self.database.now() + after_s, error=error)
        )

    async def put_back(self, due: Due, after_s: float) -> None:
        """The delivery was not tried; it is due after this many seconds."""
        await self.database.write(
            lambda connection: deliveries.settle(
                connection, due, not_before=self.database.now() + after_s, attempts=due.attempt - 1
            )
        )

    async def dead(self, due: Due, error: str) -> None:
        """The delivery can't be made: it becomes a dead letter."""
        await self.database.write(lambda connection: deliveries.settle(connection, due, state="dead", error=error))

    async def deliveries(self, job_id: str) -> Sequence[StoredDelivery]:
        """All deliveries of a job, the oldest first."""
        return await self.database.read(lambda connection: deliveries.of_job(connection, job_id))

    async def redeliver(self, job_id: str | None) -> int:
        """Makes dead letters due again: of one job, or all. Returns how many."""
        return await self.database.write(
            lambda connection: deliveries.redeliver(connection, job_id, self.database.now())
        )
