"""The outbox: results that are to be delivered to sinks. Functions run in a transaction."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select, update

from inkgate.jobs.job import WEBHOOK, Job
from inkgate.jobs.store.records import clean, job_of
from inkgate.jobs.store.tables import jobs, outbox
from inkgate.jobs.store.turns import Now, distinct

WEBHOOK_LANES = 256
"""Number of lanes of a tenant that are looked at together: a tenant names hosts freely."""
_GIVEN_AT_ONCE = 500


@dataclass(frozen=True, slots=True, order=True)
class DeliveryLane:
    """A tenant's deliveries to one receiver. `endpoint`: a sink of the settings, or the host of webhooks, whose name
    then begins with `webhook `; empty: deliveries of an earlier version.
    """

    endpoint: str
    tenant: str

    @classmethod
    def of(cls, sink: str, tenant: str, webhook: str) -> Self:
        """The lane of a delivery. Webhooks with URLs that are not valid have one."""
        if sink != WEBHOOK:
            return cls(f"sink {sink}", tenant)
        try:
            host = urlsplit(webhook).netloc
        except ValueError:  # of a version that checked less
            host = ""
        return cls(f"webhook {host}", tenant)

    @property
    def is_webhook(self) -> bool:
        """Whether the tenant has named the receiver, which is then nobody else's concern."""
        return self.endpoint.startswith("webhook ")

    @property
    def key(self) -> str:
        """The lane's key in the table."""
        return f"{self.endpoint}\n{self.tenant}" if self.endpoint else ""

    @classmethod
    def from_key(cls, key: str) -> Self:
        """The lane of a key."""
        endpoint, _, tenant = key.partition("\n")
        return cls(endpoint, tenant)


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


def add_deliveries(
    connection: Connection, job_id: str, tenant: str, webhook: str, sinks: Sequence[str], now: Now
) -> None:
    """Adds a delivery of a job to each sink."""
    rows = [
        {
            "id": secrets.token_hex(16),
            "job": job_id,
            "sink": sink,
            "state": "waiting",
            "attempts": 0,
            "lane": clean(DeliveryLane.of(sink, tenant, webhook).key),
        }
        for sink in sinks
    ]
    if rows:
        connection.execute(outbox.insert().values(not_before=now), rows)


def due_lanes(connection: Connection, now: Now) -> list[DeliveryLane]:
    """The lanes with a delivery that is due. Of a tenant with more than `WEBHOOK_LANES` hosts of webhooks, it is other
    ones each time.
    """
    lanes = distinct(outbox.c.lane, outbox.c.state == "waiting")
    first = select(outbox.c.id).where(_due_in(lanes.c.value, now)).correlate(lanes)
    found: list[DeliveryLane] = []
    webhooks: dict[str, list[DeliveryLane]] = {}
    for key in connection.execute(select(lanes.c.value).where(first.exists())).scalars():
        lane = DeliveryLane.from_key(key)
        (webhooks.setdefault(lane.tenant, []) if lane.is_webhook else found).append(lane)
    for own in webhooks.values():
        found += own if len(own) <= WEBHOOK_LANES else random.sample(own, WEBHOOK_LANES)
    return found


def _due_in(lane: ColumnElement[str] | str, now: Now) -> ColumnElement[bool]:
    return and_(outbox.c.state == "waiting", outbox.c.lane == lane, outbox.c.not_before <= now)


def take_due(
    connection: Connection, token: str, room: Mapping[DeliveryLane, int], now: Now, lease_s: float
) -> list[Due]:
    """Takes up to this many deliveries of each lane, the oldest first. They are due again after `lease_s` if nobody
    tells of their end. Those of an earlier version only get their lanes.
    """
    ids: list[str] = []
    for lane, count in room.items():
        if not lane.key:
            _give_lanes(connection, now)
            continue
        chosen = select(outbox.c.id).where(_due_in(lane.key, now)).order_by(outbox.c.not_before).limit(count)
        ids += connection.execute(chosen.with_for_update(skip_locked=True)).scalars()
    if not ids:
        return []
    values = {"token": token, "attempts": outbox.c.attempts + 1, "not_before": now + lease_s}
    connection.execute(update(outbox).where(outbox.c.id.in_(ids)).values(**values))
    both = select(outbox.c.id.label("delivery"), outbox.c.sink, outbox.c.attempts.label("attempt"), jobs)
    rows = connection.execute(both.join(jobs, jobs.c.id == outbox.c.job).where(outbox.c.id.in_(ids)))
    return [Due(row.delivery, row.sink, job_of(row), row.attempt, token) for row in rows]


def _give_lanes(connection: Connection, now: Now) -> None:
    """Gives deliveries of an earlier version their lanes, in which they then wait as others do."""
    both = select(outbox.c.id, outbox.c.sink, jobs.c.tenant, jobs.c.webhook).join(jobs, jobs.c.id == outbox.c.job)
    chosen = both.where(_due_in("", now)).order_by(outbox.c.not_before).limit(_GIVEN_AT_ONCE)
    rows = [
        {"given": row.id, "to": clean(DeliveryLane.of(row.sink, row.tenant, row.webhook).key)}
        for row in connection.execute(chosen.with_for_update(skip_locked=True, of=outbox))
    ]
    if rows:
        connection.execute(update(outbox).where(outbox.c.id == bindparam("given")).values(lane=bindparam("to")), rows)


def settle(connection: Connection, due: Due, **values: Any) -> None:  # noqa: ANN401 - columns
    """Sets how the attempt ended, unless another process has taken the delivery over."""
    if values.get("error"):
        values["error"] = clean(values["error"])
    connection.execute(update(outbox).where(outbox.c.id == due.id, outbox.c.token == due.token).values(**values))


def deliver_again(connection: Connection, job_id: str, now: Now) -> None:
    """Adds a delivery to each sink that has had the job's result. One that was never tried will have what has changed;
    one that was may have been received, or be under way, with what was there before, and keeps its ID.
    """
    tenant, webhook = connection.execute(select(jobs.c.tenant, jobs.c.webhook).where(jobs.c.id == job_id)).one()
    # Locked, or one could be taken before this is committed, and be made with what was there before.
    each = select(outbox.c.sink, outbox.c.state, outbox.c.attempts).where(outbox.c.job == job_id).with_for_update()
    untried: dict[str, bool] = {}
    for sink, state, attempts in connection.execute(each):
        untried[sink] = untried.get(sink, False) or (state == "waiting" and not attempts)
    had = [sink for sink, waits in untried.items() if not waits]
    add_deliveries(connection, job_id, tenant, webhook, had, now)


def redeliver(connection: Connection, job_id: str | None, now: Now) -> int:
    """Makes dead deliveries due again: of a job, or all. Returns how many."""
    which: ColumnElement[bool] = outbox.c.state == "dead"
    if job_id is not None:
        which = and_(which, outbox.c.job == job_id)
    changed = update(outbox).where(which).values(state="waiting", attempts=0, not_before=now)
    return connection.execute(changed).rowcount
