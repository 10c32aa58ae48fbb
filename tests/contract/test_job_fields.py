"""Fields of jobs in the store, the same on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.from_thread
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from inkgate.errors import InputRejected
from inkgate.jobs.job import JobDocument, JobFields, JobFilter, JobReview, JobState
from inkgate.jobs.store import Due, FieldCorrection, FoundFields, JobEnd, JobStore, LeaseLost
from inkgate.jobs.store.database import database_url
from inkgate.jobs.store.deliveries import deliver_again
from support.job_stores import Stores, job, one, page, take_due
from support.postgres import PostgresServer

pytestmark = pytest.mark.anyio
DOCUMENT = JobDocument("application/pdf", 1000, 1, "ppocr")
WANTED = JobFields(schema='{"properties": {"a\\u0000": {"type": "string"}}}')
FOUND = json.dumps({"data": {"total": "1\0\ud83d"}})


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return Stores(database_url("", tmp_path / "new"))
    return Stores(make_url(request.getfixturevalue("postgres").database()))


async def found(
    store: JobStore,
    tenant: str = "a",
    *,
    needs_review: bool = True,
    state: JobState = JobState.SUCCEEDED,
    sinks: tuple[str, ...] = (),
) -> str:
    """An ended job with fields."""
    (added,) = await store.add([job(tenant, fields=WANTED)])
    claim = await one(store)
    end = JobEnd(state, sinks=sinks, fields=FoundFields(FOUND, needs_review))
    await store.save(claim, [page(0)], (DOCUMENT, 1), end)
    return added.id


async def test_fields_are_kept_with_the_end_and_only_by_the_lease_s_holder(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job(fields=WANTED)])
        assert (await store.get(added.id, "a")).review is JobReview.WAITING
        assert (await store.fields(added.id)).wanted == WANTED
        claim = await one(store)
        assert claim.job.review is JobReview.WAITING
        end = JobEnd(JobState.SUCCEEDED, fields=FoundFields(FOUND, needs_review=False))
        await store.save(claim, [page(0)], (DOCUMENT, 1), end)
        assert (await store.get(added.id, "a")).review is JobReview.COMPLETE
        with pytest.raises(LeaseLost):
            await store.save(claim, [], None, JobEnd(JobState.SUCCEEDED, fields=FoundFields("{}", needs_review=True)))
        stored = await store.fields(added.id)
        assert (stored.extraction, stored.version) == (FOUND, 2)
        (plain,) = await store.add([job()])
        with pytest.raises(InputRejected, match="fields_missing"):
            await store.fields(plain.id)
        assert (await store.get(plain.id, "a")).review is None


async def test_jobs_to_review_are_a_queue_of_their_tenant(stores: Stores) -> None:
    async with stores.store() as store:
        mine = [await found(store) for _ in range(3)]
        await found(store, needs_review=False)
        await found(store, "b")
        queue = JobFilter(reviews=[JobReview.NEEDS_REVIEW], oldest_first=True)
        assert [each.id for each in await store.list("a", queue, limit=2)] == mine[:2]
        assert [each.id for each in await store.list("a", queue, after=mine[1])] == mine[2:]
        await store.correct(mine[0], 2, FieldCorrection({"/total": "1"}, "anna", 5.0), reviewed=True)
        assert [each.id for each in await store.list("a", queue)] == mine[1:]
        assert [each.id for each in await store.list("a", JobFilter(reviews=[JobReview.REVIEWED]))] == mine[:1]


async def test_of_two_corrections_of_one_version_one_is_kept(stores: Stores) -> None:
    async with stores.store() as first, stores.store() as second:
        job_id = await found(first)
        await first.correct(job_id, 2, FieldCorrection({"/total": "1\0"}, "anna", 5.0), reviewed=False)
        with pytest.raises(InputRejected, match="fields_changed"):
            await second.correct(job_id, 2, FieldCorrection({"/total": "2"}, "ben", 6.0), reviewed=True)
        assert (await first.get(job_id, "a")).review is JobReview.NEEDS_REVIEW
        await second.correct(job_id, None, FieldCorrection({"/total": None}, "", 7.0), reviewed=True)
        stored = await first.fields(job_id)
        assert stored.version == 4
        assert [each.by for each in stored.corrections] == ["anna", ""]
        assert stored.corrected == {"/total": None}


async def test_a_correction_is_delivered_even_if_the_result_is_on_its_way(stores: Stores) -> None:
    async with stores.store() as store:
        job_id = await found(store, sinks=("rows",))
        (due,) = await take_due(store, 1, 60.0)
        await store.correct(job_id, None, FieldCorrection({"/total": "1"}, "", 5.0), reviewed=True)
        await store.delivered(due)
        assert sorted(each.state for each in await store.deliveries(job_id)) == ["done", "waiting"]
        await store.correct(job_id, None, FieldCorrection({"/total": "2"}, "", 6.0), reviewed=True)
        assert len(await store.deliveries(job_id)) == 2
        (again,) = await take_due(store, 5, 60.0)
        assert again.id != due.id


@pytest.mark.real
async def test_a_delivery_is_not_taken_while_a_correction_counts_on_it(postgres: PostgresServer) -> None:
    stores = Stores(make_url(postgres.database()))
    async with stores.store() as first, stores.store() as second:
        job_id = await found(first, sinks=("rows",))
        taken: list[Due] = []

        def correct(connection: Connection) -> None:
            deliver_again(connection, job_id, first.database.now())
            taken.extend(anyio.from_thread.run(take_due, second, 1, 60.0))

        await first.database.write(correct)
        assert not taken
        assert len(await first.deliveries(job_id)) == len(await take_due(second, 5, 60.0)) == 1


async def test_fields_of_a_job_that_was_queued_again_can_t_be_corrected(stores: Stores) -> None:
    async with stores.store() as store:
        job_id = await found(store, state=JobState.PARTIAL)
        await store.retry(job_id, "a")
        with pytest.raises(InputRejected, match="job_not_ended"):
            await store.correct(job_id, None, FieldCorrection({"/total": "1"}, "", 5.0), reviewed=True)
        assert (await store.get(job_id, "a")).review is JobReview.WAITING


async def test_corrections_have_a_limit_in_all(stores: Stores) -> None:
    async with stores.store() as store:
        job_id = await found(store)
        large = FieldCorrection({"/total": "1" * 1_100_000}, "", 5.0)
        await store.correct(job_id, None, large, reviewed=False)
        with pytest.raises(InputRejected, match="options_invalid"):
            await store.correct(job_id, None, large, reviewed=True)
        assert (await store.fields(job_id)).version == 3


async def test_fields_go_with_their_job_and_its_result(stores: Stores) -> None:
    async with stores.store() as store:
        removed, expired = await found(store), await found(store)
        await store.remove(removed, "a")
        await store.expire(store.clock() + 60)
        for job_id in (removed, expired):
            with pytest.raises(InputRejected, match="fields_missing"):
                await store.fields(job_id)
        assert (await store.get(expired, "a")).review is None


async def test_a_job_whose_fields_are_missing_is_run_again(stores: Stores) -> None:
    """As one that a worker of the version before has ended."""
    async with stores.store() as store:
        (added,) = await store.add([job(fields=WANTED)])
        await store.save(await one(store), [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED))
        await store.retry(added.id, "a")
        claim = await one(store)
        assert (claim.saved_pages, claim.job.review) == (frozenset({0}), JobReview.WAITING)
        await store.save(claim, end=JobEnd(JobState.SUCCEEDED, fields=FoundFields(FOUND, needs_review=False)))
        with pytest.raises(InputRejected, match="job_ended"):
            await store.retry(added.id, "a")


async def test_the_same_key_with_other_fields_is_another_request(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job(key="k", fields=WANTED)])
        (again,) = await store.add([job(key="k", fields=WANTED)])
        assert (again.id, again.duplicate) == (added.id, True)
        with pytest.raises(InputRejected, match="key_reused"):
            await store.add([job(key="k", fields=JobFields("receipt"))])
        with pytest.raises(InputRejected, match="key_reused"):
            await store.add([job(key="k")])


async def test_a_database_of_the_version_before_is_migrated(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])

        def as_it_was(connection) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
            for statement in (
                "DROP INDEX inkgate_jobs_review",
                "ALTER TABLE inkgate_jobs DROP COLUMN review",
                "DROP TABLE inkgate_fields",
                "DROP INDEX inkgate_jobs_turns",
                "ALTER TABLE inkgate_shares DROP COLUMN used",
                "DROP INDEX inkgate_outbox_lane",
                "ALTER TABLE inkgate_outbox DROP COLUMN lane",
                "DROP INDEX inkgate_jobs_batch",
                "ALTER TABLE inkgate_jobs DROP COLUMN batch",
                "DROP TABLE inkgate_lines",
                "DROP TABLE inkgate_files",
                "DROP TABLE inkgate_secrets",
                "UPDATE inkgate_schema SET version = 1",
            ):
                connection.execute(text(statement))

        await store.database.write(as_it_was)
    async with stores.store() as store:
        assert (await store.get(added.id, "a")).review is None
        await store.save(await one(store), [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED))
        job_id = await found(store)
        assert (await store.fields(job_id)).extraction == FOUND
