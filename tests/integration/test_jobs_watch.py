"""The state of jobs, from a real store: its numbers, and none if the database is away."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from sqlalchemy.engine import make_url

from inkgate.errors import Overloaded
from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.job import AddedJob, Job, JobDocument, JobSource, JobState, NewJob
from inkgate.jobs.sinks.relay import DeliveryOutcome, Relay
from inkgate.jobs.store import JobEnd, JobStore
from inkgate.jobs.store.database import database_url
from inkgate.jobs.watch import JobParts, JobsWatch
from inkgate.settings import Settings, load_settings
from inkgate_client.types import DocumentResult, PageResult
from support.job_stores import take_due
from support.postgres import postgres_server

pytestmark = pytest.mark.anyio
DOCUMENT = JobDocument("application/pdf", 1000, 4, "ppocr")


class StateClock:
    """Wall clock and loop time at once."""

    def __init__(self) -> None:
        self.offset_s = 0.0

    def __call__(self) -> float:
        return datetime.now(UTC).timestamp() + self.offset_s


def settings_at(folder: Path) -> Settings:
    return load_settings(
        None,
        jobs={"folder": str(folder)},
        sinks={"shop": {"kind": "objects", "url": "file:///srv/out/"}},
        intake={"scans": {"kind": "redis", "address": "localhost", "topic": "scans"}},
    )


def store_of(folder: Path, clock: StateClock) -> JobStore:
    return JobStore(database_url("", folder), clock, lease_s=60.0, max_queued_pages=1000)


def job(number: int) -> NewJob:
    return NewJob("a", JobSource(upload=f"{number:064x}"))


async def test_what_the_database_has_is_counted(tmp_path: Path) -> None:
    clock = StateClock()
    store = store_of(tmp_path, clock)
    async with store.running():
        watch = JobsWatch(store, settings_at(tmp_path), JobParts())
        assert (watch.state().up, watch.state().stored) == (None, None)
        await store.add([job(number) for number in range(3)])
        claim, other = await store.claim(2)
        await store.save(
            claim, [PageResult(index=0)], (DOCUMENT, 4), JobEnd(JobState.PARTIAL, None, ("shop", "webhook"))
        )
        await store.save(other, [PageResult(index=0)], (DOCUMENT, 4))
        (due, later) = await take_due(store, 2, 60.0)
        await store.dead(due, "gone")
        await store.later(later, 0.0, "busy")
        clock.offset_s = 100.0
        await watch.ask()
        state = watch.state()
        assert (state.database, state.up) == ("sqlite", True)
        found = state.stored
        assert found is not None
        assert {name: n for name, n in found.by_state.items() if n} == {"queued": 1, "running": 1, "partial": 1}
        assert found.backlog_pages == 1 + 3
        assert found.backlog_s is not None
        assert found.backlog_s > 0
        assert (found.abandoned, found.outbox_waiting, found.outbox_dead) == (1, 1, 1)
        assert 100 <= found.outbox_oldest_s < 160
        assert 100 <= found.oldest_s < 160


async def test_without_pages_there_is_no_rate_and_without_work_no_backlog(tmp_path: Path) -> None:
    store = store_of(tmp_path, StateClock())
    async with store.running():
        watch = JobsWatch(store, settings_at(tmp_path), JobParts())
        await watch.ask()
        empty = watch.state().stored
    other = store_of(tmp_path, StateClock())
    async with other.running():
        await other.add([job(1)])
        watch = JobsWatch(other, settings_at(tmp_path), JobParts())
        await watch.ask()
        waiting = watch.state().stored
    assert empty is not None
    assert waiting is not None
    assert (empty.backlog_s, empty.outbox_oldest_s, empty.oldest_s) == (0.0, 0.0, 0.0)
    assert (waiting.backlog_s, waiting.backlog_pages) == (None, 1)


async def test_a_database_that_is_away_has_no_numbers_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").mkdir()  # no database can be opened there
    store = store_of(tmp_path, StateClock())
    async with store.running():
        watch = JobsWatch(store, settings_at(tmp_path), JobParts())
        await watch.ask()
        assert (watch.state().up, watch.state().stored) == (False, None)
        (tmp_path / "jobs.db").rmdir()
        await watch.ask()
        assert watch.state().up
        assert watch.state().stored is not None


async def test_counts_that_are_old_are_not_shown(tmp_path: Path) -> None:
    store, clock = store_of(tmp_path, StateClock()), StateClock()
    async with store.running():
        watch = JobsWatch(store, settings_at(tmp_path), JobParts(), clock)
        await watch.ask()
        assert watch.state().up
        clock.offset_s = 1000.0
        assert (watch.state().up, watch.state().stored) == (False, None)


async def test_the_task_asks_the_database_and_the_disks(tmp_path: Path) -> None:
    store = store_of(tmp_path, StateClock())
    async with store.running(), anyio.create_task_group() as tasks:
        watch = JobsWatch(store, settings_at(tmp_path), JobParts())
        tasks.start_soon(watch.run)
        with anyio.fail_after(30):
            while not (watch.state().up and watch.state().disks):  # noqa: ASYNC110 - the task changes it
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert {disk.use for disk in watch.state().disks} == {"database", "uploads"}


class NoJobs:
    async def add(self, jobs: object) -> list[AddedJob]:
        raise Overloaded("jobs_full", "full", 1.0)


async def no_document(job: Job) -> DocumentResult:
    raise LookupError(job.id)


async def test_counters_of_this_process_start_at_0_for_all_that_the_settings_name(tmp_path: Path) -> None:
    store = store_of(tmp_path, StateClock())
    relay, intake = Relay(store, {}, no_document), Intake(NoJobs(), {})
    watch = JobsWatch(store, settings_at(tmp_path), JobParts(relay=relay, intake=intake))
    relay.outcomes["gone", DeliveryOutcome.DEAD] += 2
    intake.count("scans", IntakeOutcome.ADDED, 5)
    intake.paused.add("scans")
    state = watch.state()
    nothing = {"delivered": 0, "retried": 0, "dead": 0}
    assert state.deliveries == {"gone": nothing | {"dead": 2}, "shop": nothing, "webhook": nothing}
    assert state.events["scans"]["added"] == 5
    assert set(state.events) == {"scans", "http"}
    assert state.paused == ("scans",)


@pytest.mark.real
async def test_a_postgres_that_is_stopped_has_no_numbers_until_it_is_back(tmp_path: Path) -> None:
    with postgres_server() as server:
        store = JobStore(make_url(server.database()), StateClock(), lease_s=60.0, max_queued_pages=1000)
        async with store.running():
            watch = JobsWatch(store, settings_at(tmp_path), JobParts())
            await watch.ask()
            assert (watch.state().database, watch.state().up) == ("postgresql", True)
            server.stop()
            await anyio.sleep(2.1)  # counts are kept for two seconds
            await watch.ask()
            assert (watch.state().up, watch.state().stored) == (False, None)
            server.start()
            await watch.ask()
            assert watch.state().stored is not None
