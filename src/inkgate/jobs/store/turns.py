"""Chooses the job that runs next: turns of tenants, by pages. Functions run in a transaction.

A higher class goes first. In a class, the tenant with the fewest running jobs goes first; of those with as many, the
one whose next claim ends first in virtual time: weighted fair queueing, as in serving/fair.py, by pages, where a claim
reads at most `slice_pages`. The engine is shared by tenant, too; what counts here is that each tenant has places, and
whose turn it is where there are more tenants than places.

A tenant is charged for a claim when it is made, and for what was read in place of that when it ends. What a claim reads
beyond a slice is free: nobody waits then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import CTE, ColumnElement, Connection, Select, and_, delete, func, or_, select

from inkgate.caller import Priority
from inkgate.jobs.job import Job, JobState
from inkgate.jobs.store.tables import insert, jobs, shares

Now = ColumnElement[float]
_LONGEST_PAUSE_S = 900.0
"""A job that is due later than this from now was put into the queue before the clock was set back."""
_TURNS = 7860_0002
"""PostgreSQL's lock of the turns."""
_LOCKED = "inkgate_turns"
_CLOCK = ""
"""Stands for a tenant in the row with the virtual time of a class."""
_RUNNING = (JobState.RUNNING.value, JobState.CANCELLING.value)


@dataclass(frozen=True, slots=True)
class Sharing:
    """How tenants share the queue.

    Attributes:
        tenant_share: share of the room that other tenants leave which one may fill.
        slice_pages: pages that a claim may read while jobs of others wait.
        weights: by tenant, above 0; 1 for others.
    """

    tenant_share: float = 1.0
    slice_pages: int = 50
    weights: Mapping[str, float] = field(default_factory=dict)

    def weight(self, tenant: str) -> float:
        """The weight of a tenant."""
        return self.weights.get(tenant, 1.0)

    def slice(self, page_count: int) -> int:
        """What of these pages a claim is charged for."""
        return min(page_count, self.slice_pages)


@dataclass(frozen=True, slots=True)
class NextJob:
    """The job that would be claimed now.

    Attributes:
        cost: pages that its tenant is charged when it is claimed.
        running: number of running jobs by tenant.
    """

    id: str
    rank: int
    tenant: str
    cost: int
    running: Mapping[str, int]
    sharing: Sharing

    def goes_before(self, job: Job, pages_read: int) -> bool:
        """Whether it should have the place of a running job, which has read these pages since it was claimed."""
        if self.rank != job.priority.rank or self.tenant == job.tenant:
            return self.rank < job.priority.rank
        here = self.running.get(self.tenant, 0) / self.sharing.weight(self.tenant)
        left = (self.running.get(job.tenant, 1) - 1) / self.sharing.weight(job.tenant)
        return here < left or (here == left and pages_read >= self.sharing.slice_pages)


def lock_turns(connection: Connection) -> None:
    """Locks the turns of all tenants until the end of the transaction, on PostgreSQL. Call it first in a transaction.

    A transaction has what several callers write, so it locks rows of jobs and turns in any order: without this lock,
    eight processes deadlocked once a second.
    """
    if connection.dialect.name == "postgresql" and connection.info.get(_LOCKED) is not connection.get_transaction():
        connection.execute(select(func.pg_advisory_xact_lock(_TURNS)))
        connection.info[_LOCKED] = connection.get_transaction()


def due(now: Now) -> ColumnElement[bool]:
    """Jobs that may be claimed: queued, and their time has come."""
    begun = or_(jobs.c.not_before <= now, jobs.c.not_before > now + _LONGEST_PAUSE_S)
    return and_(jobs.c.state == JobState.QUEUED.value, begun)


def pages_left() -> ColumnElement[int]:
    """Pages of a job that are not saved; a document that was not opened yet counts as one page."""
    return func.coalesce(jobs.c.pages, 1) - jobs.c.saved


def next_in_turn(connection: Connection, sharing: Sharing, now: Now) -> NextJob | None:
    """The job that is to be claimed now; None if none waits."""
    for priority in Priority:
        heads = _heads(connection, priority.rank, now)
        if heads:
            return _first(connection, heads, sharing)
    return None


@dataclass(frozen=True, slots=True)
class _Head:
    """The first job of a tenant in its class. `left`: pages to read."""

    id: str
    rank: int
    tenant: str
    left: int


def _heads(connection: Connection, rank: int, now: Now) -> list[_Head]:
    """The first job of each tenant that has one that is due in this class."""
    found = [job_id for job_id in connection.execute(first_jobs(rank, now)).scalars() if job_id is not None]
    heads: list[_Head] = []
    for start in range(0, len(found), 500):
        chosen = select(jobs.c.id, jobs.c.tenant, jobs.c.pages, jobs.c.saved)
        for row in connection.execute(chosen.where(jobs.c.id.in_(found[start : start + 500]))):
            heads.append(_Head(row.id, rank, row.tenant, max((row.pages or 1) - row.saved, 1)))  # noqa: PERF401
    return heads


