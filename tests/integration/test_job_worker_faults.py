"""Faults of one job, or of the database, that must end neither the worker nor other jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.jobs.job import JobState
from inkgate.jobs.store import Claim, JobEnd, JobStore, LeaseLost
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.job_plant import Plant, job_plant, until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncIterator[Plant]:
    async with job_plant(tmp_path) as plant:
        yield plant


async def test_a_result_that_cannot_be_stored_fails_its_job_only(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant.settings = plant.settings.model_copy(update={"max_retries": 1, "retry_s": 0.01})
    bad = await plant.add(3)
    read = plant.engine.read

    async def broken(page: Page, task: Task, caller: Caller) -> PageResult:
        result = await read(page, task, caller)
        return PageResult(result.index, text=b"\xff") if caller.flow == bad else result  # type: ignore[arg-type]

    monkeypatch.setattr(plant.engine, "read", broken)
    async with plant.working() as worker:
        job = await plant.state(bad)
        good = await plant.state(await plant.add(3))
    assert good.state is JobState.SUCCEEDED
    assert job.state is JobState.FAILED
    assert job.attempts == 0  # nothing died
    assert worker.counts.abandoned_claims == 0


async def test_a_lease_lost_while_a_job_fails_ends_no_other(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant.settings = plant.settings.model_copy(update={"max_retries": 1, "retry_s": 0.01})

    class Broken(Exception):
        pass

    bad = await plant.add(Broken())
    save = JobStore.save
    lost: list[Claim] = []

    async def saved(
        self: JobStore, held: Claim, pages: Sequence[PageResult] = (), *rest: object, **more: object
    ) -> JobState:
        if held.job.id == bad and (len(rest) > 1 or "end" in more) and not lost:
            lost.append(held)
            raise LeaseLost(bad)
        return await save(self, held, pages, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(JobStore, "save", saved)
    async with plant.working():
        await plant.state(bad)
        assert (await plant.state(await plant.add(3))).state is JobState.SUCCEEDED
    assert lost


async def test_a_job_with_pages_whose_document_is_gone_is_partial(plant: Plant) -> None:
    held = anyio.Event()
    plant.engine.act = lambda _, page: held.wait() if page == 8 else None
    added = await plant.add(12)
    async with plant.working():
        with anyio.fail_after(30):
            while len(await plant.saved(added)) < 8:  # noqa: ASYNC110 - other tasks change it
                await anyio.sleep(0.01)
    for upload in plant.documents.by_upload:
        plant.documents.by_upload[upload] = InputRejected("source_missing", "It is gone.")
    async with plant.working():
        job = await plant.state(added)
    assert job.state is JobState.PARTIAL
    assert job.failure is not None
    assert job.failure.code == "source_missing"
    assert await plant.saved(added) == list(range(8))


async def test_a_job_of_a_dead_worker_that_another_takes_over_stops_no_job_here(plant: Plant) -> None:
    """Fifty workers must not drop their jobs for one that a fifty-first, which has nothing to do, runs alone."""
    dead = await plant.add(3)
    (claim,) = await plant.store.claim(1)
    held = anyio.Event()
    plant.engine.act = lambda *_: held.wait()
    long = await plant.add(30)
    async with plant.working() as worker:
        await plant.state(long, JobState.RUNNING)
        with anyio.fail_after(30):
            while not (taken := await plant.store.claim_abandoned()):  # noqa: ASYNC110 - as another process does
                await anyio.sleep(0.01)
        assert [one.job.id for one in taken] == [dead]
        await plant.store.save(taken[0], end=JobEnd(JobState.FAILED))
        await until(lambda: worker._alone_since is None)
        held.set()
        await plant.state(long)
    assert worker.counts.fresh_claims == 1  # it was never put back
    assert claim.job.id == dead
