"""What clients see and change of jobs. Functions run in a transaction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobCounts, JobFilter, JobReview, JobState
from inkgate.jobs.store.lines import needed_uploads
from inkgate.jobs.store.records import job_of
from inkgate.jobs.store.tables import fields, jobs, lines, outbox, pages
from inkgate.jobs.store.turns import Now, Sharing, forget_tenants, join, pages_left, tags_of

_ENDED = [state.value for state in JobState if state.ended]
_LEASED = (JobState.RUNNING.value, JobState.CANCELLING.value)
_MAX_AHEAD = 10_000
_MAX_REMOVED = 5000
"""Pages that are removed in one transaction, unless one job has more: others can't write meanwhile."""
_RATE_S = 300.0
_RATE_PAGES = 1000


def owned(job_id: str, tenant: str | None) -> ColumnElement[bool]:
    """The job, if it is the tenant's; None: anyone's."""
    return jobs.c.id == job_id if tenant is None else and_(jobs.c.id == job_id, jobs.c.tenant == tenant)


def row_of(connection: Connection, job_id: str, tenant: str | None, *, lock: bool = False) -> Any:  # noqa: ANN401
    """The job's row.

    Raises:
        InputRejected: "job_unknown": there is none, or it is another tenant's.
    """
    chosen = select(jobs).where(owned(job_id, tenant))
    row = connection.execute(chosen.with_for_update() if lock else chosen).first()
    if row is None:
        raise InputRejected("job_unknown", "There is no job with this ID.")
    return row


def lock_ended(connection: Connection, job_id: str) -> None:
    """Locks the row of an ended job, so that nobody queues, expires or removes it meanwhile.

    Raises:
        InputRejected: "job_unknown" or "job_not_ended".
    """
    row = row_of(connection, job_id, None, lock=True)
    if row.state not in _ENDED:
        raise InputRejected("job_not_ended", f"The job is {row.state}.")


def listed(connection: Connection, tenant: str | None, which: JobFilter, after: str, limit: int) -> list[Job]:
    """Jobs in the filter's order. `after`: the last ID that was seen."""
    order = jobs.c.id if which.oldest_first else jobs.c.id.desc()
    chosen = select(jobs).order_by(order).limit(limit)
    if tenant is not None:
        chosen = chosen.where(jobs.c.tenant == tenant)
    if which.states:
        chosen = chosen.where(jobs.c.state.in_([state.value for state in which.states]))
    if which.reviews:
        chosen = chosen.where(jobs.c.review.in_([review.value for review in which.reviews]))
    if which.form:
        chosen = chosen.where(jobs.c.options.contains(which.form, autoescape=True))
    if after:
        chosen = chosen.where(jobs.c.id > after if which.oldest_first else jobs.c.id < after)
    return [job_of(row) for row in connection.execute(chosen)]


def saved_after(connection: Connection, job_id: str, after: int, limit: int) -> list[bytes]:
    """The stored results of pages above `after`, ascending."""
    chosen = select(pages.c.result).where(pages.c.job == job_id, pages.c.page > after).order_by(pages.c.page)
    return list(connection.execute(chosen.limit(limit)).scalars())


