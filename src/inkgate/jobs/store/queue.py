"""The queue: jobs are added, claimed under a lease, saved page by page, and ended. Functions run in a transaction.

Order: see turns.py. A tenant's own jobs have consecutive turns.

A claim has a lease with a token. Writes for a job must bring the token (fencing): a worker that was stopped past its
lease, and whose job was taken over, can't write any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, update

from inkgate.errors import InputRejected
from inkgate.jobs.job import AddedJob, Job, JobDocument, JobFailure, JobState, NewJob
from inkgate.jobs.store.deliveries import add_deliveries
from inkgate.jobs.store.fields import FoundFields, keep_found, request_fields
from inkgate.jobs.store.records import PackedPage, clean, document_json, job_of, new_row
from inkgate.jobs.store.tables import insert, jobs, pages
from inkgate.jobs.store.turns import Now, Sharing, charge, join, lock_turns, next_in_turn

log = structlog.get_logger(__name__)

_CLOCK_BACK_S = 5.0
"""A lease that begins later than this from now was made before the clock was set back."""
_NOT_UNDERSTOOD_S = 60.0
_LIVE = (JobState.RUNNING.value, JobState.CANCELLING.value)


class LeaseLost(Exception):
    """The job is no longer this worker's: its lease ran out, or it was cancelled and ended."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a job.

    Attributes:
        saved_pages: pages that have a result.
        suspect: the last page that was read alone and not saved, as its worker died, `suspect_deaths` times.
        retries: times that it was put back after a failure of the service, without a page saved since.
        charged: pages that its tenant was charged for it; see turns.py.
    """

    job: Job
    token: str
    saved_pages: frozenset[int]
    suspect: int | None
    suspect_deaths: int
    retries: int
    charged: int = 0

    def owed(self, pages_read: int, sharing: Sharing) -> int:
        """What its tenant is to be charged yet if the claim ends with these pages read."""
        return sharing.slice(pages_read) - self.charged


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ends, and the sinks that are told; those of a cancelled job are not. `fields`: what was found; None for
    a job that finds none, or failed. `pages_read`: since it was claimed.
    """

    state: JobState
    failure: JobFailure | None = None
    sinks: tuple[str, ...] = ()
    fields: FoundFields | None = None
    pages_read: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """What a worker saves at once.

    Attributes:
        opened: the document and the number of pages to read, if not saved yet.
        end: the job ends with this.
    """

    pages: Sequence[PackedPage] = ()
    opened: tuple[JobDocument, int] | None = None
    end: JobEnd | None = None


@dataclass(frozen=True, slots=True)
class BatchLines:
    """What jobs that are lines of a batch have in common.

    Attributes:
        batch: the ID of the batch's first job.
        created: when the batch was added.
        fingerprint: of the whole batch; empty: each line has its own.
    """

    batch: str
    created: float
    fingerprint: str = ""


def add(
    connection: Connection, new: Sequence[tuple[str, NewJob]], now: Now, lines: BatchLines | None = None
) -> list[AddedJob]:
    """Adds jobs with these IDs, each with a turn. A job whose key is there is a duplicate.

    Raises:
        InputRejected: "key_reused": the key is that of another request.
    """
    rows = [new_row(job, job_id) for job_id, job in new]
    for row in rows:
        row["batch"] = None if lines is None else lines.batch
        row["fingerprint"] = row["fingerprint"] if lines is None else lines.fingerprint or row["fingerprint"]
    known = _known(connection, rows)
    added = _first_of_each_key(row for row in rows if (row["tenant"], row["key"]) not in known)
    turns = {each: join(connection, *each) for each in sorted({(row["rank"], row["tenant"]) for row in added})}
    for row in added:
        turn = turns[row["rank"], row["tenant"]]
        row.update(turn=turn, saved=0, failed=0, attempts=0, retries=0, suspect_deaths=0, expired=False)
    if added:
        statement = insert(connection)(jobs).on_conflict_do_nothing()
        created = now if lines is None else lines.created
        connection.execute(statement.values(created=created, not_before=now), added)
    keyed = [row for row in rows if row["key"] is not None]
    known = _known(connection, keyed) if keyed else {}
    # Another process may have added a job with the same key meanwhile.
    there = {row["id"] for row in added if row["key"] is None or known[row["tenant"], row["key"]][0] == row["id"]}
    request_fields(connection, insert(connection), [each for each in new if each[0] in there])
    return [_added(row, known) for row in rows]


