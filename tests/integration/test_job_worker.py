"""The worker of jobs, with a real store, a real reader, and an engine whose faults the tests choose."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from sqlalchemy import text

from inkgate.caller import Priority
from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.jobs.job import Job, JobDocument, JobFields, JobOptions, JobReview, JobSource, JobState, NewJob
from inkgate.jobs.store import Claim, JobStore, Release
from inkgate.jobs.store.database import database_url
from inkgate.service.page import DEGRADED_NOTES, NO_SERVER
from inkgate.settings import PipelineSettings
from inkgate_client.types import Document, PageResult
from support.job_plant import SETTINGS, WINDOW, Documents, Plant, job_plant, until
from support.job_stores import take_due

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncIterator[Plant]:
    async with job_plant(tmp_path) as plant:
        yield plant


async def test_a_job_is_read_and_kept(plant: Plant) -> None:
    plant.pipelines["p"] = PipelineSettings(sinks=("db",))
    job_id = await plant.add(11, pipeline="p", webhook="https://x/")
    async with plant.working() as worker:
        job = await plant.state(job_id)
    assert (job.state, job.pages, job.saved, job.failed) == (JobState.SUCCEEDED, 11, 11, 0)
    assert job.document is not None
    assert (job.document.mime_type, job.document.page_count) == ("image/tiff", 11)
    assert await plant.saved(job_id) == list(range(11))
    assert set(plant.engine.reads.values()) == {1}
    assert {due.sink for due in await take_due(plant.store, 9, 9)} == {"db", "webhook"}
    assert (worker.counts.pages_read, worker.counts.ended) == (11, {JobState.SUCCEEDED: 1})


async def test_a_job_says_who_read_it_and_what_that_means(plant: Plant) -> None:
    plant.engine.others = {3: "other", 4: "other"}
    job_id = await plant.add(5)
    async with plant.working():
        job = await plant.state(job_id)
    assert job.document is not None
    assert job.document.engine == "counting+other"
    assert job.document.notes == (f"Pages 4-5: {DEGRADED_NOTES[NO_SERVER]}",)


async def test_a_job_that_is_put_back_says_the_same(plant: Plant) -> None:
    """Only those who read a page are named, and all of them, whichever of its turns they read it in."""
    plant.engine.others = dict.fromkeys(range(11), "other") | {11: "third"}
    failed: list[int] = []

    def act(_: str, page: int) -> None:
        if page in (6, 11) and page not in failed:
            failed.append(page)
            raise Overloaded("service_full", "Full.", 0.01)

    plant.engine.act = act
    job_id = await plant.add(12)
    async with plant.working():
        job = await plant.state(job_id)
    assert failed == [6, 11]
    assert job.document is not None
    assert job.document.engine == "other+third"
    told = [re.findall(r"\d+", note.partition(":")[0]) for note in job.document.notes]
    pages = [page for first, *last in told for page in range(int(first), int((last or [first])[0]) + 1)]
    assert pages == list(range(1, 13))


async def test_the_chosen_pages_are_read(plant: Plant) -> None:
    job_id = await plant.add(11, options=JobOptions(pages="9,2-3"))
    async with plant.working():
        job = await plant.state(job_id)
    assert (job.pages, await plant.saved(job_id)) == (3, [1, 2, 8])


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"no image", "type_unsupported"),
        (b"%PDF-1.4 but broken", "pdf_corrupt"),
        (InputRejected("source_missing", "It is gone."), "source_missing"),
        (InputRejected("source_replaced", "It was replaced."), "source_replaced"),
    ],
)
async def test_a_document_that_can_t_be_read_fails_with_its_reason(
    plant: Plant, document: bytes | Exception, code: str
) -> None:
    job_id = await plant.add(document)
    async with plant.working():
        job = await plant.state(job_id)
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert job.failure.code == code


async def test_failing_pages_are_named_and_can_be_retried(plant: Plant) -> None:
    def act(_: str, page: int) -> None:
        if page in (3, 7):
            raise ValueError("unexpected")

    plant.engine.act = act
    job_id = await plant.add(10)
    async with plant.working():
        job = await plant.state(job_id)
        assert (job.state, job.saved, job.failed) == (JobState.PARTIAL, 10, 2)
        errors = {page.index: page.error.code for page in await plant.store.pages(job_id) if page.error}
        assert errors == {3: "engine_failed", 7: "engine_failed"}
        plant.engine.act = lambda *_: None
        await plant.store.retry(job_id, "a")
        job = await plant.state(job_id, JobState.SUCCEEDED)
    assert (job.saved, job.failed) == (10, 0)
    assert plant.engine.pages_of(job_id) == Counter(range(10)) + Counter([3, 7])


async def test_a_document_none_of_whose_pages_is_read_fails(plant: Plant) -> None:
    def act(_: str, page: int) -> None:
        raise InputRejected("image_too_large", "Too large.")

    plant.engine.act = act
    job_id = await plant.add(3)
    async with plant.working():
        job = await plant.state(job_id)
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert job.failure.code == "image_too_large"


@pytest.mark.parametrize("code", ["upstream_unreachable", "upstream_denied", "model_unknown", "upstream_garbled"])
async def test_while_the_engine_is_away_jobs_wait_and_saved_pages_stay(plant: Plant, code: str) -> None:
    """Whoever repairs the server, or its address, key or model, gets the document read."""

    def act(_: str, page: int) -> None:
        if page >= 6:
            raise EngineFailed(code, "The model server reads no page.")

    plant.engine.act = act
    job_id = await plant.add(10)
    async with plant.working():
        job = await plant.state(job_id, JobState.QUEUED)
        while job.not_before <= job.created + 1:
            job = await plant.state(job_id, JobState.QUEUED)
        assert await plant.saved(job_id) == list(range(6))
        assert job.failed == 0


async def test_a_full_service_is_no_failure(plant: Plant) -> None:
    full = [True] * 20

    def act(_: str, page: int) -> None:
        if full:
            full.pop()
            raise Overloaded("service_full", "Full.", 0.01)

    plant.engine.act = act
    job_id = await plant.add(10)
    async with plant.working():
        assert (await plant.state(job_id)).state is JobState.SUCCEEDED


async def test_cancel_stops_after_at_most_a_window(plant: Plant) -> None:
    gate = anyio.Event()
    plant.engine.act = lambda _, page: gate.wait() if page == 20 else None
    job_id = await plant.add(60)
    async with plant.working():
        await until(lambda: plant.engine.reads[job_id, 20] > 0)
        assert (await plant.store.cancel(job_id, "a")).state is JobState.CANCELLING
        before = sum(plant.engine.reads.values())
        gate.set()
        assert (await plant.state(job_id)).state is JobState.CANCELLED
        after = sum(plant.engine.reads.values())
        await anyio.sleep(0.1)
    assert after - before <= SETTINGS.save_every + WINDOW
    assert sum(plant.engine.reads.values()) == after


async def test_a_job_that_hangs_can_be_cancelled(plant: Plant) -> None:
    plant.engine.act = lambda *_: anyio.sleep_forever()
    job_id = await plant.add(3)
    async with plant.working():
        await plant.state(job_id, JobState.RUNNING)
        await plant.store.cancel(job_id, "a")
        assert (await plant.state(job_id)).state is JobState.CANCELLED


async def test_a_deadline_ends_the_job_with_what_was_read(plant: Plant) -> None:
    plant.engine.act = lambda _, page: anyio.sleep_forever() if page == 9 else None
    job_id = await plant.add(20, deadline=plant.store.clock() + 3.0)
    async with plant.working():
        job = await plant.state(job_id)
    assert job.state is JobState.PARTIAL
    assert job.failure is not None
    assert job.failure.code == "deadline_exceeded"
    assert await plant.saved(job_id) == list(range(9))


async def test_a_worker_that_is_stopped_gives_its_jobs_back_with_what_it_has_read(plant: Plant) -> None:
    plant.engine.act = lambda _, page: anyio.sleep_forever() if page == 6 else None
    job_id = await plant.add(20)
    async with plant.working():
        await until(lambda: plant.engine.reads[job_id, 6] > 0)
        await anyio.sleep(0.05)
    job = await plant.store.get(job_id, None)
    assert (job.state, job.attempts) == (JobState.QUEUED, 0)
    assert await plant.saved(job_id) == list(range(6))
    plant.engine.act = lambda *_: None
    async with plant.working():
        assert (await plant.state(job_id)).state is JobState.SUCCEEDED
    assert plant.engine.pages_of(job_id)[0] == 1


async def test_a_worker_that_is_stopped_while_it_claims_gives_the_jobs_back(plant: Plant) -> None:
    class Slow(JobStore):
        claimed = anyio.Event()

        async def claim(self, room: int) -> Sequence[Claim]:
            found = await super().claim(room)
            self.claimed.set()
            await anyio.sleep(0.1)
            return found

    store = Slow(database_url("", plant.folder), plant.store.clock, SETTINGS.lease_s, SETTINGS.max_queued_pages)
    job_id = await plant.add(3)
    async with store.running(), replace(plant, store=store).working():
        await store.claimed.wait()
        assert (await plant.store.get(job_id, None)).state is JobState.RUNNING
    job = await plant.store.get(job_id, None)
    assert (job.state, job.attempts) == (JobState.QUEUED, 0)


async def test_a_job_of_a_dead_worker_is_gone_on_with(plant: Plant) -> None:
    job_id = await plant.add(30)
    (claim,) = await plant.store.claim(1)  # by a worker that dies at once
    assert claim.job.id == job_id
    async with plant.working() as worker:
        job = await plant.state(job_id)
    assert job.state is JobState.SUCCEEDED
    assert set(plant.engine.pages_of(job_id).values()) == {1}
    assert worker.counts.abandoned_claims == 1


async def test_a_document_that_kills_every_reader_is_quarantined(plant: Plant) -> None:
    deadly = await plant.add(3)
    others = [await plant.add(3, tenant=f"t{n}") for n in range(3)]
    for attempt in range(SETTINGS.max_attempts):
        claims = await plant.store.claim(9) if attempt == 0 else await plant.store.claim_abandoned()
        assert deadly in [claim.job.id for claim in claims]
        await anyio.sleep(SETTINGS.lease_s + 0.1)
    async with plant.working():
        job = await plant.state(deadly)
        assert [(await plant.state(other)).state for other in others] == [JobState.SUCCEEDED] * 3
    assert job.state is JobState.QUARANTINED
    assert job.failure is not None
    assert job.failure.code == "document_quarantined"
    assert plant.engine.pages_of(deadly) == Counter()


async def test_a_page_that_killed_its_reader_twice_gets_an_error(plant: Plant) -> None:
    job_id = await plant.add(12)
    claims = await plant.store.claim(1)
    for _ in range(2):
        await plant.store.mark_suspect(claims[0], 1)
        await anyio.sleep(SETTINGS.lease_s + 0.1)
        claims = await plant.store.claim_abandoned()
    await anyio.sleep(SETTINGS.lease_s + 0.1)
    async with plant.working():
        job = await plant.state(job_id)
    assert (job.state, job.failed) == (JobState.PARTIAL, 1)
    errors = {page.index: page.error.code for page in await plant.store.pages(job_id) if page.error}
    assert errors == {1: "content_quarantined"}
    assert plant.engine.pages_of(job_id) == Counter(set(range(12)) - {1})


async def test_a_suspect_runs_alone(plant: Plant) -> None:
    suspect = await plant.add(5)
    await plant.store.claim(1)
    together: list[set[str]] = []
    reading: Counter[str] = Counter()

    async def slow(flow: str) -> None:
        reading[flow] += 1
        together.append({flow for flow, count in reading.items() if count})
        try:
            await anyio.sleep(0.01)
        finally:
            reading[flow] -= 1

    plant.engine.act = lambda flow, _: slow(flow)
    others = [await plant.add(40, tenant=f"t{n}") for n in range(3)]
    async with plant.working():
        for job_id in (suspect, *others):
            assert (await plant.state(job_id)).state is JobState.SUCCEEDED
    assert all(flows == {suspect} for flows in together if suspect in flows)
    assert any(len(flows) > 1 for flows in together)
    assert set(plant.engine.reads.values()) <= {1, 2}


async def test_a_long_job_lets_others_go_first(plant: Plant) -> None:
    plant = replace(plant, settings=SETTINGS.model_copy(update={"at_once": 1}))
    ended: list[str] = []
    long = await plant.add(60, tenant="long")
    async with plant.working():
        await plant.state(long, JobState.RUNNING)
        short = await plant.add(1, tenant="short")
        job = await plant.state(short)
        ended.append(job.id)
        assert (await plant.store.get(long, None)).state is not JobState.SUCCEEDED
        assert (await plant.state(long)).state is JobState.SUCCEEDED
    assert await plant.saved(long) == list(range(60))


async def test_a_tenant_s_long_jobs_give_a_place_to_another_tenant_at_once(plant: Plant) -> None:
    gate = anyio.Event()
    plant.engine.act = lambda flow, page: gate.wait() if page >= 3 and flow in long else None
    long = [await plant.add(60, tenant="long") for _ in range(SETTINGS.at_once + 2)]
    async with plant.working() as worker:
        await until(lambda: worker.jobs_running == SETTINGS.at_once and sum(plant.engine.reads.values()) >= 3)
        short = await plant.add(1, tenant="short")
        assert (await plant.state(short)).state is JobState.SUCCEEDED  # though the long ones hang
        gate.set()
        for job_id in long:
            assert (await plant.state(job_id)).state is JobState.SUCCEEDED
            assert await plant.saved(job_id) == list(range(60))
    again = sum(count - 1 for count in plant.engine.reads.values())
    assert again <= SETTINGS.save_every + WINDOW  # of the one that gave its place up


async def test_a_document_that_opens_slowly_gives_its_place_to_another_tenant(plant: Plant) -> None:
    class Slow(Documents):
        async def load(self, job: Job) -> Document:
            if job.tenant == "slow":
                await opened.wait()
            return await super().load(job)

    opened = anyio.Event()
    plant = replace(plant, documents=Slow())
    slow = [await plant.add(3, tenant="slow") for _ in range(SETTINGS.at_once)]
    async with plant.working() as worker:
        await until(lambda: worker.jobs_running == SETTINGS.at_once)
        short = await plant.add(1, tenant="short")
        assert (await plant.state(short)).state is JobState.SUCCEEDED
        opened.set()
        for job_id in slow:
            assert (await plant.state(job_id)).state is JobState.SUCCEEDED


async def test_a_job_of_a_higher_class_gets_a_place_beside_its_tenant_s_long_ones(plant: Plant) -> None:
    plant.engine.act = lambda flow, page: anyio.sleep_forever() if page >= 3 and flow in long else None
    long = [await plant.add(60) for _ in range(SETTINGS.at_once)]
    async with plant.working() as worker:
        await until(lambda: worker.jobs_running == SETTINGS.at_once and sum(plant.engine.reads.values()) >= 3)
        urgent = await plant.add(1, priority=Priority.INTERACTIVE)
        assert (await plant.state(urgent)).state is JobState.SUCCEEDED


async def test_jobs_of_few_pages_keep_their_places(plant: Plant) -> None:
    short = [await plant.add(3, tenant=f"t{n % 2}") for n in range(40)]
    async with plant.working():
        for job_id in short:
            assert (await plant.state(job_id)).state is JobState.SUCCEEDED
    assert set(plant.engine.reads.values()) == {1}


async def test_a_worker_paused_past_its_lease_saves_nothing_late(plant: Plant) -> None:
    """The store has no say in how a worker is paused; here its lease is taken from it."""
    gate = anyio.Event()
    plant.engine.act = lambda _, page: gate.wait() if page == 5 else None
    job_id = await plant.add(12)
    async with plant.working() as worker:
        await until(lambda: plant.engine.reads[job_id, 5] > 0)
        await plant.store.database.write(
            lambda connection: connection.execute(text("UPDATE inkgate_jobs SET lease = 'another'"))
        )
        before = await plant.saved(job_id)
        gate.set()
        await until(lambda: not worker.jobs_running)
        assert await plant.saved(job_id) == before


async def test_the_database_may_go_away_and_come_back(plant: Plant, tmp_path: Path) -> None:
    async def rename(old: str, new: str) -> None:
        statement = text(f"ALTER TABLE {old} RENAME TO {new}")
        await plant.store.database.write(lambda connection: connection.execute(statement))

    gate = anyio.Event()
    plant.engine.act = lambda _, page: gate.wait() if page == 5 else None
    job_id = await plant.add(12)
    async with plant.working() as worker:
        await until(lambda: plant.engine.reads[job_id, 5] > 0)
        await rename("inkgate_pages", "away")
        gate.set()
        await anyio.sleep(0.3)
        assert worker.jobs_running == 1
        assert plant.engine.pages_of(job_id).total() <= 4 + SETTINGS.save_every + WINDOW
        with pytest.raises(Overloaded, match="jobs_unavailable"):
            await plant.store.pages(job_id)
        await rename("away", "inkgate_pages")
        assert (await plant.state(job_id)).state is JobState.SUCCEEDED
    assert await plant.saved(job_id) == list(range(12))


async def test_a_full_disk_refuses_new_jobs_and_holds_those_that_run(plant: Plant) -> None:
    async def room(pages: int) -> None:
        """Sets how large the database may become; SQLite then fails as on a full disk."""
        await plant.store.database.write(
            lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").scalar()
        )

    gate = anyio.Event()
    plant.engine.act = lambda _, page: gate.wait() if page == 5 else None
    plant.engine.rest = secrets.token_hex(20_000)  # no result fits into what the database has left within its size
    job_id = await plant.add(12)
    async with plant.working() as worker:
        await until(lambda: plant.engine.reads[job_id, 5] > 0)
        await room(1)  # SQLite raises it to what is in use
        with pytest.raises(Overloaded, match="storage_full") as refused:
            await plant.store.add([NewJob("a", JobSource(upload="0" * 64), name="x" * 100_000)])
        assert refused.value.retry_after_s > 0
        await plant.store.get(job_id, None)
        assert plant.store.database.is_full, "what can be read says nothing about space"
        assert "No space" in plant.store.database.trouble
        gate.set()
        await until(lambda: bool(plant.store.database.trouble))
        await room(1_000_000)
        assert (await plant.state(job_id)).state is JobState.SUCCEEDED
        assert worker.counts.leases_lost == 0
        assert (plant.store.database.trouble, plant.store.database.is_full) == ("", False)
    assert await plant.saved(job_id) == list(range(12))


async def test_a_worker_s_memory_of_jobs_is_empty_at_the_end(plant: Plant) -> None:
    ids = [await plant.add(2, tenant=f"t{n % 5}") for n in range(60)]
    async with plant.working() as worker:
        for job_id in ids:
            assert (await plant.state(job_id)).state is JobState.SUCCEEDED
        await anyio.sleep(0.05)
        assert worker.jobs_running == 0
    assert set(plant.engine.reads.values()) == {1}
    assert plant.store.database.transactions < 3 * len(ids)


async def test_fields_are_found_again_without_reading_if_the_worker_died_before_the_end(plant: Plant) -> None:
    job_id = await plant.add(3, fields=JobFields(names=("total",)))
    (claim,) = await plant.store.claim(1)
    pages = [PageResult(index, text=f"page {index}") for index in range(3)]
    await plant.store.save(claim, pages, (JobDocument("image/tiff", 1, 3, "counting"), 3))
    await plant.store.release(claim, Release())
    async with plant.working():
        job = await plant.state(job_id)
    assert (job.state, job.review) == (JobState.SUCCEEDED, JobReview.NEEDS_REVIEW)
    assert not plant.engine.reads
    assert '"total":null' in (await plant.store.fields(job_id)).extraction
