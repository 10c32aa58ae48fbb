"""Batches whose lines become jobs as there is room, the same on SQLite and PostgreSQL."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update
from sqlalchemy.engine import make_url

from inkgate.caller import Priority
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import JobDocument, JobFields, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.store import JobEnd, JobStore, Release, Sharing
from inkgate.jobs.store.database import database_url
from inkgate.jobs.store.lines import LINES_AT_ONCE
from inkgate.jobs.store.tables import jobs, lines
from support.job_stores import Stores, job, one, page

pytestmark = pytest.mark.anyio
DOCUMENT = JobDocument("application/pdf", 1000, 3, "ppocr")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return Stores(database_url("", tmp_path / "new"))
    return Stores(make_url(request.getfixturevalue("postgres").database()))


def batch(count: int, tenant: str = "a", key: str = "") -> list[NewJob]:
    return [
        job(
            tenant,
            name=f"{n}.pdf",
            source=JobSource(upload=f"{n:064x}"),
            options=JobOptions(pages="1", form=f"{n}"),
            deadline=4e9 + n,
            fields=JobFields(names=("total",)),
            key=key if n == 0 else "",
        )
        for n in range(count)
    ]


async def rows(store: JobStore) -> int:
    def count(connection) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
        found: int = connection.execute(select(func.count()).select_from(jobs)).scalar_one()
        return found

    return await store.database.read(count)


async def end_all(store: JobStore) -> list[str]:
    """Runs what can be claimed. Returns the names of the jobs in the order of their claims."""
    names = []
    while claims := await store.claim(8):
        for claim in claims:
            names.append(claim.job.name)
            await store.save(claim, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, pages_read=1))
    return names


async def test_lines_become_jobs_in_order_and_some_at_a_time(stores: Stores) -> None:
    async with stores.store() as store:
        added = await store.add_batch(batch(200))
        assert await rows(store) == 1 + LINES_AT_ONCE
        waiting = await store.waiting_lines("a", "", 1000)
        assert len(waiting) == 199 - LINES_AT_ONCE
        last = waiting[0]
        assert (last.name, last.state, last.options.form, last.deadline) == (
            "199.pdf",
            JobState.QUEUED,
            "199",
            4e9 + 199,
        )
        assert last.source == JobSource(upload=f"{199:064x}")
        assert await store.waiting_lines("a", last.id, 1000) == []  # its row begins before
        assert len(await store.waiting_lines("a", added.id[:12], 50)) == 50
        assert await store.waiting_lines("b", "", 1000) == []
        most = 0
        names = []
        while claims := await store.claim(8):
            for claim in claims:
                names.append(claim.job.name)
                await store.save(claim, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, pages_read=1))
            most = max(most, (await rows(store)) - len(names))
        assert names == [f"{n}.pdf" for n in range(200)]
        assert most <= 2 * LINES_AT_ONCE
        found = await store.get(last.id, "a")
        assert (found.name, found.state, found.created, found.options) == (
            last.name,
            JobState.SUCCEEDED,
            (await store.get(added.id, "a")).created,
            last.options,
        )
        assert (await store.fields(last.id)).wanted == JobFields(names=("total",))


async def test_a_store_that_was_killed_goes_on_with_the_lines(stores: Stores) -> None:
    async with stores.store(lease_s=1e-3) as store:
        await store.add_batch(batch(100))
        await one(store)
    async with stores.store() as store:
        assert len(await end_all(store)) == 99
        (claim,) = await store.claim_abandoned()
        assert claim.job.name == "0.pdf"


async def test_batches_of_one_tenant_are_few_rows(stores: Stores) -> None:
    async with stores.store(max_queued_pages=100_000) as store:
        for _ in range(4):
            await store.add_batch(batch(100))
        assert await rows(store) <= 4 + 2 * LINES_AT_ONCE
        await store.add([job("b", name="other")])
        assert "other" in [claim.job.name for claim in await store.claim(2)]
        assert len(await end_all(store)) == 4 * 100 + 1 - 2


async def test_lines_of_a_higher_class_do_not_wait_for_those_of_a_lower_one(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add_batch([replace(line, priority=Priority.BATCH) for line in batch(100)])
        await store.add_batch([replace(line, priority=Priority.INTERACTIVE, name="urgent") for line in batch(70)])
        assert (await end_all(store))[:70] == ["urgent"] * 70


async def test_lines_that_are_tried_later_do_not_hold_up_the_others(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add_batch(batch(100))
        for claim in await store.claim(1 + LINES_AT_ONCE):
            await store.release(claim, Release(pause_s=60.0, retried=True))
        assert len(await end_all(store)) == 99 - LINES_AT_ONCE


async def test_lines_that_wait_count_in_the_queue(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(tenant_share=0.8)) as store:
        await store.add_batch(batch(500))
        with pytest.raises(Overloaded, match="share_exceeded") as refused:
            await store.add_batch(batch(301))
        assert "500 pages of your jobs wait to be read, of the 800" in refused.value.detail
        async with stores.store(sharing=Sharing(tenant_share=0.8)) as fresh:
            with pytest.raises(Overloaded, match="share_exceeded"):
                await fresh.add_batch(batch(301))
            await fresh.add_batch(batch(300, "b"))
            assert (await fresh.counts()).queued_pages == 800


async def test_uploads_of_lines_that_wait_are_needed(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add_batch(batch(200))
        assert await store.unneeded([f"{n:064x}" for n in (0, 20, 199, 200)]) == [f"{200:064x}"]


async def test_lines_that_wait_are_cancelled_with_their_batch(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add_batch(batch(100))
        await store.add_batch(batch(100, "b"))
        ids = [each.id for each in await store.waiting_lines("a", "", 1000)]
        await store.cancel_lines("b", ids)
        assert len(await store.waiting_lines("a", "", 1000)) == len(ids)
        await store.cancel_lines("a", ids)
        assert await store.waiting_lines("a", "", 1000) == []
        for job_id in ids:
            found = await store.get(job_id, "a")
            assert (found.state, found.ended is None) == (JobState.CANCELLED, False)
        assert len(await end_all(store)) == 200 - len(ids)


@pytest.mark.parametrize(
    "packed", [zlib.compress(b'[["1", {"tenant": 1}]]'), b"of another kind"], ids=["field", "compression"]
)
async def test_lines_of_a_later_version_wait_and_hold_up_nobody_else(stores: Stores, packed: bytes) -> None:
    async with stores.store() as store:

        def change(connection: Connection) -> None:
            connection.execute(update(lines).values(packed=packed))

        await store.add_batch(batch(100))
        await store.database.write(change)
        await store.add_batch(batch(100, "b"))
        names = await end_all(store)
        assert len(names) == 1 + LINES_AT_ONCE + 100
        assert await store.waiting_lines("a", "", 1000) == []
        assert not (await store.add_batch(batch(1))).duplicate
        assert (await store.counts()).queued_pages == 1 + 99 - LINES_AT_ONCE


async def test_a_key_is_one_batch(stores: Stores) -> None:
    async with stores.store() as store:
        added = await store.add_batch(batch(100, key="k"))
        again = await store.add_batch(batch(100, key="k"))
        assert (again.id, again.duplicate) == (added.id, True)
        changed = batch(100, key="k")
        changed[70] = job(name="another")
        for other in (batch(99, key="k"), changed):
            with pytest.raises(InputRejected, match="key_reused"):
                await store.add_batch(other)
        assert len(await end_all(store)) == 100
