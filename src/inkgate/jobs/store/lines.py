"""Lines of batches that are no jobs yet. They are kept some to a row, and become jobs, in order, as their tenant's
earlier lines are claimed: so a batch of any length adds few rows to the queue. Functions run in a transaction.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import structlog
from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, and_, delete, func, select, update

from inkgate.caller import Priority
from inkgate.jobs.job import AddedJob, Job, JobState, NewJob
from inkgate.jobs.store.queue import BatchLines, add
from inkgate.jobs.store.records import job_of, new_row
from inkgate.jobs.store.tables import jobs, lines
from inkgate.jobs.store.turns import Now, distinct, due

log = structlog.get_logger(__name__)

LINES_AT_ONCE = 32
"""Lines in a row, and of a tenant's lines of a class that are jobs and due: below that, the next row becomes jobs."""
_Lines = list[tuple[str, NewJob]]
_LINES: TypeAdapter[_Lines] = TypeAdapter(_Lines)


def add_batch(connection: Connection, new: Sequence[tuple[str, NewJob]], now: Now) -> AddedJob:
    """Adds a batch, whose first line is a job at once: its idempotency key is that of the batch. Returns that job.

    Raises:
        InputRejected: "key_reused": the key is that of another batch.
    """
    first_id, first = new[0]
    rows = [new_row(job, job_id) for job_id, job in new]
    whole = hashlib.sha256("".join(row["fingerprint"] for row in rows).encode()).hexdigest()
    created = float(connection.execute(select(now)).scalar_one())
    (added,) = add(connection, new[:1], now, BatchLines(first_id, created, whole))
    if added.duplicate:
        return added
    for start in range(1, len(new), LINES_AT_ONCE):
        some = new[start : start + LINES_AT_ONCE]
        uploads = sorted({job.source.upload for _, job in some if job.source.upload})
        values = {"id": some[0][0], "batch": first_id, "tenant": first.tenant, "rank": first.priority.rank}
        values |= {"number": len(some), "uploads": " ".join(uploads), "packed": _pack(some)}
        connection.execute(lines.insert().values(created=created, **values))
    _begin_next(connection, first.tenant, first.priority.rank, now)
    return added


def _pack(some: Sequence[tuple[str, NewJob]]) -> bytes:
    return zlib.compress(_LINES.dump_json(list(some)), 1)


def _unpack(row: Row[Any]) -> _Lines:
    """The lines of a row; none if a later version has packed it: it must not keep this one from all others."""
    try:
        return _LINES.validate_json(zlib.decompress(row.packed))
    except (ValueError, zlib.error) as error:
        _log_not_understood(row.id, type(error).__name__)
        return []


@lru_cache(1000)
def _log_not_understood(row_id: str, error: str) -> None:
    """Logs it once."""
    log.warning("lines_not_understood", lines=row_id, error=error)


def begin_lines(connection: Connection, now: Now) -> None:
    """Makes jobs of the next lines of each tenant few of whose lines in a class are jobs that are due."""
    for priority in Priority:
        tenants = distinct(lines.c.tenant, lines.c.rank == priority.rank)
        for tenant in list(connection.execute(select(tenants.c.value).where(tenants.c.value.is_not(None))).scalars()):
            _begin_next(connection, tenant, priority.rank, now)


def _begin_next(connection: Connection, tenant: str, rank: int, now: Now) -> None:
    own = and_(due(now), jobs.c.tenant == tenant, jobs.c.rank == rank, jobs.c.batch.is_not(None))
    waiting = select(jobs.c.id).where(own).limit(LINES_AT_ONCE).subquery()
    if connection.execute(select(func.count()).select_from(waiting)).scalar_one() >= LINES_AT_ONCE:
        return
    first = select(lines).where(lines.c.tenant == tenant, lines.c.rank == rank).order_by(lines.c.id).limit(1)
    row = connection.execute(first).first()
    if row is not None:
        _begin(connection, row, now)


def _begin(connection: Connection, row: Row[Any], now: Now) -> list[str]:
    """Makes jobs of the lines of a row. Returns their IDs."""
    some = _unpack(row)
    if some:
        add(connection, some, now, BatchLines(row.batch, row.created))
        connection.execute(delete(lines).where(lines.c.id == row.id))
    return [job_id for job_id, _ in some]


def cancel_lines(connection: Connection, tenant: str, job_ids: Sequence[str], now: Now) -> None:
    """Makes cancelled jobs of the lines with these IDs that are no jobs yet."""
    ended = {"state": JobState.CANCELLED.value, "ended": now, "password": None}
    for start in range(0, len(job_ids), 500):
        which = and_(lines.c.tenant == tenant, lines.c.id.in_(job_ids[start : start + 500]))
        for row in list(connection.execute(select(lines).where(which))):
            begun = _begin(connection, row, now)
            connection.execute(update(jobs).where(jobs.c.id.in_(begun)).values(**ended))


def waiting_lines(connection: Connection, tenant: str, id_start: str, limit: int) -> list[Job]:
    """The tenant's lines that are no jobs yet, as jobs that wait: the latest `limit` whose IDs begin with this."""
    which = and_(lines.c.tenant == tenant, lines.c.id >= id_start, lines.c.id < f"{id_start}g")
    found: list[Job] = []
    for row in connection.execute(select(lines).where(which).order_by(lines.c.id.desc())):
        found += [_as_job(job, job_id, row.created) for job_id, job in reversed(_unpack(row))]
        if len(found) >= limit:
            break
    return found[:limit]


def _as_job(job: NewJob, job_id: str, created: float) -> Job:
    unknown = dict.fromkeys(("started", "ended", "pages", "document", "error_code", "error_detail"))
    counts = dict.fromkeys(("saved", "failed", "attempts"), 0)
    return job_of(
        SimpleNamespace(**new_row(job, job_id), **unknown, **counts, expired=False, created=created, not_before=created)
    )


def needed_uploads(connection: Connection) -> set[str]:
    """The uploads of lines that are no jobs yet."""
    return {upload for uploads in connection.execute(select(lines.c.uploads)).scalars() for upload in uploads.split()}
