"""A job while a worker runs it."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from inkgate.extraction.wanted import CheckedFields
from inkgate.jobs.job import JobDocument, JobFailure, JobState
from inkgate.jobs.store import Claim, Release
from inkgate_client.codec import encodable
from inkgate_client.types import PageError, PageResult


@dataclass(slots=True)
class JobRun:
    """A job being run, until it ends or goes back to the queue.

    Attributes:
        scope: cancelled if the job is lost or cancelled.
        state: as last seen in the store.
        renewed: loop time of the last write that extended the lease.
        done: pages that have a result, saved or not.
        unsaved: results that are not saved yet, since loop time `unsaved_since`.
        known: the document was opened, in this run or before.
        opened: what is not saved yet of the document, and the number of pages to read.
        document: the document as its pages that have a result show it; None: none has.
        pages: number of pages to read, once the document was opened here.
        read: pages that got a result since the job was claimed.
        errors: of pages read in this run; `partial`: one of these has a result all the same.
        careful: the last worker died at it, so it runs alone, page by page.
        yields: how it goes back to the queue, as another job needs its place; None: it goes on.
        wanted: the fields that it finds; None: none, or it is not known yet.
    """

    claim: Claim
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    state: JobState = JobState.RUNNING
    renewed: float = 0.0
    done: set[int] = field(default_factory=set)
    unsaved: list[PageResult] = field(default_factory=list)
    unsaved_since: float = 0.0
    known: bool = False
    opened: tuple[JobDocument, int] | None = None
    document: JobDocument | None = None
    pages: int = 0
    read: int = 0
    errors: list[PageError] = field(default_factory=list)
    partial: bool = False
    careful: bool = False
    yields: Release | None = None
    wanted: CheckedFields | None = None

    def __post_init__(self) -> None:
        if self.claim.job.saved:
            self.document = self.claim.job.document

    @property
    def has_results(self) -> bool:
        """Whether a page has a result."""
        return self.partial or self.claim.job.failed + len(self.errors) < len(self.done)

    @property
    def left(self) -> int:
        """Pages that have no result yet; 0 before the document was opened here."""
        return max(self.pages - len(self.done), 0)

    @property
    def all_read(self) -> bool:
        """Whether every page was read before, by another worker."""
        return self.claim.job.pages is not None and len(self.done) >= self.claim.job.pages

    @property
    def without_all(self) -> JobState:
        """The state of the job if it ends now, before all pages were read."""
        return JobState.PARTIAL if self.has_results else JobState.FAILED

    @property
    def outcome(self) -> tuple[JobState, JobFailure | None]:
        """How the job ends, all of whose pages were read."""
        if not self.claim.job.failed and not self.errors:
            return JobState.SUCCEEDED, None
        if self.has_results:
            return JobState.PARTIAL, None
        if not self.errors:
            return JobState.FAILED, JobFailure("engine_failed", "No page was read.")
        return JobState.FAILED, JobFailure(self.errors[0].code, encodable(self.errors[0].detail))

    def keep(self, result: PageResult) -> None:
        """Keeps a result until it is saved."""
        self.read += 1
        self.unsaved.append(result)
        self.done.add(result.index)
        if result.error is not None:
            self.errors.append(result.error)
            self.partial = self.partial or not result.lost
