"""Watched jobs: one poll for all who watch a job, few statements for all jobs together, and pages in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from inkgate.api.jobs.pagewise import PagewiseFormat, PagewiseJson, PagewiseMarkdown, PagewiseText, document_of
from inkgate.api.jobs.watches import JobWatches, Pace, PageLine, PageOrder
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import Job, JobDocument, JobForecast, JobOptions, JobState
from inkgate.serving.sending import SendingRoom
from inkgate.serving.threads import FairThreads
from inkgate.settings import ServingSettings
from inkgate_client.formats import Format, render
from inkgate_client.types import PageError, PageResult
from support.jobs import SUCCEEDED, job

pytestmark = pytest.mark.anyio

RUNNING = job(state=JobState.RUNNING, ended=None, pages=4, saved=0, document=JobDocument("image/tiff", 9, 4, "fake"))


@dataclass
class Clock:
    """Time that passes by sleeping."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await anyio.lowlevel.checkpoint()


@dataclass
class CountingStore:
    """Counts statements. `answers`: what `get` returns or raises, the last one for good."""

    answers: list[Job | Exception]
    saved: list[PageResult] = field(default_factory=list)
    statements: int = 0

    async def get(self, job_id: str, tenant: str | None) -> Job:
        self.statements += 1
        await anyio.lowlevel.checkpoint()
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def pages(self, job_id: str, after: int = -1, limit: int = 100, tenant: str = "") -> Sequence[PageResult]:
        self.statements += 1
        await anyio.lowlevel.checkpoint()
        return [page for page in self.saved if page.index > after][:limit]

    async def forecast(self, found: Job) -> JobForecast:
        self.statements += 1
        return JobForecast(0, 1.0)


def watches_of(store: CountingStore, clock: Clock, per_s: float = 50.0) -> JobWatches:
    as_store: Any = store
    return JobWatches(
        as_store, FairThreads(1), 2, Pace(1.0, per_s, clock, clock.sleep), SendingRoom.of(ServingSettings())
    )


async def test_a_hundred_watchers_cost_one_statement_a_poll() -> None:
    store, clock = CountingStore([RUNNING]), Clock()
    watches = watches_of(store, clock)

    async def watch() -> None:
        with watches.watch(RUNNING) as watch:
            for _ in range(5):
                await watch.tick()

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(watch)
    assert store.statements == 5
    assert clock.now == 5.0
    assert watches.watched == 0


async def test_a_poll_goes_on_when_the_watcher_that_does_it_leaves() -> None:
    store, clock = CountingStore([RUNNING]), Clock()
    with watches_of(store, clock).watch(RUNNING) as watch:
        scope = anyio.CancelScope()

        async def leave() -> None:
            with scope:
                await watch.tick()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(watch.tick)
            scope.cancel()
        await watch.tick()
    assert store.statements >= 1


async def test_many_jobs_share_the_statements_of_a_second() -> None:
    store, clock = CountingStore([RUNNING]), Clock()
    watches = watches_of(store, clock, per_s=10.0)

    async def watch(number: int) -> None:
        with watches.watch(job(id=str(number), state=JobState.RUNNING, ended=None)) as watch:
            await watch.tick()

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(watch, number)
    assert store.statements == 40
    assert clock.now >= 4.0


async def test_watchers_at_the_same_page_share_its_statement() -> None:
    store, clock = CountingStore([RUNNING], [PageResult(index) for index in range(30)]), Clock()
    with watches_of(store, clock).watch(RUNNING) as watch:
        found = [await watch.pages(-1) for _ in range(10)]
        assert [line.index for line in found[0]] == list(range(20))
        assert store.statements == 1
        assert [line.index for line in await watch.pages(19)] == list(range(20, 30))
        assert [await watch.forecast() for _ in range(3)] == [JobForecast(0, 1.0)] * 3
        assert store.statements == 3


async def test_a_database_that_is_away_changes_nothing_and_a_removed_job_is_gone() -> None:
    away = Overloaded("jobs_unavailable", "Away.", 5.0)
    store = CountingStore([away, SUCCEEDED, InputRejected("job_unknown", "No.")])
    clock = Clock()
    watches = watches_of(store, clock)
    with watches.watch(RUNNING) as watch:
        await watch.tick()
        assert (watch.job, watch.version, watch.gone) == (RUNNING, 0, None)
        await watch.tick()
        assert (watch.job, watch.version) == (SUCCEEDED, 1)
        await watch.tick()
        assert watch.gone is not None
    assert (await watches_of(CountingStore([SUCCEEDED]), clock).until_ended(RUNNING, 30)) == SUCCEEDED


async def test_a_tenant_has_its_own_share_of_streams() -> None:
    watches = watches_of(CountingStore([RUNNING]), Clock())
    with watches.stream("a"), watches.stream("a"), watches.stream("b"):
        with pytest.raises(Overloaded) as refused, watches.stream("a"):
            pytest.fail("there is no room")
        assert refused.value.code == "share_exceeded"
    with watches.stream("a"):
        pass


def lines(*indexes: int) -> list[PageLine]:
    return [PageLine(index, b"") for index in indexes]


def test_pages_are_held_back_until_those_before_them_are_saved() -> None:
    asked = job(
        state=JobState.RUNNING,
        pages=3,
        options=JobOptions(pages="7,1-2"),
        document=JobDocument("image/tiff", 9, 9, "f"),
    )
    order = PageOrder(-1)
    assert order.expected(asked) == [0, 1, 6]
    assert order.release(lines(6), asked) == []
    assert order.release(lines(0, 6), asked) == lines(0)
    assert order.release(lines(1, 6), asked) == lines(1, 6)
    after = PageOrder(0)
    assert after.release(lines(1), asked) == lines(1)
    ended = job(state=JobState.CANCELLED, options=asked.options, document=asked.document)
    assert PageOrder(-1).release(lines(6), ended) == lines(6)
    assert PageOrder(-1).expected(job(document=None)) is None


PAGES = (
    PageResult(0, 10, 10, text="one"),
    PageResult(1),
    PageResult(2, text="three\n", markdown="# Three"),
    PageResult(3, error=PageError("engine_failed", "No luck.", "Try again.")),
)


@pytest.mark.parametrize("count", range(5))
def test_page_by_page_gives_the_same_bytes_as_the_whole(count: int) -> None:
    pages = PAGES[:count]
    state = JobState.PARTIAL if count == 4 else JobState.SUCCEEDED
    ended = job(state=state, saved=count, pages=count, document=JobDocument("image/tiff", 9, 4, "fake", ("A note.",)))
    result = document_of(ended, pages)
    renderers: dict[Format, PagewiseFormat] = {
        Format.JSON: PagewiseJson(ended, None),
        Format.TEXT: PagewiseText(),
        Format.MARKDOWN: PagewiseMarkdown(marked=count > 1),
    }
    for format_, renderer in renderers.items():
        whole = renderer.begin() + b"".join(renderer.page(page) for page in pages) + renderer.end()
        assert whole == render(result, format_), format_
