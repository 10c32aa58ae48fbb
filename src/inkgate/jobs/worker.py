"""Runs jobs: claims them, reads their pages, and saves these as they are read.

A job whose worker has died is claimed by another, which goes on after the saved pages. As nobody knows what the worker
died of, that job is then run alone, and page by page for as many pages as the dead worker can have had open: a page
that ends the process twice gets an error, and a document that ends it at opening is quarantined.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

import anyio
import anyio.lowlevel
import structlog

from inkgate.documents.pages import parse_pages
from inkgate.errors import Blame, InkgateError, InputRejected, Overloaded, from_page_error
from inkgate.jobs.finding import JobFieldFinder
from inkgate.jobs.job import WEBHOOK, Job, JobDocument, JobFailure, JobState
from inkgate.jobs.run import JobRun
from inkgate.jobs.store import Claim, FoundFields, JobEnd, JobStore, LeaseLost, Release
from inkgate.service.gateway import Admitted, Gateway
from inkgate.service.reader import CheckedOptions, Reading
from inkgate.settings import JobSettings, PipelineSettings
from inkgate_client.codec import encodable
from inkgate_client.concurrency import loop_time, single_error
from inkgate_client.types import Document, PageResult, ReviewReason

log = structlog.get_logger(__name__)

T = TypeVar("T")

_DIES_TWICE = 2
_DATABASE_RETRY_S = 5.0
_LONGEST_PAUSE_S = 300.0
_STOP_S = 5.0
_CLAIM_S = 20.0
_STALE_S = 5.0


class DocumentLoader(Protocol):
    """Loads documents: JobDocuments."""

    async def load(self, job: Job) -> Document:
        """The document of a job.

        Raises:
            InputRejected: there is none that can be read.
            EngineFailed: "source_unreachable": it may be there later.
        """
        ...


class _GiveBack(Exception):
    """The job goes back to the queue."""

    def __init__(self, how: Release) -> None:
        super().__init__()
        self.how = how


@dataclass(slots=True)
class WorkCounts:
    """Counts since the start, for metrics.

    Attributes:
        fresh_claims, abandoned_claims: of jobs that waited, and of jobs whose worker was gone.
        leases_lost: jobs that were taken over from this worker.
        pages_read, pages_failed: saved by this worker.
        ended: by state.
    """

    fresh_claims: int = 0
    abandoned_claims: int = 0
    leases_lost: int = 0
    pages_read: int = 0
    pages_failed: int = 0
    ended: dict[JobState, int] = field(default_factory=dict)


class Worker:
    """Runs the jobs of a store, several at once. Its tasks belong to `run`.

    Attributes:
        counts: for metrics.
        wake: looks for jobs at once instead of after `jobs.poll_s`.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        store: JobStore,
        gateway: Gateway,
        documents: DocumentLoader,
        settings: JobSettings,
        pipelines: Mapping[str, PipelineSettings],
        page_window: int,
        *,
        fields: JobFieldFinder,
    ) -> None:
        """`page_window`: pages of a document that are read at once."""
        self.counts = WorkCounts()
        self._store = store
        self._gateway = gateway
        self._documents = documents
        self._settings = settings
        self._pipelines = pipelines
        self._window = page_window
        self._fields = fields
        self._runs: dict[str, JobRun] = {}
        self._changed = anyio.Event()
        self._alone_since: float | None = None
        """Loop time since when a job of a dead worker waits for the others to yield, or runs."""
        self._look_at = 0.0
        """Loop time of the next look for jobs of dead workers."""

    @property
    def jobs_running(self) -> int:
        """Jobs being run."""
        return len(self._runs)

    def wake(self) -> None:
        """Looks for jobs at once."""
        self._changed.set()

    async def run(self) -> None:
        """Runs jobs until it is cancelled; then saves what was read and gives the jobs back."""
        self._runs.clear()
        self._alone_since = None
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_leases, name="job leases")
                while True:
                    self._changed = anyio.Event()
                    claims: Sequence[Claim] = ()
                    # Shielded, as a job claimed for nobody would wait until its lease runs out.
                    with anyio.move_on_after(_CLAIM_S, shield=True):
                        claims = await self._claimed()
                    for claim in claims:
                        run = JobRun(
                            claim, renewed=loop_time(), done=set(claim.saved_pages), careful=claim.job.attempts > 0
                        )
                        self._runs[claim.job.id] = run
                        tasks.start_soon(self._run, run, name=f"job {claim.job.id}")
                    with anyio.move_on_after(self._settings.poll_s):
                        await self._changed.wait()

    async def _claimed(self) -> Sequence[Claim]:
        try:
            if any(run.careful for run in self._runs.values()):
                return ()
            if loop_time() >= self._look_at:
                self._look_at = loop_time() + self._settings.poll_s
                if not await self._store.has_abandoned():  # another process, with nothing to finish first, was faster
                    self._alone_since = None
                elif self._alone_since is None:
                    self._alone_since = loop_time()
            if self._alone_since is not None:
                if self._runs:
                    return ()
                # Claimed only now: a worker that dies while others yield has not died of this job.
                if found := await self._store.claim_abandoned():
                    self.counts.abandoned_claims += 1
                    return found
                self._alone_since = None
            room = self._settings.at_once - len(self._runs)
            if room <= 0:
                await self._make_room()
                return ()
            found = await self._store.claim(room)
        except Overloaded:  # the database is unavailable; requests are served meanwhile
            return ()
        self.counts.fresh_claims += len(found)
        return found

    async def _make_room(self) -> None:
        """Takes one place back for a job that waits, if one that runs here should not keep it waiting.

        That is a long one: it has more to read than what is at the engine now. Of these, the one that has read most in
        its place; else the last one, so that the others get on.
        """
        runs = [run for run in self._runs.values() if not run.careful]
        if any(run.yields for run in runs) or (following := await self._store.next_in_turn()) is None:
            return
        found = [run for run in runs if following.goes_before(run.claim.job, run.read)]
        long = [run for run in reversed(found) if not run.pages or run.left > self._window]
        chosen = max(long, key=lambda run: (run.claim.job.priority.rank, run.read), default=None)
        if chosen is not None:
            chosen.yields = Release(to_the_end=True)
            chosen.scope.cancel()

    async def _keep_leases(self) -> None:
        """Extends leases that no save has extended, and notices jobs that were cancelled or lost."""
        while True:
            await anyio.sleep(self._settings.lease_s / 6)
            self._hurry()
            old = loop_time() - self._settings.lease_s / 3
            runs = [run for run in self._runs.values() if run.renewed < old]
            if not runs:
                continue
            begun = loop_time()
            try:
                states = await self._store.renew([run.claim for run in runs])
            except Overloaded:
                continue
            for run in runs:
                self._noticed(run, states.get(run.claim.job.id), begun)

    def _hurry(self) -> None:
        """Takes back jobs that have not yielded in a lease's time to one that has to run alone."""
        since = self._alone_since
        if since is None or loop_time() - since < self._settings.lease_s:
            return
        for run in self._runs.values():
            if not run.careful:
                run.yields = Release()
                run.scope.cancel()

    def _noticed(self, run: JobRun, state: JobState | None, when: float) -> None:
        """Takes the state that the store tells; None: the job was lost."""
        run.renewed = max(run.renewed, when)
        if state is None or state is JobState.CANCELLING:
            run.state = JobState.CANCELLED if state is None else state
            run.scope.cancel()

    # -- one job --

    async def _run(self, run: JobRun) -> None:
        """Runs a job to its end, or until it goes back to the queue. Nothing that a job raises ends the worker."""
        job = run.claim.job
        try:
            with run.scope:
                if job.state is JobState.CANCELLING:  # its worker died before it had stopped
                    await self._write(run, JobEnd(JobState.CANCELLED, pages_read=run.read))
                    return
                await self._attempt(run)
            if run.scope.cancelled_caught:
                await self._stopped(run)
        except LeaseLost:
            self.counts.leases_lost += 1
            log.warning("job_lease_lost", job=job.id)
        except Exception:  # whatever one job raises, the others go on
            log.exception("job_failed", job=job.id)
            with anyio.move_on_after(_STOP_S, shield=True):
                await self._unexpected(run)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), anyio.move_on_after(_STOP_S):
                await self._give_back(run, Release())
            raise
        finally:
            if self._runs.get(job.id) is run:  # else the lease was lost, and the job was claimed here again
                del self._runs[job.id]
            self._changed.set()

    async def _stopped(self, run: JobRun) -> None:
        """Handles the end of a scope that was cancelled: the job was cancelled, has to yield, or was lost."""
        if run.state is JobState.CANCELLING:
            await self._write(run, JobEnd(JobState.CANCELLED, pages_read=run.read))
        elif run.yields is not None:
            await self._give_back(run, run.yields)
        else:
            raise LeaseLost(run.claim.job.id)

    async def _unexpected(self, run: JobRun) -> None:
        """Handles an exception that no one expected: the job is tried again, but not for ever."""
        if run.claim.retries < self._settings.max_retries:
            await self._give_back(run, Release(min(self._settings.retry_s, _LONGEST_PAUSE_S), retried=True))
            return
        await self._save_rest(run)
        failure = JobFailure("internal", "The service failed while it ran the job.")
        with suppress(Exception):  # the lease runs out
            await self._end(run, run.without_all, failure)

    async def _give_back(self, run: JobRun, how: Release) -> None:
        """Saves what was read, and puts the job back, if that is possible."""
        await self._save_rest(run)
        with suppress(Exception):  # the lease runs out
            await self._store.release(run.claim, replace(how, pages_read=run.read))

    async def _save_rest(self, run: JobRun) -> None:
        """Saves what was read, or drops it, such as results of a kind that can't be stored."""
        if run.unsaved or run.opened is not None:
            try:
                await self._store.save(run.claim, tuple(run.unsaved), run.opened)
            except Exception as error:  # noqa: BLE001 - it is read again
                log.warning("job_pages_dropped", job=run.claim.job.id, error=type(error).__name__)
                run.done.difference_update(page.index for page in run.unsaved)
            run.unsaved.clear()

    async def _attempt(self, run: JobRun) -> None:
        try:
            if (failure := self._hopeless(run)) is not None:
                await self._end(run, JobState.QUARANTINED, failure)
                return
            await self._skip_deadly_page(run)
            run.wanted = await self._fields.wanted(run.claim.job)
            with anyio.CancelScope(deadline=self._deadline(run.claim.job)) as scope:
                if run.wanted is None or not run.all_read:
                    await self._read(run)
            if scope.cancelled_caught:
                late = "The job's deadline passed before all pages were read."
                await self._finish(run, run.without_all, JobFailure("deadline_exceeded", late))
            else:
                await self._finish(run, *run.outcome)
        except _GiveBack as back:
            await self._put_back(run, back.how)
        except InkgateError as error:
            await self._failed(run, error)

    def _deadline(self, job: Job) -> float:
        """The loop time of the job's deadline."""
        return math.inf if job.deadline is None else loop_time() + job.deadline - self._store.clock()

    def _hopeless(self, run: JobRun) -> JobFailure | None:
        # Deaths while a page was read alone are that page's.
        if run.claim.job.attempts - run.claim.suspect_deaths < self._settings.max_attempts:
            return None
        times = run.claim.job.attempts
        return JobFailure("document_quarantined", f"The process that read the document ended, {times} times.")

    async def _skip_deadly_page(self, run: JobRun) -> None:
        """Saves an error for the page that was read alone when the process ended for the second time."""
        page = run.claim.suspect
        if page is None or run.claim.suspect_deaths < _DIES_TWICE:
            return
        error = InputRejected("content_quarantined", "The process that read this page ended, twice.").as_page_error()
        run.keep(PageResult(index=page, error=error, review=(ReviewReason.NOT_READ,)))
        await self._write(run)
        log.error("job_page_quarantined", job=run.claim.job.id, page=page)

    async def _failed(self, run: JobRun, error: InkgateError) -> None:
        """The document can't be read: now, or at all."""
        if self._may_pass(run, error):
            await self._put_back(run, self._pause(run, error))
            return
        await self._end(run, run.without_all, JobFailure(error.code, encodable(error.detail)))

    def _may_pass(self, run: JobRun, error: InkgateError) -> bool:
        """Whether the document is read again later: a server will be repaired, and then reads the same page."""
        if isinstance(error, Overloaded):
            return True
        later = error.transient or error.blame is Blame.SERVER
        return later and run.claim.retries < self._settings.max_retries

    async def _put_back(self, run: JobRun, how: Release) -> None:
        await self._write(run)
        await self._persist(lambda: self._store.release(run.claim, replace(how, pages_read=run.read)))

    def _pause(self, run: JobRun, error: InkgateError) -> Release:
        if isinstance(error, Overloaded):
            return Release(min(error.retry_after_s, _LONGEST_PAUSE_S))
        return Release(min(self._settings.retry_s * 2**run.claim.retries, _LONGEST_PAUSE_S), retried=True)

    async def _read(self, run: JobRun) -> None:
        job = run.claim.job
        document = await self._documents.load(job)
        # Without a deadline: nobody waits, and its pages don't count as a queue that calls for lower quality.
        caller = job.caller
        async with self._gateway.admit(caller, len(document.data), wait_s=self._settings.lease_s) as admitted:
            if run.careful:
                all_read = await self._read_pages(run, admitted, document, careful=True)
                run.careful, self._alone_since = False, None
                self._changed.set()
                if all_read:
                    return
            await self._read_pages(run, admitted, document, careful=False)

    async def _read_pages(self, run: JobRun, admitted: Admitted, document: Document, *, careful: bool) -> bool:
        """Reads and saves the pages that are missing. `careful`: one by one, and only as many as a worker that died
        can have had open. Returns whether these were all.
        """
        options = run.claim.job.options
        selection = parse_pages(options.pages) if options.pages else None
        window = 1 if careful else None
        how = CheckedOptions(
            options.task, selection, options.pdf_text, options.password, window, self._settings.max_pages
        )
        if run.wanted is not None:
            how = self._fields.read_options(run.wanted, how)
        async with admitted.read(document, how) as reading:
            run.pages = len(reading.selected)
            await self._opened(run, reading)
            reading.only(sorted(set(reading.selected) - run.done))
            results = aiter(reading)
            missing = reading.selected
            todo = missing[: self._settings.save_every + self._window] if careful else missing
            describe = partial(self._describe, run, reading, run.document)
            try:
                for page in todo:
                    if careful:
                        await self._persist(partial(self._store.mark_suspect, run.claim, page))
                    await self._take(run, await anext(results), describe, careful=careful)
            finally:
                describe()
            return len(todo) == len(missing)

    async def _opened(self, run: JobRun, reading: Reading) -> None:
        if run.known or run.claim.job.document is not None:
            return
        run.known = True
        run.opened = _document_of(reading), len(reading.selected)
        if len(reading.selected) > self._settings.save_every:  # else it is saved with the pages
            await self._write(run)

    def _describe(self, run: JobRun, reading: Reading, before: JobDocument | None) -> None:
        """Has the next write say who read the pages, and what is to be said of them. `before`: of earlier readings."""
        if not reading.answered:
            return
        now = _document_of(reading)
        if before is not None:
            notes = tuple(dict.fromkeys((*before.notes, *now.notes)))
            now = replace(now, engine=reading.engine_after(before.engine), notes=notes)
        run.document, run.opened = now, (now, run.pages)

    async def _take(self, run: JobRun, result: PageResult, describe: Callable[[], None], *, careful: bool) -> None:
        """Keeps the result, and saves those that are due. Raises _GiveBack if the job should not go on now."""
        error = None if result.error is None else from_page_error(result.error)
        if error is not None and self._may_pass(run, error):
            raise _GiveBack(self._pause(run, error))
        if not run.unsaved:
            run.unsaved_since = loop_time()
        run.keep(result)
        stale = loop_time() - run.unsaved_since > _STALE_S
        if not (careful or stale or len(run.unsaved) >= self._settings.save_every):
            return
        describe()
        await self._write(run)
        if self._alone_since is not None and not run.careful:
            raise _GiveBack(Release())

    async def _write(self, run: JobRun, end: JobEnd | None = None) -> None:
        """Saves what was read, and the end. Waits while the database is unavailable. Raises LeaseLost."""
        pages = tuple(run.unsaved)
        begun, state = await self._persist(lambda: self._store.save(run.claim, pages, run.opened, end))
        del run.unsaved[: len(pages)]
        run.opened = None
        self.counts.pages_read += len(pages)
        self.counts.pages_failed += sum(page.error is not None for page in pages)
        if end is not None:
            self.counts.ended[state] = self.counts.ended.get(state, 0) + 1
            log.info("job_ended", job=run.claim.job.id, state=state.value)
        else:
            self._noticed(run, state, begun)

    async def _persist(self, call: Callable[[], Awaitable[T]]) -> tuple[float, T]:
        """What `call` returns, and the loop time when it was called. Waits while the database is unavailable."""
        while True:
            begun = loop_time()
            try:
                return begun, await call()
            except Overloaded as error:
                await anyio.sleep(min(error.retry_after_s, _DATABASE_RETRY_S))

    async def _finish(self, run: JobRun, state: JobState, failure: JobFailure | None) -> None:
        """Ends the job, after its fields were found in the pages that have a result. If this process dies before, the
        next one finds them again.
        """
        fields: FoundFields | None = None
        if run.wanted is not None and state in (JobState.SUCCEEDED, JobState.PARTIAL):
            await self._write(run)
            job = run.claim.job
            caller = job.caller
            fields = await self._fields.find(job, run.wanted, caller, whole=state is JobState.SUCCEEDED)
        await self._end(run, state, failure, fields)

    async def _end(
        self, run: JobRun, state: JobState, failure: JobFailure | None = None, fields: FoundFields | None = None
    ) -> None:
        await self._write(run, JobEnd(state, failure, self._sinks(run.claim.job), fields, run.read))

    def _sinks(self, job: Job) -> tuple[str, ...]:
        """The names of those that are told of the job's end."""
        pipeline = self._pipelines.get(job.pipeline)
        return (*(() if pipeline is None else pipeline.sinks), *((WEBHOOK,) if job.webhook else ()))


def _document_of(reading: Reading) -> JobDocument:
    """What is known of the document by the pages read until now."""
    mime_type = encodable(reading.mime_type)
    return JobDocument(mime_type, reading.byte_count, reading.page_count, reading.engine, reading.notes)