def pages_per_s(connection: Connection, now: Now) -> float:
    """Pages saved per second: the last 1,000, or those of five minutes. 0 if there are none."""
    since = select(pages.c.saved_at).where(pages.c.saved_at > now - _RATE_S)
    last = since.order_by(pages.c.saved_at.desc()).limit(_RATE_PAGES).subquery()
    count, spent = connection.execute(select(func.count(), now - func.min(last.c.saved_at)).select_from(last)).one()
    return count / max(spent, 1.0) if count else 0.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits to be read. A document that was not opened yet counts as one page, and so does a line of a batch that
    is no job yet.

    Attributes:
        queued: by class and tenant, the number of queued jobs and lines, and of their pages.
        running: by tenant, pages of running jobs.
    """

    queued: Mapping[tuple[int, str], tuple[int, int]]
    running: Mapping[str, int]

    @property
    def pages(self) -> int:
        """All pages."""
        return sum(pages for _, pages in self.queued.values()) + sum(self.running.values())

    def pages_of(self, tenant: str) -> int:
        """Pages of a tenant."""
        queued = sum(pages for (_, owner), (_, pages) in self.queued.items() if owner == tenant)
        return queued + self.running.get(tenant, 0)


def backlog(connection: Connection) -> Backlog:
    """What waits to be read."""
    queued: dict[tuple[int, str], tuple[int, int]] = {}
    running: Counter[str] = Counter()
    of_all = select(jobs.c.state, jobs.c.rank, jobs.c.tenant, func.count(), func.sum(pages_left()))
    live = jobs.c.state.in_((JobState.QUEUED.value, JobState.RUNNING.value))
    chosen = of_all.where(live).group_by(jobs.c.state, jobs.c.rank, jobs.c.tenant)
    for state, rank, tenant, count, left in connection.execute(chosen):
        if state == JobState.QUEUED.value:
            queued[rank, tenant] = count, int(left)
        else:
            running[tenant] += int(left)
    of_lines = select(lines.c.rank, lines.c.tenant, func.sum(lines.c.number)).group_by(lines.c.rank, lines.c.tenant)
    for rank, tenant, number in connection.execute(of_lines):
        count, left = queued.get((rank, tenant), (0, 0))
        queued[rank, tenant] = count + int(number), left + int(number)
    return Backlog(queued, running)


@dataclass(frozen=True, slots=True)
class QueueAhead:
    """Queued jobs before a job, and the pages of these and of running jobs."""

    jobs: int
    pages: int


def ahead_of(connection: Connection, job: Job, others: Backlog, sharing: Sharing) -> QueueAhead:
    """What will be claimed before this job, as far as is known now. Of its tenant's own jobs, up to 10,000 are counted;
    of each other tenant's, what its share allows until then. Raises InputRejected("job_unknown") if it was removed.
    """
    if job.state is not JobState.QUEUED:
        return QueueAhead(0, 0)
    row = row_of(connection, job.id, job.tenant)
    earlier = or_(jobs.c.turn < row.turn, and_(jobs.c.turn == row.turn, jobs.c.id < job.id))
    mine = and_(jobs.c.state == JobState.QUEUED.value, jobs.c.rank == row.rank, jobs.c.tenant == job.tenant)
    first = select(pages_left().label("left")).where(mine, earlier).limit(_MAX_AHEAD).subquery()
    count, total = connection.execute(select(func.count(), func.coalesce(func.sum(first.c.left), 0))).one()
    tags, clock = tags_of(connection, row.rank)
    own = (int(total) + sharing.slice(max((job.pages or 1) - job.saved, 1))) / sharing.weight(job.tenant)
    ends = tags.get(job.tenant, clock) + own
    for (rank, tenant), (number, left) in others.queued.items():
        if rank > row.rank or (rank == row.rank and tenant == job.tenant):
            continue
        part = 1.0
        if rank == row.rank:
            until = (ends - tags.get(tenant, clock)) * sharing.weight(tenant)
            part = min(max(until / max(left, 1), 0.0), 1.0)
        count += math.ceil(number * part)
        total += math.ceil(left * part)
    return QueueAhead(count, int(total) + sum(others.running.values()))


def counts(connection: Connection, now: Now) -> JobCounts:
    """Counts over all tenants."""
    by_state = {
        JobState(state): count
        for state, count in connection.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state))
    }
    oldest = select(now - func.min(jobs.c.not_before)).where(
        jobs.c.state == JobState.QUEUED.value, jobs.c.not_before <= now
    )
    abandoned = select(func.count()).where(jobs.c.state.in_(_LEASED), jobs.c.lease_until < now)
    # Not `!= "done"`: that would read all that were delivered, instead of the index.
    which = select(outbox.c.state, func.count()).where(outbox.c.state.in_(("waiting", "dead"))).group_by(outbox.c.state)
    letters: dict[str, int] = {state: count for state, count in connection.execute(which)}  # noqa: C416 - rows
    due = select(now - func.min(outbox.c.not_before)).where(outbox.c.state == "waiting")
    return JobCounts(
        by_state,
        backlog(connection).pages,
        max(0.0, float(connection.execute(oldest).scalar() or 0.0)),
        pages_per_s(connection, now),
        letters.get("waiting", 0),
        letters.get("dead", 0),
        int(connection.execute(abandoned).scalar_one()),
        max(0.0, float(connection.execute(due).scalar() or 0.0)),
    )


def cancel(connection: Connection, job_id: str, tenant: str | None, now: Now) -> Job:
    """Cancels the job: at once if it waits; else its worker stops it.

    Raises:
        InputRejected: "job_unknown" or "job_ended".
    """
    row = row_of(connection, job_id, tenant, lock=True)
    if row.state in _ENDED:
        raise InputRejected("job_ended", f"The job is {row.state}.")
    values: dict[str, Any] = {"state": JobState.CANCELLING.value}
    if row.state == JobState.QUEUED.value:
        values = {"state": JobState.CANCELLED.value, "ended": now, "password": None}
    changed = update(jobs).where(jobs.c.id == job_id).values(**values)
    return job_of(connection.execute(changed.returning(jobs)).one())


def retry(connection: Connection, job_id: str, tenant: str | None, now: Now) -> Job:
    """Queues an ended job for its pages that failed or were not read; the others are kept.

    Raises:
        InputRejected: "job_unknown", "job_not_ended", "job_expired", or "job_ended": every page was read, and the
            fields were found.
    """
    row = row_of(connection, job_id, tenant, lock=True)
    if row.state not in _ENDED:
        raise InputRejected("job_not_ended", f"The job is {row.state}.")
    if row.expired:
        raise InputRejected("job_expired", "The upload and the result are no longer kept.")
    if row.state == JobState.SUCCEEDED.value and row.review != JobReview.WAITING.value:
        raise InputRejected("job_ended", "Every page was read.")
    gone = connection.execute(delete(pages).where(pages.c.job == job_id, pages.c.failed.is_(True))).rowcount
    changed = update(jobs).where(jobs.c.id == job_id)
    fresh = {"state": JobState.QUEUED.value, "not_before": now, "ended": None, "lease": None, "failed": 0}
    fresh |= {"attempts": 0, "retries": 0, "suspect": None, "suspect_deaths": 0, "error_code": None}
    if row.review is not None:
        fresh["review"] = JobReview.WAITING.value
    fresh |= {"error_detail": None, "deadline": None, "turn": join(connection, row.rank, row.tenant)}
    return job_of(connection.execute(changed.values(saved=jobs.c.saved - gone, **fresh).returning(jobs)).one())


def expire(connection: Connection, before: Now, limit: int) -> int:
    """Removes the pages of up to `limit` jobs that ended before this time. Returns how many jobs these were."""
    ended = select(jobs.c.id, jobs.c.saved).where(jobs.c.ended < before, jobs.c.expired.is_(False))
    # Locked, as another process may be about to queue one of them again.
    chosen = ended.order_by(jobs.c.ended).limit(limit).with_for_update(skip_locked=True)
    ids: list[str] = []
    count = 0
    for job_id, saved in connection.execute(chosen):
        count += saved
        if ids and count > _MAX_REMOVED:
            break
        ids.append(job_id)
    if ids:
        connection.execute(delete(pages).where(pages.c.job.in_(ids)))
        connection.execute(delete(fields).where(fields.c.job.in_(ids)))
        connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(expired=True, review=None))
    return len(ids)


def forget(connection: Connection, before: Now, limit: int) -> int:
    """Removes up to `limit` jobs whose pages were removed and that ended before this time, with their deliveries."""
    chosen = select(jobs.c.id).where(jobs.c.ended < before, jobs.c.expired.is_(True)).limit(limit)
    ids = list(connection.execute(chosen).scalars())
    _forget(connection, ids)
    if not ids:
        forget_tenants(connection)
    return len(ids)


def remove(connection: Connection, job_id: str, tenant: str | None) -> None:
    """Removes an ended job.

    Raises:
        InputRejected: "job_unknown" or "job_not_ended".
    """
    row = row_of(connection, job_id, tenant, lock=True)
    if row.state not in _ENDED:
        raise InputRejected("job_not_ended", f"The job is {row.state}.")
    connection.execute(delete(pages).where(pages.c.job == job_id))
    _forget(connection, [job_id])


def _forget(connection: Connection, ids: Sequence[str]) -> None:
    if ids:
        connection.execute(delete(outbox).where(outbox.c.job.in_(ids)))
        connection.execute(delete(fields).where(fields.c.job.in_(ids)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(ids)))


def unneeded(connection: Connection, uploads: Sequence[str]) -> list[str]:
    """Returns those of `uploads` that no job needs any more, nor a line of a batch."""
    chosen = select(jobs.c.upload).where(jobs.c.upload.in_(uploads), jobs.c.expired.is_(False)).distinct()
    return sorted(set(uploads) - set(connection.execute(chosen).scalars()) - needed_uploads(connection))
