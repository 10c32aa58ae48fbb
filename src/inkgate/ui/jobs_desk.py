"""The Jobs tab's side of the server: a visitor's jobs with their forecasts, and their pages as the viewer shows them.

The browser adds, cancels, retries and removes jobs at the API itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import anyio
import httpx

from inkgate.client import AsyncInkgateClient, JobProblem, JobStatus, ServiceError
from inkgate.codec import page_to_dict
from inkgate.concurrency import Threads
from inkgate.ui.desk import Json, Visitor, client_of, gone, page_view, problem, title_of
from inkgate.ui.words import in_language

MOST_LISTED = 500
_LIST_S = 1.0
"""How long a list is reused: each visitor's jobs are asked for at most once a second, for any number of open pages."""
_KEPT_S = 60.0
_FORECASTS = 5
"""Jobs of a list that have a forecast: those that end or begin first."""
_PAGE_S = 10.0


@dataclass(slots=True)
class JobList:
    """A list that was asked for at the clock time `at`. `lock`: held while it is asked for."""

    at: float
    told: Json = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass(slots=True)
class JobDesk:
    """Serves the Jobs tabs of all visitors, on the event loop. `url`: the service on this machine; `transport`:
    replaces the network in tests.
    """

    url: str
    transport: httpx.AsyncBaseTransport | None = None
    now: Callable[[], float] = monotonic
    _lists: dict[tuple[Visitor, int], JobList] = field(default_factory=dict)
    _threads: Threads = field(default_factory=lambda: Threads("webpage_jobs", 2))

    async def jobs(self, asked: Mapping[str, Any], visitor: Visitor) -> Json:
        """The visitor's jobs, latest first. `fresh`: not a list of a moment ago, because the visitor changed a job."""
        limit = min(max(1, int(asked.get("limit", 50))), MOST_LISTED)
        now = self.now()
        self._lists = {
            key: kept for key, kept in self._lists.items() if now - kept.at < _KEPT_S or kept.lock.statistics().locked
        }
        kept = self._lists.setdefault((visitor, limit), JobList(now - _LIST_S))
        async with kept.lock:
            if asked.get("fresh") or self.now() - kept.at >= _LIST_S:
                try:
                    kept.told = await self._asked_for(limit, visitor)
                except ServiceError as error:
                    return {"error": problem(error, visitor.language)}
                kept.at = self.now()
            return kept.told

    async def _asked_for(self, limit: int, visitor: Visitor) -> Json:
        async with client_of(self.url, visitor, self.transport) as client:
            found = await client.jobs.list(limit=limit)
            forecast = {job.id: job for job in await _forecast(client, found.jobs)}
        rows = [_row(forecast.get(job.id, job), visitor.language) for job in found.jobs]
        return {"jobs": rows, "more": found.next is not None and limit < MOST_LISTED}

    async def page(self, asked: Mapping[str, Any], visitor: Visitor) -> Json:
        """The first saved page of a job with an index above `after`."""
        try:
            async with client_of(self.url, visitor, self.transport) as client:
                job = await client.jobs.get(str(asked.get("job", ""))[:64])
                with anyio.move_on_after(_PAGE_S):  # the stream waits for pages that are not saved yet
                    async with job.pages(int(asked.get("after", -1))) as pages:
                        async for page in pages:
                            return await self._threads.run(page_view, page_to_dict(page), visitor.language)
        except ServiceError as error:
            return {"error": problem(error, visitor.language)}
        return {"error": gone(visitor.language)}


async def _forecast(client: AsyncInkgateClient, jobs: Sequence[JobStatus]) -> list[JobStatus]:
    """Jobs that have not ended, with position and time left: running ones, then those that were queued first."""
    waiting = sorted((job for job in jobs if not job.has_ended), key=lambda job: (job.state == "queued", job.created))
    found = []
    for job in waiting[:_FORECASTS]:
        try:
            found.append((await client.jobs.get(job.id)).status)
        except ServiceError:  # it was removed meanwhile, or the service is busy: the list has it without a forecast
            break
    return found


def _row(job: JobStatus, language: str) -> Json:
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "ended": job.has_ended,
        "pages": job.pages.total,
        "saved": job.pages.saved,
        "failed": job.pages.failed,
        "added_at": job.created.isoformat(),
        "started_at": None if job.started is None else job.started.isoformat(),
        "ended_at": None if job.ended is None else job.ended.isoformat(),
        "position": job.position,
        "eta_s": job.eta_s,
        "problem": _problem(job.error, language),
    }


def _problem(error: JobProblem | None, language: str) -> Json | None:
    if error is None:
        return None
    told = {"code": error.code, "title": title_of(error.code), "detail": error.detail, "remedy": error.remedy}
    return dict(in_language(told, language))
