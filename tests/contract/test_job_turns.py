"""How tenants share the queue of jobs, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.jobs.job import JobDocument, JobState
from inkgate.jobs.store import Claim, JobEnd, JobStore, Release, Sharing
from inkgate.jobs.store.database import database_url
from support.job_stores import Stores, job, one, page

pytestmark = pytest.mark.anyio
SLICE = 10
VERSION_2 = Path(__file__).parent.parent / "data" / "jobs_version_2.sql"
DOCUMENT = JobDocument("application/pdf", 1000, 3, "ppocr")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return Stores(database_url("", tmp_path / "new"))
    return Stores(make_url(request.getfixturevalue("postgres").database()))


async def read_slice(store: JobStore, claim: Claim, page_count: int) -> int:
    """Reads on in a document of this length, as a worker does beside others. Returns how many pages it read."""
    saved = len(claim.saved_pages)
    pages = [page(index) for index in range(saved, min(saved + SLICE, page_count))]
    opened = None if claim.job.document is not None else (DOCUMENT, page_count)
    if saved + len(pages) == page_count:
        await store.save(claim, pages, opened, JobEnd(JobState.SUCCEEDED, pages_read=len(pages)))
    else:
        await store.save(claim, pages, opened)
        await store.release(claim, Release(to_the_end=True, pages_read=len(pages)))
    return len(pages)


async def read_for(store: JobStore, lengths: dict[str, int], page_count: int) -> Counter[str]:
    """Claims job after job and reads a slice of each, whose length is its tenant's, until so many pages were read.
    Returns the pages by tenant.
    """
    read: Counter[str] = Counter()
    while read.total() < page_count:
        claim = await one(store)
        read[claim.job.tenant] += await read_slice(store, claim, lengths[claim.job.tenant])
    return read


async def test_tenants_share_by_pages_and_not_by_jobs(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("long") for _ in range(8)])
        await store.add([job("short") for _ in range(300)])
        read = await read_for(store, {"long": 100, "short": 1}, 200)
        assert abs(read["long"] - read["short"]) <= 2 * SLICE, read


async def test_weights_count(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE, weights={"heavy": 3.0})) as store:
        await store.add([job("heavy") for _ in range(300)])
        await store.add([job("light") for _ in range(300)])
        read = await read_for(store, {"heavy": 1, "light": 1}, 100)
        assert abs(read["heavy"] - 75) <= SLICE, read


async def test_the_tenant_with_fewer_running_jobs_goes_first(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job("many") for _ in range(20)])
        assert len(await store.claim(7)) == 7
        await store.add([job("few") for _ in range(3)])
        assert [claim.job.tenant for claim in await store.claim(4)] == ["few", "few", "few", "many"]


async def test_newcomers_without_end_do_not_stop_a_tenant_that_was_served(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("old") for _ in range(100)])
        served: list[str] = []
        for number in range(100):
            await store.add([job(f"new {number}")])
            claim = await one(store)
            served.append(claim.job.tenant)
            await read_slice(store, claim, SLICE if claim.job.tenant == "old" else 1)
        assert served.count("old") >= 2, served


async def test_a_tenant_that_was_away_gains_nothing(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("back")])
        await read_for(store, {"back": 1}, 1)
        await store.add([job("busy") for _ in range(300)])
        await read_for(store, {"busy": 1}, 100)
        await store.add([job("back") for _ in range(100)])
        read = await read_for(store, {"busy": 1, "back": 1}, 60)
        assert abs(read["busy"] - read["back"]) <= 2, read


async def test_what_a_tenant_reads_alone_is_not_held_against_it(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("alone") for _ in range(60)])
        await read_for(store, {"alone": SLICE}, 20 * SLICE)
        await store.add([job("new") for _ in range(60)])
        read = await read_for(store, {"alone": SLICE, "new": SLICE}, 20 * SLICE)
        assert abs(read["alone"] - read["new"]) <= 2 * SLICE, read


async def test_a_long_job_goes_on_beside_its_tenant_s_many_short_ones(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("a", name="long")])
        read: Counter[str] = Counter()
        for _ in range(100):
            await store.add([job("a", name="short")])
            claim = await one(store)
            read[claim.job.name] += await read_slice(store, claim, 500 if claim.job.name == "long" else 1)
        assert read["long"] >= SLICE * 5, read


async def test_places_are_given_up_to_tenants_with_fewer(stores: Stores) -> None:
    async with stores.store(sharing=Sharing(slice_pages=SLICE)) as store:
        await store.add([job("a") for _ in range(3)])
        held = (await store.claim(2))[0].job
        assert (await store.next_in_turn()).goes_before(held, 1000) is False  # type: ignore[union-attr]  # its own
        await store.add([job("b")])
        following = await store.next_in_turn()
        assert following is not None
        assert (following.tenant, following.goes_before(held, 1)) == ("b", True)
        (other,) = await store.claim(1)
        await store.add([job("b")])
        following = await store.next_in_turn()
        assert following is not None
        assert following.tenant == "a" or not following.goes_before(held, SLICE - 1)
        await store.add([job("b", priority=Priority.INTERACTIVE)])
        following = await store.next_in_turn()
        assert following is not None
        assert following.goes_before(other.job, 0)


async def test_one_tenant_can_t_fill_the_queue_of_all(stores: Stores) -> None:
    async with stores.store(max_queued_pages=100, sharing=Sharing(tenant_share=0.8)) as store:
        await store.add([job("a") for _ in range(80)])
        with pytest.raises(Overloaded, match="share_exceeded") as refused:
            await store.add([job("a")])
        assert refused.value.detail == "80 pages of your jobs wait to be read, of the 80 that you may have waiting now."
        assert refused.value.retry_after_s > 0
        await store.add([job("b") for _ in range(16)])
        with pytest.raises(Overloaded, match="share_exceeded"):
            await store.add([job("b")])
        await store.add([job("c")])
        with pytest.raises(Overloaded, match="jobs_full"):
            await store.add([job("d") for _ in range(4)])


async def test_known_pages_count_for_their_tenant(stores: Stores) -> None:
    async with stores.store(max_queued_pages=100, sharing=Sharing(tenant_share=0.8)) as store:
        (added,) = await store.add([job("a")])
        await store.save(await one(store), [page(0)], (DOCUMENT, 90))
        async with stores.store(max_queued_pages=100, sharing=Sharing(tenant_share=0.8)) as fresh:
            with pytest.raises(Overloaded, match="share_exceeded"):
                await fresh.add([job("a")])
            with pytest.raises(Overloaded, match="share_exceeded"):
                await fresh.retry(added.id, "a")
            await fresh.add([job("b")])


async def test_the_position_of_a_job_knows_of_shares(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job("many") for _ in range(100)])
        (added,) = await store.add([job("few")])
        assert (await store.forecast(await store.get(added.id, "few"))).ahead <= 1


def stores_of_version_2(folder: Path) -> Stores:
    """The tables as version 2 made them, with jobs that wait, one of them without its tenant's turn."""
    with create_engine(f"sqlite:///{folder / 'jobs.db'}").begin() as connection:
        for statement in VERSION_2.read_text().split(";\n")[:-1]:
            connection.exec_driver_sql(statement)
    return Stores(database_url("", folder))


async def test_the_queue_of_version_2_goes_on(tmp_path: Path) -> None:
    stores = stores_of_version_2(tmp_path)
    async with stores.store() as store:
        await store.add([job("c", name="c 0")])
        names = [claim.job.name for claim in await store.claim(9)]
        assert sorted(names) == ["a 0", "a 1", "b 0", "c 0"]
        assert names.index("a 0") < names.index("a 1")


async def test_jobs_of_version_2_go_before_those_that_their_tenant_adds_later(tmp_path: Path) -> None:
    stores = stores_of_version_2(tmp_path)
    async with stores.store() as store:
        await store.add([job("a", name=f"a {n}") for n in range(2, 9)])
        names = [claim.job.name for claim in await store.claim(10)]
        assert [name for name in names if name[0] == "a"] == [f"a {n}" for n in range(9)]