def first_jobs(rank: int, now: Now) -> Select[Any]:
    """The IDs of the first job of each tenant in this class; None for a tenant none of whose jobs is due. However
    many jobs each has, it costs two look-ups in the index.
    """
    tenants = distinct(jobs.c.tenant, and_(jobs.c.state == JobState.QUEUED.value, jobs.c.rank == rank))
    own = and_(due(now), jobs.c.rank == rank, jobs.c.tenant == tenants.c.value)
    head = select(jobs.c.id).where(own).order_by(jobs.c.turn, jobs.c.id).limit(1).correlate(tenants).scalar_subquery()
    return select(head).select_from(tenants).where(tenants.c.value.is_not(None))


def distinct(column: ColumnElement[str], which: ColumnElement[bool]) -> CTE:
    """The distinct values of a column, as `value`, and a row with null. They are found one by one in an index that
    begins with the columns of `which` and this one: neither database has such a scan of its own.
    """
    first = select(func.min(column).label("value")).where(which).cte("distinct_values", recursive=True)
    following = select(func.min(column)).where(which, column > first.c.value).scalar_subquery()
    return first.union_all(select(following).where(first.c.value.is_not(None)))


def _first(connection: Connection, heads: Sequence[_Head], sharing: Sharing) -> NextJob:
    of_tenant = select(jobs.c.tenant, func.count()).where(jobs.c.state.in_(_RUNNING)).group_by(jobs.c.tenant)
    running: dict[str, int] = {tenant: count for tenant, count in connection.execute(of_tenant)}  # noqa: C416 - rows
    tags, clock = tags_of(connection, heads[0].rank)

    def order(head: _Head) -> tuple[float, float, str]:
        weight = sharing.weight(head.tenant)
        ends = tags.get(head.tenant, clock) + sharing.slice(head.left) / weight
        return running.get(head.tenant, 0) / weight, ends, head.id

    head = min(heads, key=order)
    return NextJob(head.id, head.rank, head.tenant, sharing.slice(head.left), running, sharing)


def tags_of(connection: Connection, rank: int) -> tuple[dict[str, float], float]:
    """Returns, by tenant, the virtual time at which its next work starts; and the virtual time now, which stands for
    those that have none.
    """
    rows = connection.execute(select(shares.c.tenant, shares.c.used).where(shares.c.rank == rank))
    tags = {tenant: float(used) for tenant, used in rows}
    return tags, tags.pop(_CLOCK, 0.0)


def join(connection: Connection, rank: int, tenant: str) -> int:
    """The tenant has one more job in this class. Returns the turn of a job of one page.

    A tenant that comes, or comes back, starts at the virtual time: being away gains nothing.
    """
    lock_turns(connection)
    tags, clock = tags_of(connection, rank)
    tag = tags.get(tenant, clock)
    if tag < clock and not _is_active(connection, rank, tenant):
        tag = clock
    if tags.get(tenant) != tag:
        _set_tag(connection, rank, tenant, tag)
    return math.floor(tag) + 1


def charge(connection: Connection, rank: int, tenant: str, page_count: int, sharing: Sharing) -> None:
    """Charges an active tenant for pages; negative: that were charged and not read."""
    if not page_count:
        return
    lock_turns(connection)
    tags, clock = tags_of(connection, rank)
    _set_tag(connection, rank, tenant, tags.get(tenant, clock) + page_count / sharing.weight(tenant))
    active = {tenant, *_active(connection, rank)}
    _set_tag(connection, rank, _CLOCK, clock + page_count / sum(sharing.weight(each) for each in active))


def _set_tag(connection: Connection, rank: int, tenant: str, tag: float) -> None:
    statement = insert(connection)(shares).values(rank=rank, tenant=tenant, turn=0, used=tag)
    connection.execute(statement.on_conflict_do_update(index_elements=["rank", "tenant"], set_={"used": tag}))


def _of_class(rank: int) -> ColumnElement[bool]:
    return and_(jobs.c.state.in_((JobState.QUEUED.value, *_RUNNING)), jobs.c.rank == rank)


def _is_active(connection: Connection, rank: int, tenant: str) -> bool:
    mine = select(jobs.c.id).where(_of_class(rank), jobs.c.tenant == tenant).limit(1)
    return connection.execute(mine).first() is not None


def _active(connection: Connection, rank: int) -> list[str]:
    """The tenants with a job that waits or runs in this class."""
    known = select(shares.c.tenant).where(shares.c.rank == rank, shares.c.tenant != _CLOCK)
    own = and_(_of_class(rank), jobs.c.tenant == shares.c.tenant)
    return list(connection.execute(known.where(select(jobs.c.id).where(own).exists())).scalars())


def forget_tenants(connection: Connection) -> None:
    """Forgets the tenants that would start now if they came back."""
    lock_turns(connection)
    for priority in Priority:
        tags, clock = tags_of(connection, priority.rank)
        old = [tenant for tenant, tag in tags.items() if tag <= clock]
        gone = sorted(set(old) - set(_active(connection, priority.rank)))
        for start in range(0, len(gone), 500):
            which = and_(shares.c.rank == priority.rank, shares.c.tenant.in_(gone[start : start + 500]))
            connection.execute(delete(shares).where(which))
