"""Stores of jobs that share one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy.engine import URL

from inkgate.jobs.job import JobSource, NewJob
from inkgate.jobs.store import Claim, Due, JobStore, Sharing
from inkgate_client.types import PageError, PageResult


class SteppedClock:
    """A wall clock that tests can set."""

    def __init__(self) -> None:
        self.offset_s = 0.0

    def __call__(self) -> float:
        return datetime.now(UTC).timestamp() + self.offset_s


class Stores:
    """Stores that share one database, as several processes do."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.clock = SteppedClock()

    @asynccontextmanager
    async def store(
        self, lease_s: float = 60.0, max_queued_pages: int = 1000, sharing: Sharing | None = None
    ) -> AsyncIterator[JobStore]:
        store = JobStore(self.url, self.clock, lease_s, max_queued_pages, sharing)
        async with store.running():
            yield store


def job(tenant: str = "a", **fields: object) -> NewJob:
    return replace(NewJob(tenant, JobSource(upload="0" * 64)), **fields)  # type: ignore[arg-type]


def page(index: int, error: PageError | None = None) -> PageResult:
    return PageResult(index=index, text=f"page {index}", error=error)


async def one(store: JobStore) -> Claim:
    (claim,) = await store.claim(1)
    return claim


async def take_due(store: JobStore, limit: int, lease_s: float) -> list[Due]:
    """Up to `limit` deliveries that are due, lane by lane."""
    taken: list[Due] = []
    for lane in await store.due_lanes():
        taken += await store.take_due({lane: limit - len(taken)}, lease_s)
    return taken
