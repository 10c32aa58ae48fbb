"""The outbox: results that are to be delivered to sinks. Functions run in a transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select, update

from inkgate.jobs.job import Job
from inkgate.jobs.store.queue import add_deliveries
from inkgate.jobs.store.records import clean, job_of
from inkgate.jobs.store.tables import jobs, outbox
from inkgate.jobs.store.turns import Now


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that this process has to make now. `attempt`: from 1. `token`: fences it, as a claim's."""

    id: str
    sink: str
    job: Job
    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery of a job. `state`: `waiting`, `done` or `dead`. `error`: of the last attempt that failed."""

    sink: str
    state: str
    attempts: int
    not_before: float
    error: str


def of_job(connection: Connection, job_id: str) -> list[StoredDelivery]:
    """All deliveries of a job, the oldest first."""
    chosen = select(outbox).where(outbox.c.job == job_id).order_by(outbox.c.id)
    return [
        StoredDelivery(row.sink, row.state, row.attempts, row.not_before, row.error or "")
        for row in connection.execute(chosen)
    ]


def take_due(
    connection: Connection, token: str, limit: int, skip: Collection[str], now: Now, lease_s: float
) -> list[Due]:
    """Up to `limit` deliveries, which are due again after `lease_s` if nobody tells of their end."""
    waits = and_(outbox.c.state == "waiting", outbox.c.not_before <= now, outbox.c.sink.not_in(skip))
    chosen = select(outbox.c.id).where(waits).order_by(outbox.c.not_before).limit(limit)
    ids = list(connection.execute(chosen.with_for_update(skip_locked=True)).scalars())
    if not ids:
        return []
    values = {"token": token, "attempts": outbox.c.attempts + 1, "not_before": now + lease_s}
    connection.execute(update(outbox).where(outbox.c.id.in_(ids)).values(**values))
    both = select(outbox.c.id.label("delivery"), outbox.c.sink, outbox.c.attempts.label("attempt"), jobs)
    rows = connection.execute(both.join(jobs, jobs.c.id == outbox.c.job).where(outbox.c.id.in_(ids)))
    return [Due(row.delivery, row.sink, job_of(row), row.attempt, token) for row in rows]


def settle(connection: Connection, due: Due, **values: Any) -> None:  # noqa: ANN401 - columns
    """Sets how the attempt ended, unless another process has taken the delivery over."""
    if values.get("error"):
        values["error"] = clean(values["error"])
    connection.execute(update(outbox).where(outbox.c.id == due.id, outbox.c.token == due.token).values(**values))


def deliver_again(connection: Connection, job_id: str, now: Now) -> None:
    """Adds a delivery to each sink that has had the job's result. One that was never tried will have what has changed;
    one that was may have been received, or be under way, with what was there before, and keeps its ID.
    """
    # Locked, or one could be taken before this is committed, and be made with what was there before.
    each = select(outbox.c.sink, outbox.c.state, outbox.c.attempts).where(outbox.c.job == job_id).with_for_update()
    untried: dict[str, bool] = {}
    for sink, state, attempts in connection.execute(each):
        untried[sink] = untried.get(sink, False) or (state == "waiting" and not attempts)
    add_deliveries(connection, job_id, [sink for sink, waits in untried.items() if not waits], now)


def redeliver(connection: Connection, job_id: str | None, now: Now) -> int:
    """Makes dead deliveries due again: of a job, or all. Returns how many."""
    which: ColumnElement[bool] = outbox.c.state == "dead"
    if job_id is not None:
        which = and_(which, outbox.c.job == job_id)
    changed = update(outbox).where(which).values(state="waiting", attempts=0, not_before=now)
    return connection.execute(changed).rowcount