def _known(connection: Connection, rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Returns ID and fingerprint of the jobs that are there, by tenant and key."""
    keys = sorted({row["key"] for row in rows if row["key"] is not None})
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for start in range(0, len(keys), 500):
        columns = select(jobs.c.tenant, jobs.c.key, jobs.c.id, jobs.c.fingerprint)
        for tenant in sorted({row["tenant"] for row in rows}):
            chosen = columns.where(jobs.c.tenant == tenant, jobs.c.key.in_(keys[start : start + 500]))
            found.update({(row.tenant, row.key): (row.id, row.fingerprint) for row in connection.execute(chosen)})
    return found


def _first_of_each_key(rows: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - an iterable of rows
    chosen: dict[object, dict[str, Any]] = {}
    for row in rows:
        chosen.setdefault(row["id"] if row["key"] is None else (row["tenant"], row["key"]), row)
    return list(chosen.values())


def _added(row: dict[str, Any], known: dict[tuple[str, str], tuple[str, str]]) -> AddedJob:
    if row["key"] is None:
        return AddedJob(row["id"])
    job_id, fingerprint = known[row["tenant"], row["key"]]
    if fingerprint != row["fingerprint"]:
        raise InputRejected("key_reused", "A job with this idempotency key and another request exists.")
    return AddedJob(job_id, duplicate=job_id != row["id"])


def claim(connection: Connection, token: str, room: int, now: Now, lease_s: float, sharing: Sharing) -> list[Claim]:
    """Claims up to `room` jobs that wait, in turn."""
    lock_turns(connection)
    rows: list[Any] = []
    charged: dict[str, int] = {}
    while len(rows) < room and (chosen := next_in_turn(connection, sharing, now)) is not None:
        changed = update(jobs).where(jobs.c.id == chosen.id, jobs.c.state == JobState.QUEUED.value)
        started = func.coalesce(jobs.c.started, now)
        values = {"state": JobState.RUNNING.value, "lease": token, "started": started, **_lease(now, lease_s)}
        claimed = connection.execute(changed.values(**values).returning(jobs)).first()
        if claimed is None:
            break
        rows.append(claimed)
        charge(connection, chosen.rank, chosen.tenant, chosen.cost, sharing)
        charged[chosen.id] = chosen.cost
    claims = _claims(connection, rows, token, now, charged)
    understood = {claim.job.id for claim in claims}
    for row in rows:
        if row.id not in understood:  # put back
            charge(connection, row.rank, row.tenant, -charged[row.id], sharing)
    return claims


def abandoned(now: Now) -> ColumnElement[bool]:
    """Jobs whose worker has died or was cut off: their lease has run out."""
    gone = or_(jobs.c.lease.is_(None), jobs.c.lease_until < now, jobs.c.leased_at > now + _CLOCK_BACK_S)
    return and_(jobs.c.state.in_(_LIVE), gone)


def has_abandoned(connection: Connection, now: Now) -> bool:
    """Whether there is an abandoned job."""
    return connection.execute(select(jobs.c.id).where(abandoned(now)).limit(1)).first() is not None


def claim_abandoned(connection: Connection, token: str, now: Now, lease_s: float) -> list[Claim]:
    """Claims one abandoned job: none or one."""
    chosen = select(jobs.c.id).where(abandoned(now)).order_by(jobs.c.rank, jobs.c.id).limit(1)
    job_id = connection.execute(chosen.with_for_update(skip_locked=True)).scalar()
    if job_id is None:
        return []
    changed = update(jobs).where(jobs.c.id == job_id).values(lease=token, **_lease(now, lease_s))
    statement = changed.values(attempts=jobs.c.attempts + 1).returning(jobs)
    return _claims(connection, list(connection.execute(statement)), token, now, {})


def _lease(now: Now, lease_s: float) -> dict[str, Any]:
    return {"leased_at": now, "lease_until": now + lease_s}


def _claims(
    connection: Connection, found_rows: Sequence[Any], token: str, now: Now, charged: Mapping[str, int]
) -> list[Claim]:
    jobs_by_id: dict[str, Job] = {}
    for row in found_rows:
        try:
            jobs_by_id[row.id] = job_of(row)
        except (ValueError, KeyError) as error:  # of a later version; it must not keep this one from all others
            log.warning("job_not_understood", job=row.id, error=type(error).__name__)
            later = {"state": JobState.QUEUED.value, "lease": None, "not_before": now + _NOT_UNDERSTOOD_S}
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(**later))
    rows = [row for row in found_rows if row.id in jobs_by_id]
    begun = [row.id for row in rows if row.saved]
    found: dict[str, set[int]] = {}
    if begun:
        for job_id, page in connection.execute(select(pages.c.job, pages.c.page).where(pages.c.job.in_(begun))):
            found.setdefault(job_id, set()).add(page)
    return [
        Claim(
            jobs_by_id[row.id],
            token,
            frozenset(found.get(row.id, ())),
            row.suspect,
            row.suspect_deaths,
            row.retries,
            charged.get(row.id, 0),
        )
        for row in rows
    ]


def _mine(held: Claim) -> ColumnElement[bool]:
    return and_(jobs.c.id == held.job.id, jobs.c.lease == held.token)


def renew(connection: Connection, held: Sequence[Claim], now: Now, lease_s: float) -> dict[str, JobState]:
    """Extends the leases. Returns the states of the jobs by ID; those that are missing were lost."""
    found: dict[str, JobState] = {}
    for token in {one.token for one in held}:
        ids = [one.job.id for one in held if one.token == token]
        statement = update(jobs).where(jobs.c.id.in_(ids), jobs.c.lease == token).values(**_lease(now, lease_s))
        for row in connection.execute(statement.returning(jobs.c.id, jobs.c.state)):
            found[row.id] = JobState(row.state)
    return found


def save(
    connection: Connection, held: Claim, progress: Progress, now: Now, lease_s: float, sharing: Sharing
) -> JobState:
    """Saves pages, what was opened, and the end. Returns the state that the job then has.

    Raises:
        LeaseLost: nothing was saved.
    """
    failed = sum(page.failed for page in progress.pages)
    values: dict[str, Any] = _lease(now, lease_s)
    if progress.pages:
        values |= {"saved": jobs.c.saved + len(progress.pages), "failed": jobs.c.failed + failed}
        values |= {"attempts": 0, "retries": 0, "suspect": None, "suspect_deaths": 0}
    if progress.opened is not None:
        document, count = progress.opened
        values |= {"document": document_json(document), "pages": count}
    if progress.end is not None:
        values |= _end_values(progress.end, now)
    row = connection.execute(update(jobs).where(_mine(held)).values(**values).returning(jobs.c.state)).first()
    if row is None:
        raise LeaseLost(held.job.id)
    if progress.pages:
        _insert_pages(connection, held, progress.pages, now)
    if progress.end is not None:
        owed = held.owed(progress.end.pages_read, sharing)
        charge(connection, held.job.priority.rank, held.job.tenant, owed, sharing)
    if progress.end is not None and row.state != JobState.CANCELLED.value:
        add_deliveries(connection, held.job.id, held.job.tenant, held.job.webhook, progress.end.sinks, now)
    if progress.end is not None and progress.end.fields is not None:
        keep_found(connection, held.job.id, progress.end.fields)
    return JobState(row.state)


def _insert_pages(connection: Connection, held: Claim, packed: Sequence[PackedPage], now: Now) -> None:
    rows = [{"job": held.job.id, "page": one.page, "failed": one.failed, "result": one.result} for one in packed]
    # The rows are no part of the statement, which is compiled once.
    statement = insert(connection)(pages).values(saved_at=now).on_conflict_do_nothing().returning(pages.c.page)
    landed = set(connection.execute(statement, rows).scalars())
    again = [one for one in packed if one.page not in landed]
    if again:  # saved before by a transaction of which this worker did not hear
        more = {"saved": jobs.c.saved - len(again), "failed": jobs.c.failed - sum(one.failed for one in again)}
        connection.execute(update(jobs).where(jobs.c.id == held.job.id).values(**more))


def _end_values(end: JobEnd, now: Now) -> dict[str, Any]:
    cancelling = jobs.c.state == JobState.CANCELLING.value
    failure = end.failure
    return {
        "state": case((cancelling, JobState.CANCELLED.value), else_=end.state.value),
        "ended": now,
        "lease": None,
        "lease_until": None,
        "password": None,
        "error_code": None if failure is None else failure.code,
        "error_detail": None if failure is None else clean(failure.detail),
    }


@dataclass(frozen=True, slots=True)
class Release:
    """How a claimed job goes back to the queue.

    Attributes:
        pause_s: until it may be claimed again.
        retried: it counts as a retry after a failure of the service.
        to_the_end: it goes behind what its tenant would read in a slice.
        pages_read: since it was claimed.
    """

    pause_s: float = 0.0
    retried: bool = False
    to_the_end: bool = False
    pages_read: int = 0


def release(connection: Connection, held: Claim, how: Release, now: Now, sharing: Sharing) -> JobState:
    """Gives a job back. One that is being cancelled is cancelled with that.

    Raises:
        LeaseLost: it was lost before.
    """
    cancelling = jobs.c.state == JobState.CANCELLING.value
    values: dict[str, Any] = {
        "state": case((cancelling, JobState.CANCELLED.value), else_=JobState.QUEUED.value),
        "ended": case((cancelling, now), else_=None),
        "password": case((cancelling, None), else_=jobs.c.password),
        "lease": None,
        "not_before": now + how.pause_s,
        "retries": jobs.c.retries + int(how.retried),
        "suspect": None,
        "suspect_deaths": 0,
    }
    rank, tenant = held.job.priority.rank, held.job.tenant
    owed = held.owed(how.pages_read, sharing)
    if how.to_the_end:
        values["turn"] = join(connection, rank, tenant) + owed + sharing.slice_pages - 1
    row = connection.execute(update(jobs).where(_mine(held)).values(**values).returning(jobs.c.state)).first()
    if row is None:
        raise LeaseLost(held.job.id)
    charge(connection, rank, tenant, owed, sharing)
    return JobState(row.state)


def mark_suspect(connection: Connection, held: Claim, page: int) -> None:
    """Notes that `page` is read alone now, so that the next worker knows of it if this one dies.

    Raises:
        LeaseLost: the job was lost.
    """
    # Counted here: a worker that dies before it has begun with the page again does not die of it.
    deaths = case((jobs.c.suspect == page, jobs.c.suspect_deaths + 1), else_=1)
    changed = update(jobs).where(_mine(held)).values(suspect=page, suspect_deaths=deaths)
    if not connection.execute(changed).rowcount:
        raise LeaseLost(held.job.id)
