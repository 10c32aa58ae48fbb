"""Jobs whose worker processes are killed or stopped: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import signal
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import anyio
import pytest

from inkgate.jobs.job import JobState
from inkgate.settings import JobSettings
from support.job_processes import SAVE_EVERY, WINDOW, JobPlace, plain, tiff, until
from support.job_worker import HANGS, KILLS, KILLS_AT_OPENING, RAISES
from support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

AT_ONCE, MAX_ATTEMPTS = JobSettings().at_once, JobSettings().max_attempts


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> JobPlace:
    database = request.getfixturevalue("postgres").database() if request.param == "postgres" else ""
    return JobPlace(tmp_path, database)


@pytest.mark.parametrize(("count", "kills"), [(250, 2), pytest.param(1000, 20, marks=pytest.mark.endurance)])
async def test_a_killed_job_loses_no_page_and_has_none_twice(place: JobPlace, count: int, kills: int) -> None:
    chance = Random(kills)
    place.page_s = 0.002
    async with place.running():
        job_id = await place.submit(plain(count))
        moments = sorted(chance.sample(range(1, count - 10), kills))
        for moment in moments:
            process = place.start()
            await until(partial(place.has_read, job_id, moment))
            await anyio.sleep(chance.random() * 0.01)
            process.kill()
            process.wait()
        place.start()
        job = await place.ended(job_id)
        saved = [page.index for page in await place.service.store.pages(job_id, limit=2000)]
    reads = place.reads_of(job_id)
    print(f"{kills} kills: {len(saved)} pages, {reads.total() - count} read again, {max(reads.values())} times at most")
    assert (job.state, job.pages, job.saved, job.failed) == (JobState.SUCCEEDED, count, count, 0)
    assert saved == list(range(count))
    assert set(reads) == set(range(count))
    assert reads.total() - count <= kills * (SAVE_EVERY + WINDOW)


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.endurance)])
async def test_two_processes_do_each_job_once(place: JobPlace, count: int) -> None:
    place.changes = {"lease_s": 20.0}  # else one of them may be late to renew it, on a slow disk
    place.page_s = 15 / count  # else the first may have done all before the second has begun
    async with place.running():
        ids = await place.submit_many(plain(1), count)
        for _ in range(2):
            place.start()
        with anyio.fail_after(600):
            while (await place.by_state()).get(JobState.SUCCEEDED) != count:  # noqa: ASYNC110 - others change it
                await anyio.sleep(0.1)
        assert await place.rows("SELECT count(*), count(DISTINCT job) FROM inkgate_pages") == [(count, count)]
    reads = list(place.reads())
    print(Counter(pid for _, _, pid in reads))
    assert Counter(job for job, _, _ in reads) == Counter(ids)
    assert len({pid for _, _, pid in reads}) == 2


@pytest.mark.endurance
async def test_a_process_that_is_killed_again_and_again_loses_no_job(tmp_path: Path) -> None:
    await _killed_again_and_again(JobPlace(tmp_path), 100, 0.3)


@pytest.mark.endurance
async def test_a_process_that_is_killed_every_2_s_loses_none_of_10000_jobs(place: JobPlace) -> None:
    await _killed_again_and_again(place, 10_000, 2.0)


async def _killed_again_and_again(place: JobPlace, count: int, every_s: float) -> None:
    place.page_s = 0.01
    kills = 0
    async with place.running():
        ids = await place.submit_many(plain(1), count)
        place.start()
        killed = place.start()
        with anyio.fail_after(600):
            while (await place.by_state()).get(JobState.SUCCEEDED) != count:
                read = Counter(pid for _, _, pid in place.reads())
                if read[killed.pid]:  # it works
                    await anyio.sleep(every_s)
                    killed.kill()
                    killed.wait()
                    kills += 1
                    killed = place.start()
                await anyio.sleep(0.05)
        assert await place.rows("SELECT count(*), count(DISTINCT job) FROM inkgate_pages") == [(count, count)]
    reads = Counter(job for job, _, _ in place.reads())
    print(f"{kills} kills: {count} jobs done, {reads.total() - count} read again")
    assert set(reads) == set(ids)
    assert kills
    assert reads.total() - count <= kills * AT_ONCE


async def test_a_process_stopped_past_its_lease_saves_nothing_late(place: JobPlace) -> None:
    place.page_s = 0.02

    async def saved_by(pid: int) -> set[int]:
        pages = await place.service.store.pages(job_id, limit=2000)
        return {page.index for page in pages if page.text.endswith(f" {pid}")}

    async with place.running():
        job_id = await place.submit(plain(300))
        stopped = place.start()
        await until(partial(place.has_read, job_id, 50))
        await place.stop(stopped)
        before = await saved_by(stopped.pid)
        other = place.start()
        while not await saved_by(other.pid):  # noqa: ASYNC110 - other processes change it
            await anyio.sleep(0.02)
        stopped.send_signal(signal.SIGCONT)
        job = await place.ended(job_id)
        assert (job.state, job.saved) == (JobState.SUCCEEDED, 300)
        assert await saved_by(stopped.pid) == before
        assert await saved_by(other.pid) == set(range(300)) - before
        other.kill()
        other.wait()
        # It still works, and had the time to save what it has read late.
        job = await place.ended(await place.submit(plain(20)))
        assert job.state is JobState.SUCCEEDED
        assert await saved_by(stopped.pid) == before
    assert {page for job, page, pid in place.reads() if job == job_id and pid == stopped.pid} > before


@pytest.mark.parametrize("kind", ["raises", "hangs", "kills", "kills at opening"])
async def test_one_poison_document_among_others(tmp_path: Path, kind: str) -> None:
    await _poisoned(JobPlace(tmp_path), kind, 10)


@pytest.mark.real
@pytest.mark.endurance
@pytest.mark.parametrize("kind", ["raises", "hangs", "kills", "kills at opening"])
async def test_one_poison_document_among_100_on_postgres(tmp_path: Path, postgres: PostgresServer, kind: str) -> None:
    await _poisoned(JobPlace(tmp_path, postgres.database()), kind, 50)


async def _poisoned(place: JobPlace, kind: str, others: int) -> None:
    """`others` documents are added before the poison document, and as many after it."""
    poison = {"raises": RAISES, "hangs": HANGS, "kills": KILLS}.get(kind)
    document = tiff([100, 100, poison or 100, 100]) + (KILLS_AT_OPENING if poison is None else b"")
    if kind == "hangs":
        place.time_s, place.changes = 0.5, {"max_retries": 1, "retry_s": 0.1}
    async with place.running():
        good = await place.submit_many(plain(2), others)
        bad = await place.submit(document)
        good += await place.submit_many(plain(2), others)
        process = place.start()
        with anyio.fail_after(120):
            while not (await place.service.store.get(bad, None)).state.ended or await place.unfinished():
                if process.poll() is not None:
                    process = place.start()
                await anyio.sleep(0.05)
        job = await place.service.store.get(bad, None)
        pages = {page.index: page.error and page.error.code for page in await place.service.store.pages(bad)}
        by_state = await place.by_state()
    print(kind, job.state, job.failure, pages, f"{place.starts} starts")
    if poison is None:
        assert (job.state, pages) == (JobState.QUARANTINED, {})
        assert job.failure is not None
        assert job.failure.code == "document_quarantined"
    else:
        codes = {"raises": "engine_failed", "hangs": "service_timeout", "kills": "content_quarantined"}
        assert (job.state, pages) == (JobState.PARTIAL, {0: None, 1: None, 2: codes[kind], 3: None})
    assert by_state == {JobState.SUCCEEDED: 2 * others, job.state: 1}
    assert place.starts <= (MAX_ATTEMPTS + 1 if kind.startswith("kills") else 1)
    assert len({*good}) == 2 * others


@pytest.mark.endurance  # tests/integration/test_job_worker.py has it in one process
async def test_after_a_cancel_at_most_a_window_is_read(place: JobPlace) -> None:
    place.page_s = 0.01
    async with place.running():
        job_id = await place.submit(plain(1000))
        place.start()
        await until(partial(place.has_read, job_id, 100))
        await place.service.store.cancel(job_id, "a")
        before = place.reads_of(job_id).total()
        job = await place.ended(job_id)
        after = place.reads_of(job_id).total()
        assert job.state is JobState.CANCELLED
        await place.ended(await place.submit(plain(20)))  # the process goes on
        assert place.reads_of(job_id).total() == after
        assert len(await place.service.store.pages(job_id, limit=1000)) == job.saved
    print(f"{after - before} pages read after the cancel")
    assert after - before <= SAVE_EVERY + WINDOW
