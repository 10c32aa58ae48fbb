"""The state of jobs for metrics, `/state` and the doctor.

The database is asked by a background task, so that neither a scrape nor a request waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import anyio

from inkgate.errors import Overloaded
from inkgate.jobs.intake.arrivals import HTTP, Intake, IntakeOutcome
from inkgate.jobs.job import WEBHOOK, JobCounts, JobState
from inkgate.jobs.machine import jobs_disks, missing_packages
from inkgate.jobs.service import JobService
from inkgate.jobs.sinks.relay import DeliveryOutcome, Relay
from inkgate.jobs.store import JobStore
from inkgate.jobs.worker import Worker
from inkgate.settings import Settings
from inkgate_client.concurrency import Threads, loop_time, single_error
from inkgate_client.telemetry.jobs_state import JobsDisk, JobsState, StoredJobs

Outcome = TypeVar("Outcome", bound=StrEnum)

_EVERY_S = 5.0
_COST = 20.0
"""A database that takes long to count is asked less often: at most a twentieth of the time is spent on it."""
_LONGEST_S = 60.0
_STALE_S = 150.0
"""Counts that are older are not shown. More than the longest pause and the time limit of a statement together."""
_DISKS_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class JobParts:
    """What counts of this process are read from; None for what it does not do."""

    worker: Worker | None = None
    relay: Relay | None = None
    intake: Intake | None = None
    service: JobService | None = None


class JobsWatch:
    """The state of jobs. `run` is a background task; `state` takes no time."""

    def __init__(
        self, store: JobStore, settings: Settings, parts: JobParts, now: Callable[[], float] = loop_time
    ) -> None:
        """`now`: clock time in seconds."""
        self._store = store
        self._settings = settings
        self._parts = parts
        self._now = now
        self._threads = Threads("jobs_disks", 1)
        self._database = "postgresql" if store.database.is_postgres else "sqlite"
        self._missing = missing_packages(settings)
        self._disks: tuple[JobsDisk, ...] = ()
        self._up: bool | None = None
        self._stored: StoredJobs | None = None
        self._requested_at = now()

    async def run(self) -> None:
        """Asks the database and the disks now and then, until cancelled."""
        with single_error():
            async with anyio.create_task_group() as tasks:
                # Beside each other: a network file system that is unavailable holds its caller.
                tasks.start_soon(self._watch_disks, name="jobs disks")
                while True:
                    begun = self._now()
                    await self.ask()
                    await anyio.sleep(min(max(_EVERY_S, _COST * (self._now() - begun)), _LONGEST_S))

    async def ask(self) -> None:
        """Asks the database."""
        try:
            self._stored = _stored(await self._store.counts())
            self._up = True
        except Overloaded:
            self._stored, self._up = None, False
        self._requested_at = self._now()

    async def _watch_disks(self) -> None:
        while True:
            self._disks = await self._threads.run(jobs_disks, self._settings)
            await anyio.sleep(_DISKS_EVERY_S)

    def state(self) -> JobsState:
        """The state of jobs."""
        late = self._now() - self._requested_at > _STALE_S
        worker, relay, intake = self._parts.worker, self._parts.relay, self._parts.intake
        counts = None if worker is None else worker.counts
        return JobsState(
            self._database,
            up=False if late else self._up,
            stored=None if late else self._stored,
            disks=self._disks,
            missing=self._missing,
            uploads_missing=0 if self._parts.service is None else self._parts.service.uploads_missing,
            running=0 if worker is None else worker.jobs_running,
            claims={} if counts is None else {"fresh": counts.fresh_claims, "abandoned": counts.abandoned_claims},
            leases_lost=0 if counts is None else counts.leases_lost,
            pages={}
            if counts is None
            else {"ok": counts.pages_read - counts.pages_failed, "failed": counts.pages_failed},
            ended={}
            if counts is None
            else {state.value: counts.ended.get(state, 0) for state in JobState if state.ended},
            deliveries={}
            if relay is None
            else _by_name(relay.outcomes, (*self._settings.sinks, WEBHOOK), DeliveryOutcome),
            events={} if intake is None else _by_name(intake.counts, (*self._settings.intake, HTTP), IntakeOutcome),
            paused=() if intake is None else tuple(sorted(intake.paused)),
        )


def _by_name(
    counts: Counter[tuple[str, Outcome]], names: Iterable[str], outcomes: type[Outcome]
) -> Mapping[str, Mapping[str, int]]:
    """Counts by name and outcome, with those that are 0: Prometheus sees no increase in a series that is new."""
    known = sorted({*names, *(name for name, _ in counts)})
    return {name: {outcome.value: counts[name, outcome] for outcome in outcomes} for name in known}


def _stored(counts: JobCounts) -> StoredJobs:
    rate = counts.pages_per_s
    backlog_s = counts.queued_pages / rate if rate else None
    return StoredJobs(
        {state.value: counts.by_state.get(state, 0) for state in JobState},
        counts.queued_pages,
        backlog_s if counts.queued_pages else 0.0,
        counts.oldest_s,
        counts.abandoned,
        counts.outbox_waiting,
        counts.outbox_dead,
        counts.outbox_oldest_s,
    )
