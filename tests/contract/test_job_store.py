"""The store of jobs, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from time import sleep

import anyio
import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import make_url

from inkgate.caller import Priority
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import JobDocument, JobFailure, JobFilter, JobOptions, JobState
from inkgate.jobs.store import DeliveryLane, JobEnd, JobStore, LeaseLost, Release, turns
from inkgate.jobs.store.database import database_url
from inkgate.jobs.store.deliveries import WEBHOOK_LANES
from inkgate_client.types import PageError, Task, TaskKind
from support.job_stores import Stores, job, one, page, take_due

pytestmark = pytest.mark.anyio
DOCUMENT = JobDocument("application/pdf", 1000, 3, "ppocr")
ERROR = PageError("engine_failed", "It failed.", "")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return Stores(database_url("", tmp_path / "new"))
    return Stores(make_url(request.getfixturevalue("postgres").database()))


async def test_a_tenant_with_many_reads_leaves_readers_to_others(stores: Stores) -> None:
    read: list[str] = []
    go_on = Event()

    def note(tenant: str) -> None:
        read.append(tenant)
        go_on.wait(10)
        sleep(0.03)  # longer than starting a thread takes

    async with stores.store() as store, anyio.create_task_group() as tasks:
        for tenant in [*["a"] * 30, "b"]:
            tasks.start_soon(store.database.read, lambda _, tenant=tenant: note(tenant), tenant)
        with anyio.fail_after(10):
            while len(read) < 4 or len(read) + store.database._readers.waiting < 31:  # noqa: ASYNC110 - it has no event
                await anyio.sleep(0.01)
        go_on.set()
    assert read.count("b") == 1
    assert read.index("b") < 16, "in order of arrival, it would be the last"


async def test_the_forecast_of_a_job_that_was_removed_meanwhile_says_so(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        found = await store.get(added.id, "a")
        await store.cancel(added.id, "a")
        await store.remove(added.id, "a")
        with pytest.raises(InputRejected) as caught:
            await store.forecast(found)
        assert caught.value.code == "job_unknown"
        assert not store.database.trouble


async def test_a_job_comes_back_as_it_was_added(stores: Stores) -> None:
    options = JobOptions(Task(TaskKind.EXTRACT, fields=("total",)), "1-3", password="secret")  # noqa: S106
    new = job(name="a\0b\ud800.pdf", options=options, priority=Priority.NORMAL, pipeline="p", webhook="https://x/")
    async with stores.store() as store:
        (added,) = await store.add([new])
        found = await store.get(added.id, "a")
        assert found.options == options
        assert found.source == new.source
        assert (found.priority, found.pipeline, found.webhook) == (Priority.NORMAL, "p", "https://x/")
        assert (found.state, found.saved, found.pages) == (JobState.QUEUED, 0, None)
        assert "\0" not in found.name
        with pytest.raises(InputRejected, match="job_unknown"):
            await store.get(added.id, "b")


async def test_a_whole_run(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job(webhook="https://h/x")])
        claim = await one(store)
        assert claim.job.state is JobState.RUNNING
        await store.save(claim, [page(0), page(1)], (DOCUMENT, 3))
        assert [got.index for got in await store.pages(added.id)] == [0, 1]
        assert [got.index for got in await store.pages(added.id, after=0)] == [1]
        end = JobEnd(JobState.PARTIAL, None, ("db", "webhook"))
        assert await store.save(claim, [page(2, ERROR)], None, end) is JobState.PARTIAL
        found = await store.get(added.id, None)
        assert (found.saved, found.failed, found.pages, found.document) == (3, 1, 3, DOCUMENT)
        due = [*await store.take_due({DeliveryLane("webhook h", "a"): 9}, 30), *await take_due(store, 10, 30)]
        assert [one.sink for one in due] == ["webhook", "db"]
        assert await take_due(store, 10, 30) == []
        await store.delivered(due[0])
        await store.dead(due[1], "gone")
        counts = await store.counts()
        assert (counts.outbox_waiting, counts.outbox_dead) == (0, 1)
        assert await store.redeliver(added.id) == 1
        assert len(await take_due(store, 10, 30)) == 1


async def test_jobs_are_claimed_by_class_then_in_turn_between_tenants(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job("many", name=f"many {n}") for n in range(6)])
        await store.add([job("few", name=f"few {n}") for n in range(2)])
        await store.add([job("many", name="urgent", priority=Priority.INTERACTIVE)])
        names = [claim.job.name for claim in await store.claim(4)]
        assert names[0] == "urgent"
        assert set(names[1:3]) == {"many 0", "few 0"}
        # A tenant that comes later begins where the queue is, not at its end.
        await store.add([job("late", name="late 0")])
        assert "late 0" in [claim.job.name for claim in await store.claim(3)]


async def test_a_key_adds_one_job(stores: Stores) -> None:
    async with stores.store() as first, stores.store() as second:
        (added,) = await first.add([job(key="k")])
        (again,) = await second.add([job(key="k")])
        assert (again.id, again.duplicate) == (added.id, True)
        (other,) = await first.add([job("b", key="k")])
        assert not other.duplicate
        with pytest.raises(InputRejected, match="key_reused"):
            await first.add([job(key="k", name="x", options=JobOptions(pages="2"))])
        both = await first.add([job(key="n"), job(key="n"), job(), job(key="k")])
        assert [one.duplicate for one in both] == [False, True, False, True]
        assert both[0].id == both[1].id


async def test_two_processes_claim_each_job_once(stores: Stores) -> None:
    async with stores.store() as first, stores.store() as second:
        await first.add([job(f"tenant {n % 7}") for n in range(200)])
        claimed: list[str] = []

        async def work(store: JobStore) -> None:
            while claims := await store.claim(9):
                claimed.extend(claim.job.id for claim in claims)

        async with anyio.create_task_group() as tasks:
            for store in (first, second, first, second):
                tasks.start_soon(work, store)
        assert len(claimed) == len(set(claimed)) == 200


async def test_a_worker_whose_lease_ran_out_can_write_nothing(stores: Stores) -> None:
    async with stores.store(lease_s=0.2) as slow, stores.store() as store:
        (added,) = await slow.add([job()])
        late = await one(slow)
        await slow.save(late, [page(0)], (DOCUMENT, 3))
        assert await store.claim_abandoned() == []
        await anyio.sleep(0.4)
        (taken,) = await store.claim_abandoned()
        assert (taken.saved_pages, taken.job.attempts) == (frozenset({0}), 1)
        for write in (
            slow.save(late, [page(1)]),
            slow.save(late, [], None, JobEnd(JobState.SUCCEEDED)),
            slow.release(late, Release()),
            slow.mark_suspect(late, 1),
        ):
            with pytest.raises(LeaseLost):
                await write
        assert await slow.renew([late]) == {}
        assert [got.index for got in await store.pages(added.id)] == [0]
        await store.save(taken, [page(1), page(2)], None, JobEnd(JobState.SUCCEEDED))
        assert (await store.get(added.id, None)).saved == 3


async def test_a_lease_that_is_renewed_is_kept(stores: Stores) -> None:
    async with stores.store(lease_s=0.5) as store:
        await store.add([job()])
        claim = await one(store)
        for _ in range(4):
            await anyio.sleep(0.2)
            assert await store.renew([claim]) == {claim.job.id: JobState.RUNNING}
            assert await store.claim_abandoned() == []


async def test_a_page_that_is_saved_again_counts_once(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        claim = await one(store)
        await store.save(claim, [page(0), page(1, ERROR)], (DOCUMENT, 3))
        await store.save(claim, [page(1, ERROR), page(2)])
        found = await store.get(added.id, None)
        assert (found.saved, found.failed) == (3, 1)


async def test_deaths_are_counted_for_the_page_that_was_read_alone(stores: Stores) -> None:
    async with stores.store(lease_s=0.01) as store:
        await store.add([job()])
        await one(store)
        deaths = []
        for suspect in (4, 5, None, 5, 5):  # None: it dies before it has begun with the page again
            await anyio.sleep(0.05)
            (claim,) = await store.claim_abandoned()
            deaths.append((claim.job.attempts, claim.suspect, claim.suspect_deaths))
            if suspect is not None:
                await store.mark_suspect(claim, suspect)
        assert deaths == [(1, None, 0), (2, 4, 1), (3, 5, 1), (4, 5, 1), (5, 5, 2)]
        await store.save(claim, [page(5, ERROR)], (DOCUMENT, 9))
        await anyio.sleep(0.05)
        (claim,) = await store.claim_abandoned()
        assert (claim.job.attempts, claim.suspect, claim.suspect_deaths) == (1, None, 0)


async def test_cancel(stores: Stores) -> None:
    async with stores.store() as store:
        waiting, running = await store.add([job(), job()])
        claim = await one(store)
        assert claim.job.id == waiting.id
        assert (await store.cancel(running.id, "a")).state is JobState.CANCELLED
        assert (await store.cancel(waiting.id, "a")).state is JobState.CANCELLING
        assert await store.renew([claim]) == {waiting.id: JobState.CANCELLING}
        assert await store.save(claim, [page(0)], (DOCUMENT, 3)) is JobState.CANCELLING
        assert await store.save(claim, [], None, JobEnd(JobState.SUCCEEDED, None, ("hook",))) is JobState.CANCELLED
        assert await take_due(store, 10, 30) == []
        with pytest.raises(InputRejected, match="job_ended"):
            await store.cancel(waiting.id, "a")
        with pytest.raises(InputRejected, match="job_unknown"):
            await store.cancel(waiting.id, "b")


async def test_retry_reads_only_what_failed(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        claim = await one(store)
        with pytest.raises(InputRejected, match="job_not_ended"):
            await store.retry(added.id, "a")
        failure = JobFailure("engine_failed", "It failed.")
        await store.save(claim, [page(0), page(1, ERROR)], (DOCUMENT, 2), JobEnd(JobState.PARTIAL, failure, ("hook",)))
        found = await store.retry(added.id, "a")
        assert (found.state, found.saved, found.failed, found.failure) == (JobState.QUEUED, 1, 0, None)
        claim = await one(store)
        assert claim.saved_pages == {0}
        await store.save(claim, [page(1)], None, JobEnd(JobState.SUCCEEDED, None, ("hook",)))
        assert len(await take_due(store, 10, 30)) == 2
        with pytest.raises(InputRejected, match="job_ended"):
            await store.retry(added.id, "a")


async def test_released_jobs_wait_and_forget_nothing(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job(name="first"), job(name="other")])
        claim = await one(store)
        await store.save(claim, [page(0)], (DOCUMENT, 3))
        await store.release(claim, Release(to_the_end=True, pages_read=1))
        claims = await store.claim(2)
        assert [claim.job.name for claim in claims] == ["other", "first"]
        assert claims[1].saved_pages == {0}
        await store.add([job(name="third")])
        claim = await one(store)
        await store.release(claim, Release(pause_s=60.0, retried=True))
        assert await store.claim(1) == []
        assert await store.next_in_turn() is None


async def test_a_released_job_that_was_cancelled_ends(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        claim = await one(store)
        await store.cancel(added.id, "a")
        assert await store.release(claim, Release()) is JobState.CANCELLED
        assert (await store.get(added.id, "a")).ended is not None


async def test_a_database_that_is_deleted_is_made_anew(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job()])
        if store.database.is_postgres:
            return
        for file in Path(str(stores.url.database)).parent.iterdir():
            file.unlink()
        (added,) = await store.add([job()])
        assert [found.id for found in await store.list(None)] == [added.id]
    async with stores.store() as store:
        assert (await store.get(added.id, "a")).state is JobState.QUEUED


async def test_a_full_queue_refuses(stores: Stores) -> None:
    async with stores.store(max_queued_pages=10) as store:
        await store.add([job() for _ in range(8)])
        with pytest.raises(Overloaded, match="jobs_full") as refused:
            await store.add([job() for _ in range(3)])
        assert refused.value.retry_after_s > 0
        await store.add([job(), job()])


async def test_position_and_time(stores: Stores) -> None:
    async with stores.store() as store:
        added = await store.add([job() for _ in range(5)])
        last = await store.get(added[4].id, "a")
        assert (await store.forecast(last)).ahead == 4
        assert (await store.forecast(last)).eta_s is None
        await store.save(await one(store), [page(n) for n in range(10)], (DOCUMENT, 10), JobEnd(JobState.SUCCEEDED))
        async with stores.store() as fresh:
            forecast = await fresh.forecast(await fresh.get(added[4].id, "a"))
        assert forecast.ahead == 3
        assert forecast.eta_s is not None
        assert forecast.eta_s <= 4.0


async def test_listing(stores: Stores) -> None:
    async with stores.store() as store:
        ids = []
        for n in range(5):
            ids += [added.id for added in await store.add([job(name=str(n)), job("b")])]
            await anyio.sleep(0.002)
        await store.cancel(ids[0], None)
        names = [found.name for found in await store.list("a")]
        assert names == ["4", "3", "2", "1", "0"]
        assert [found.name for found in await store.list("a", after=ids[6], limit=2)] == ["2", "1"]
        assert [found.name for found in await store.list("a", JobFilter([JobState.CANCELLED]))] == ["0"]
        assert len(await store.list(None)) == 10
        marked = job(options=JobOptions(form='{"batch":"50%_a"}'))
        (added, _) = await store.add([marked, job(options=JobOptions(form='{"batch":"50xxa"}'))])
        assert [found.id for found in await store.list("a", JobFilter(form="50%_a"))] == [added.id]


async def test_old_results_expire_and_then_the_jobs_are_forgotten(stores: Stores) -> None:
    async with stores.store() as store:
        old, kept = await store.add([job(), job(key="k")])
        for _ in range(2):
            await store.save(await one(store), [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("hook",)))
            await anyio.sleep(0.5)
        between = (await store.get(kept.id, "a")).ended
        assert between is not None
        assert await store.expire(between - 0.4) == 1
        assert await store.unneeded(["0" * 64, "1" * 64]) == ["1" * 64]  # the other job needs the same upload
        assert await store.pages(old.id) == []
        with pytest.raises(InputRejected, match="job_expired"):
            await store.retry(old.id, "a")
        assert await store.expire(between + 1) == 1
        assert await store.unneeded(["0" * 64]) == ["0" * 64]
        assert await store.forget(between + 1) == 2
        with pytest.raises(InputRejected, match="job_unknown"):
            await store.get(old.id, "a")
        assert await take_due(store, 10, 1) == []


async def test_an_ended_job_can_be_removed(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        with pytest.raises(InputRejected, match="job_not_ended"):
            await store.remove(added.id, "a")
        await store.cancel(added.id, "a")
        with pytest.raises(InputRejected, match="job_unknown"):
            await store.remove(added.id, "b")
        await store.remove(added.id, "a")
        assert await store.unneeded(["0" * 64]) == ["0" * 64]
        with pytest.raises(InputRejected, match="job_unknown"):
            await store.get(added.id, "a")


async def test_a_store_of_a_later_version_is_left_alone(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job()])
        await store.database.write(
            lambda connection: connection.execute(text("UPDATE inkgate_schema SET version = 99"))
        )
    async with stores.store() as store:
        with pytest.raises(Overloaded, match="version 99"):
            await store.counts()


async def test_a_clock_that_was_set_back_does_not_hold_jobs(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job()])
        await one(store)
        if not store.database.is_postgres:  # its clock is the server's
            stores.clock.offset_s = -3600.0
            assert len(await store.claim_abandoned()) == 1


async def test_the_claim_uses_its_index_and_a_long_document_few_statements(stores: Stores) -> None:
    async with stores.store(max_queued_pages=1_000_000) as store:
        for _ in range(10):
            await store.add([job(f"tenant {n % 50}") for n in range(2000)])
        await store.database.write(lambda connection: connection.execute(text("ANALYZE")))
        statements: list[str] = []
        engine = store.database._engine(writes=True)

        @event.listens_for(engine, "before_cursor_execute")
        def _count(_: object, __: object, statement: str, *rest: object) -> None:
            statements.append(statement)

        claim = await one(store)
        chosen = next(statement for statement in statements if statement.startswith("SELECT"))
        statements.clear()
        for first in range(0, 1000, 8):
            await store.save(claim, [page(n) for n in range(first, first + 8)])
        assert len([one for one in statements if not one.startswith(("BEGIN", "COMMIT"))]) <= 0.3 * 1000
        plan = await store.database.read(lambda connection: _plan(connection, store))
        assert "inkgate_jobs_turns" in plan, chosen
        assert "SCAN inkgate_jobs" not in plan
        assert "Seq Scan" not in plan
        assert "TEMP B-TREE" not in plan


def _plan(connection: object, store: JobStore) -> str:
    """How the database finds the jobs to claim."""
    from sqlalchemy import Connection

    assert isinstance(connection, Connection)
    chosen = turns.first_jobs(Priority.BATCH.rank, store.database.now())
    compiled = chosen.compile(connection, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN" if store.database.is_postgres else "EXPLAIN QUERY PLAN"
    return "\n".join(str(tuple(row)) for row in connection.execute(text(f"{explain} {compiled}")))


async def test_whether_there_are_tables_is_told_without_making_them(stores: Stores) -> None:
    async with stores.store() as store:
        assert [await store.exists(), await store.exists()] == [False, False]
        await store.add([job()])
        assert await store.exists()


async def test_a_delivery_that_was_not_tried_is_no_attempt(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job(), job("b")])
        for claim in await store.claim(2):
            await store.save(claim, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("a", "b")))
        lanes = [DeliveryLane(f"sink {sink}", tenant) for sink in "ab" for tenant in "ab"]
        assert sorted(await store.due_lanes()) == lanes
        (due,) = await store.take_due({lanes[1]: 5}, 60.0)
        assert (due.sink, due.job.tenant, due.attempt) == ("a", "b", 1)
        assert lanes[1] not in await store.due_lanes()
        await store.put_back(due, -1.0)
        (due,) = await store.take_due({lanes[1]: 5}, 60.0)
        assert due.attempt == 1


@pytest.mark.parametrize("webhook", ["https://a]b/x", "https://h[]/"])
async def test_a_job_whose_webhook_is_not_valid_ends(stores: Stores, webhook: str) -> None:
    """Versions before checked less."""
    async with stores.store() as store:
        (added,) = await store.add([job(webhook=webhook)])
        await store.save(await one(store), [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("webhook",)))
        (due,) = await take_due(store, 1, 60.0)
        assert due.job.id == added.id
        assert DeliveryLane.of(due.sink, due.job.tenant, due.job.webhook).is_webhook


async def test_deliveries_of_an_earlier_version_wait_in_the_lanes_that_they_are_of(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job(webhook="https://h/x"), job("b"), job("b")])
        for claim in await store.claim(3):
            await store.save(claim, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("webhook", "db")))
        lanes = sorted(await store.due_lanes())
        await store.database.write(lambda connection: connection.execute(text("UPDATE inkgate_outbox SET lane = ''")))
        (old,) = await store.due_lanes()
        assert await store.take_due({old: 1}, 60.0) == []
        assert sorted(await store.due_lanes()) == lanes
        assert {due.attempt for due in await take_due(store, 10, 60.0)} == {1}


async def test_a_tenant_with_many_hosts_of_webhooks_has_some_looked_at_each_time(stores: Stores) -> None:
    count = 3 * WEBHOOK_LANES
    async with stores.store() as store:
        await store.add([*(job(webhook=f"https://h{n}/") for n in range(count)), job("b", webhook="https://h/")])
        for claim in await store.claim(count + 1):
            await store.save(claim, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("webhook", "db")))
        seen: set[DeliveryLane] = set()
        for _ in range(100):
            found = await store.due_lanes()
            assert {DeliveryLane("sink db", "a"), DeliveryLane("webhook h", "b")} <= set(found)
            assert sum(lane.is_webhook for lane in found) == WEBHOOK_LANES + 1
            seen.update(found)
            if len(seen) == count + 3:
                break
        assert len(seen) == count + 3


async def test_a_job_that_is_not_understood_is_not_charged(stores: Stores) -> None:
    async with stores.store() as store:
        await store.add([job()])
        later = text("UPDATE inkgate_jobs SET options = '{}' || options")
        used = text("SELECT tenant, used FROM inkgate_shares ORDER BY tenant")
        await store.database.write(lambda connection: connection.execute(later))
        assert await store.claim(1) == []
        shares = await store.database.read(lambda connection: connection.execute(used).all())
        assert [tuple(row) for row in shares] == [("", 0.0), ("a", 0.0)]


async def test_deliveries_of_a_job_are_listed_with_their_last_error(stores: Stores) -> None:
    async with stores.store() as store:
        (added,) = await store.add([job()])
        assert await store.deliveries(added.id) == []
        await store.save(await one(store), [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("a", "b")))
        for due in await take_due(store, 2, 60.0):
            if due.sink == "a":
                await store.dead(due, "gone")
            else:
                await store.delivered(due)
        found = {each.sink: (each.state, each.attempts, each.error) for each in await store.deliveries(added.id)}
        assert found == {"a": ("dead", 1, "gone"), "b": ("done", 1, "")}


async def test_abandoned_jobs_and_deliveries_that_none_makes_are_counted(stores: Stores) -> None:
    async with stores.store(lease_s=0.05) as store:
        await store.add([job(), job()])
        first, _ = await store.claim(2)
        await store.save(first, [page(0)], (DOCUMENT, 1), JobEnd(JobState.SUCCEEDED, None, ("a", "b")))
        await take_due(store, 1, 60.0)
        stores.clock.offset_s += 10.0  # of SQLite; on PostgreSQL the server's clock counts
        await anyio.sleep(0.2)
        counts = await store.counts()
        assert counts.abandoned == 1
        assert counts.outbox_waiting == 2
        assert counts.outbox_oldest_s > 0
