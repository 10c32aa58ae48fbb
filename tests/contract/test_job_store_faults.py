"""Faults of the database, hostile values, and races of processes, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import Connection, delete, text, update
from sqlalchemy.engine import make_url

from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import JobDocument, JobFailure, JobOptions, JobState
from inkgate.jobs.service import JobService
from inkgate.jobs.store import JobEnd, JobStore, LeaseLost, Release, database, tables, views
from inkgate.jobs.store.database import database_url
from inkgate.settings import JobSettings
from inkgate_client.types import PageError, PageResult
from support.job_stores import Stores, job, one, page, take_due
from support.postgres import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return Stores(database_url("", tmp_path / "new"))
    return Stores(make_url(request.getfixturevalue("postgres").database()))


async def ended(store: JobStore, pages: int = 2, state: JobState = JobState.PARTIAL) -> str:
    """An ended job whose first page failed."""
    (added,) = await store.add([job()])
    claim = await one(store)
    results = [page(n, PageError("engine_failed", "It failed.", "") if not n else None) for n in range(pages)]
    await store.save(claim, results, (JobDocument("application/pdf", 1000, pages, "ppocr"), pages), JobEnd(state))
    return added.id


async def test_values_with_nul_and_surrogates_are_stored(stores: Stores) -> None:
    async with stores.store() as store:
        options = JobOptions(password="a\0b\ud800")  # noqa: S106
        (added,) = await store.add([job(options=options, webhook="https://x/\0\udfff", key="\0\ud800")])
        claim = await one(store)
        end = JobEnd(JobState.FAILED, JobFailure("pdf_broken", "a\0b\ud800"), ("sink",))
        await store.save(claim, end=end)
        found = await store.get(added.id, "a")
        assert found.failure is not None
        assert found.failure.detail.startswith("a\ufffdb")
        (due,) = await take_due(store, 1, 60)
        await store.dead(due, "answer \0\ud800")
        assert (await store.deliveries(added.id))[0].error.startswith("answer \ufffd")


async def test_more_pages_than_a_statement_may_have_values_are_saved(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job()])
        claim = await one(store)
        await store.save(claim, [page(n) for n in range(10_000)])
        assert len(await store.pages(claim.job.id, limit=20_000)) == 10_000


async def test_a_job_queued_before_the_clock_was_set_back_is_claimed(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        await store.database.write(
            lambda connection: connection.execute(update(tables.jobs).values(not_before=tables.jobs.c.not_before + 1e8))
        )
        assert (await one(store)).job.id == added.id


async def test_a_job_queued_again_while_it_expires_keeps_its_pages(stores: Stores) -> None:
    async with stores.store() as store, stores.store() as other:
        added = await ended(store)
        before = store.clock() + 10

        def retry_and_expire(connection: Connection) -> None:
            views.retry(connection, added, None, store.database.now())
            # Its row is locked: another process's purge must leave it, and not wait for it and then remove its pages.
            anyio.from_thread.run(expire)

        expired: list[int] = []

        async def expire() -> None:
            with anyio.move_on_after(2):
                expired.append(await other.expire(before))

        if store.database.is_postgres:  # SQLite has one writer
            await store.database.write(retry_and_expire)
        else:
            await store.retry(added, None)
            await expire()
        assert [one.index for one in await store.pages(added)] == [1]
        with pytest.raises(InputRejected, match="job_not_ended"):
            await store.retry(added, None)
        await other.expire(before)
        (claim,) = await store.claim(1)
        assert claim.saved_pages == {1}


async def test_a_wrong_clock_of_a_node_expires_nothing_in_a_shared_database(stores: Stores) -> None:
    async with stores.store() as store:
        if not store.database.is_postgres:  # SQLite has the machine's clock
            return
        added = await ended(store)
        stores.clock.offset_s = 1e8
        assert await store.expire(store.clock() - 3600) == 0
        assert len(await store.pages(added)) == 2


async def test_large_jobs_expire_in_several_transactions(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_MAX_REMOVED", 5)
    async with stores.store() as store:
        for _ in range(4):
            await ended(store, 3)
        before = store.database.transactions
        assert await store.expire(store.clock() + 10) == 4
        assert store.database.transactions - before == 5  # one finds nothing


async def test_writes_wait_once_for_a_database_that_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkgate.jobs.store.database._BUSY_S", 0.05)
    stores = Stores(database_url("", tmp_path))
    errors: list[Overloaded] = []
    async with stores.store() as store:
        await store.add([job()])

        async def add() -> None:
            try:
                await store.add([job()])
            except Overloaded as error:
                errors.append(error)

        with sqlite3.connect(tmp_path / "jobs.db", isolation_level=None) as locker:
            locker.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as tasks:
                for _ in range(30):
                    tasks.start_soon(add)
            locker.execute("ROLLBACK")
        assert [error.code for error in errors] == ["jobs_unavailable"] * 30
        await store.add([job()])


async def test_a_thread_that_cannot_be_started_ends_no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = Stores(database_url("", tmp_path))
    async with stores.store() as store:
        await store.add([job()])
        run = store.database._write_threads.run

        async def fails(*_: object, **__: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(store.database._write_threads, "run", fails)
        with pytest.raises(Overloaded, match="jobs_unavailable"):
            await store.add([job()])
        monkeypatch.setattr(store.database._write_threads, "run", run)
        assert await store.add([job()])


@pytest.mark.parametrize("how", ["expire", "remove", "retry"])
async def test_a_result_whose_pages_go_while_it_is_read_is_no_shorter_result(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkgate.jobs.service._PAGES_AT_ONCE", 1)
    async with Stores(database_url("", tmp_path)).store() as store:
        found = await store.get(await ended(store, 3), None)
        pages = store.pages

        async def one_then_gone(
            job_id: str, after: int = -1, limit: int = 100, tenant: str = ""
        ) -> Sequence[PageResult]:
            if after == 0:
                match how:
                    case "expire":
                        await store.expire(store.clock() + 10)
                    case "remove":
                        await store.remove(job_id, None)
                    case "retry":
                        await store.retry(job_id, None)
                        await store.save(await one(store), [page(0)])
                        await store.database.write(
                            lambda connection: connection.execute(delete(tables.pages).where(tables.pages.c.page > 0))
                        )
            return await pages(job_id, after, limit, tenant)

        monkeypatch.setattr(store, "pages", one_then_gone)
        service = JobService(store, Mock(), Mock(), JobSettings())
        with pytest.raises(InputRejected, match=r"job_expired|job_unknown|job_not_ended"):
            await service.document(found)


@pytest.mark.real
async def test_a_postgresql_that_is_stopped_holds_nobody_for_ever(
    monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    monkeypatch.setattr("inkgate.jobs.store.database._LONGEST_WAIT_S", 0.5)
    monkeypatch.setitem(database._POSTGRES, "connect_timeout", 2)
    errors: list[str] = []
    async with Stores(make_url(postgres.database())).store() as store:
        (added,) = await store.add([job()])

        async def fails(call: Callable[[], Awaitable[object]]) -> None:
            with pytest.raises(Overloaded) as error:
                await call()
            errors.append(error.value.code)

        with postgres.stopped():
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(fails, lambda: store.add([job()]))
                    tasks.start_soon(fails, lambda: store.get(added.id, "a"))
        assert errors == ["jobs_unavailable"] * 40
        await store.add([job()])
        monkeypatch.setattr("inkgate.jobs.store.database._LAST_WAIT_S", 0.1)
        with postgres.stopped():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fails, lambda: store.add([job()]))


@pytest.mark.real
async def test_processes_that_add_run_and_cancel_jobs_do_not_deadlock(postgres: PostgresServer) -> None:
    stores = Stores(make_url(postgres.database()))
    ids: list[str] = []

    async def add(store: JobStore, number: int) -> None:
        for n in range(20):
            tenants = [f"t{(number * 7 + n * step) % 5}" for step in (1, 2, 3)]
            ids.extend(one.id for one in await store.add([job(tenant) for tenant in tenants]))

    async def change(store: JobStore) -> None:
        for n in range(20):
            with suppress(InputRejected):
                await (store.cancel, store.remove)[n % 2](ids[-1 - n % len(ids)], None)

    async def work(store: JobStore) -> None:
        for _ in range(10):
            for claim in await store.claim(4):
                await store.save(claim, [page(0)], (JobDocument("application/pdf", 1000, 3, "ppocr"), 3))
                with suppress(LeaseLost):
                    await store.release(claim, Release(to_the_end=True))

    async def process(number: int) -> None:
        async with stores.store(max_queued_pages=100_000) as store:
            await add(store, number)
            async with anyio.create_task_group() as tasks:
                for n in range(3):
                    tasks.start_soon(add, store, number + n)
                    tasks.start_soon(change, store)
                    tasks.start_soon(work, store)

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(process, number)
    async with stores.store() as store:
        query = text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        assert await store.database.read(lambda connection: connection.execute(query).scalar_one()) == 0


async def test_a_job_of_a_later_version_does_not_block_the_others(stores: Stores) -> None:
    async with stores.store(lease_s=0.2) as store:
        later = [one.id for one in await store.add([job(), job()])]
        unknown = update(tables.jobs).values(options='{"task": {"kind": "unheard-of"}}')
        await store.database.write(lambda connection: connection.execute(unknown))
        dead = update(tables.jobs).where(tables.jobs.c.id == later[1]).values(state="running", lease_until=1.0)
        await store.database.write(lambda connection: connection.execute(dead))
        (added,) = await store.add([job()])
        assert await store.claim_abandoned() == []
        assert [claim.job.id for claim in await store.claim(8)] == [added.id]
        assert not await store.has_abandoned()
