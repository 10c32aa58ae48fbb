"""Live views of jobs. One poll of the store serves all who watch a job, and all polls together are paced, so that the
number of connections doesn't decide how many statements the database gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile

import anyio
import orjson
import structlog

from inkgate.caller import Caller
from inkgate.documents.pages import parse_pages
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import Job, JobForecast
from inkgate.jobs.store import JobStore
from inkgate.serving.permits import Permit
from inkgate.serving.sending import SendingRoom
from inkgate.serving.threads import FairThreads
from inkgate_client.codec import page_to_dict
from inkgate_client.types import PageResult

log = structlog.get_logger(__name__)

STATEMENTS_PER_S = 50.0
"""Maximum statements for all watched jobs together. The more jobs are watched, the less often each is looked at."""
BATCH_PAGES = 20
"""Pages that are in memory at once for one stream."""
_BATCH_PAGES_WITH_IMAGES = 4
_STORED_BATCHES = 4
_RETRY_S = 5.0


def batch_pages(job: Job) -> int:
    """Pages of `job` that are loaded at once: fewer with images, which take a megabyte or more of each."""
    return _BATCH_PAGES_WITH_IMAGES if job.options.task.images else BATCH_PAGES


class Pace:
    """Lets at most `per_s` statements begin each second; the others wait in the order in which they came."""

    def __init__(
        self,
        poll_s: float = 1.0,
        per_s: float = STATEMENTS_PER_S,
        clock: Callable[[], float] = anyio.current_time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """`poll_s`: how often one job is looked at."""
        self.poll_s = poll_s
        self._interval_s = 1 / per_s
        self._clock = clock
        self._sleep = sleep
        self._next_at = float("-inf")

    async def wait(self, until: float = float("-inf")) -> None:
        """Waits for a turn, which begins at `until` at the earliest, by the clock."""
        now = self._clock()
        if until > now:
            await self._sleep(until - now)
            now = self._clock()
        at = max(now, self._next_at)
        self._next_at = at + self._interval_s
        if at > now:
            await self._sleep(at - now)

    @property
    def now(self) -> float:
        return self._clock()


@dataclass(frozen=True, slots=True)
class PageLine:
    """A saved page as a line of JSON."""

    index: int
    line: bytes


def page_lines(pages: Sequence[PageResult]) -> list[PageLine]:
    """The pages as published JSON. Blocking."""
    return [PageLine(page.index, orjson.dumps(page_to_dict(page), option=orjson.OPT_APPEND_NEWLINE)) for page in pages]


class JobWatch:
    """One job, as all who watch it see it.

    Attributes:
        job: as it was at the last poll.
        version: changes with `job`.
        gone: set once the job was removed.
    """

    def __init__(self, job: Job, store: JobStore, threads: FairThreads, pace: Pace) -> None:
        self.job = job
        self.version = 0
        self.gone: InputRejected | None = None
        self._store = store
        self._threads = threads
        self._caller = Caller(job.tenant, flow=job.id)
        self._pace = pace
        self._polled_at = pace.now
        self._polling: anyio.Event | None = None
        self._fetching = anyio.Lock()
        self._batches: dict[int, list[PageLine]] = {}
        self._forecast: JobForecast | None = None

    async def tick(self) -> None:
        """Returns after the next poll, which one of the callers does for all."""
        if self._polling is not None:
            await self._polling.wait()
            return
        self._polling = polled = anyio.Event()
        try:
            await self._pace.wait(self._polled_at + self._pace.poll_s)
            await self._poll()
        finally:
            self._polling = None
            polled.set()

    async def _poll(self) -> None:
        try:
            job = await self._store.get(self.job.id, None)
        except InputRejected as error:
            self.gone = error
            return
        except Overloaded:  # the database is unavailable: the watchers stay, as it may come back
            return
        finally:
            self._polled_at = self._pace.now
        if job != self.job:
            self.job = job
            self.version += 1
            self._batches.clear()
            self._forecast = None

    async def pages(self, after: int) -> list[PageLine]:
        """The next saved pages with an index above `after`, ascending. Watchers at the same page share a statement."""
        async with self._fetching:
            if after in self._batches:
                return self._batches[after]
            version = self.version
            await self._pace.wait()
            found = await self._store.pages(self.job.id, after, batch_pages(self.job), self.job.tenant)
            lines = await self._threads.run(self._caller, len(found), page_lines, found)
            if version == self.version:
                if len(self._batches) >= _STORED_BATCHES:
                    del self._batches[next(iter(self._batches))]
                self._batches[after] = lines
            return lines

    async def forecast(self) -> JobForecast | None:
        """Returns when the job may end; None once it has ended or was removed, and while the database is
        unavailable.
        """
        if self.job.state.ended:
            return None
        async with self._fetching:
            if self._forecast is None:
                await self._pace.wait()
                with suppress(Overloaded, InputRejected):  # it was removed, which the next poll finds
                    self._forecast = await self._store.forecast(self.job)
            return self._forecast


class PageOrder:
    """Holds saved pages back until all selected pages before them are saved: jobs with `pages=7,1` save page 7 first.
    After the job's end, all are released.
    """

    def __init__(self, after: int) -> None:
        self._after = after
        self._expected: list[int] | None = None
        self._place = 0

    def expected(self, job: Job) -> list[int] | None:
        """Indexes of the pages to come, ascending; None until the document was opened."""
        if self._expected is None and job.document is not None:
            count = job.document.page_count
            selected = parse_pages(job.options.pages).indexes(count) if job.options.pages else range(count)
            self._expected = sorted(index for index in selected if index > self._after)
        return self._expected

    def release(self, lines: Sequence[PageLine], job: Job) -> list[PageLine]:
        """The beginning of `lines` that may be sent."""
        expected = self.expected(job)
        if job.state.ended or expected is None:
            return list(lines)
        upcoming = iter(expected[self._place : self._place + len(lines)])
        ready = list(takewhile(lambda line: line.index == next(upcoming, None), lines))
        self._place += len(ready)
        return ready


class JobWatches:
    """The watched jobs, and how many streams each tenant has open. Used from one event loop.

    Attributes:
        room: for what is sent.
    """

    def __init__(self, store: JobStore, threads: FairThreads, max_streams: int, pace: Pace, room: SendingRoom) -> None:
        """`max_streams`: of one tenant, at once."""
        self.room = room
        self._store = store
        self._threads = threads
        self._max_streams = max_streams
        self._pace = pace
        self._watches: dict[str, JobWatch] = {}
        self._watchers: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()

    @property
    def watched(self) -> int:
        """Number of watched jobs."""
        return len(self._watches)

    @contextmanager
    def stream(self, tenant: str) -> Iterator[Permit]:
        """Counts a response of any length that `tenant` gets. The permit is charged for what it keeps in memory.

        Raises:
            Overloaded: "share_exceeded": the tenant has too many; or as SendingRoom.sending.
        """
        if self._streams[tenant] >= self._max_streams:
            detail = f"You have {self._max_streams} results and streams of jobs open, of `jobs.max_streams`."
            raise Overloaded("share_exceeded", detail, _RETRY_S)
        self._streams[tenant] += 1
        try:
            with self.room.sending(tenant) as permit:
                yield permit
        finally:
            self._streams[tenant] -= 1
            if not self._streams[tenant]:
                del self._streams[tenant]

    @contextmanager
    def watch(self, job: Job) -> Iterator[JobWatch]:
        """The watch of `job`, shared with others who watch it."""
        watch = self._watches.get(job.id)
        if watch is None:
            watch = self._watches[job.id] = JobWatch(job, self._store, self._threads, self._pace)
        self._watchers[job.id] += 1
        try:
            yield watch
        finally:
            self._watchers[job.id] -= 1
            if not self._watchers[job.id]:
                del self._watchers[job.id], self._watches[job.id]

    async def until_ended(self, job: Job, wait_s: float) -> Job:
        """`job` once it has ended, or as it stands after `wait_s`. Raises InputRejected("job_unknown") if it was
        removed meanwhile.
        """
        if job.state.ended or wait_s <= 0:
            return job
        with self.watch(job) as watch:
            with anyio.move_on_after(wait_s):
                while not watch.job.state.ended and watch.gone is None:
                    await watch.tick()
            if watch.gone is not None:
                raise watch.gone.with_traceback(None)
            return watch.job
