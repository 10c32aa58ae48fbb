"""Jobs of the client, blocking and awaited, at the API itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import orjson
import pytest

from inkgate.errors import EngineFailed
from inkgate_client import (
    AsyncInkgateClient,
    AsyncJobHandle,
    AsyncJobPages,
    AsyncJobs,
    InkgateClient,
    JobAs,
    JobHandle,
    JobPages,
    Jobs,
    JobUnfinished,
    ReadOptions,
    ServiceError,
)
from inkgate_client.codec import page_to_dict
from inkgate_client.retries import Retries, RetryPolicy
from inkgate_client.types import PageResult, TaskKind
from support.api_client import Api, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import jobs_api

anyio_test = pytest.mark.anyio


def client_of(api: Api) -> AsyncInkgateClient:
    return AsyncInkgateClient("http://inkgate.localhost", transport=httpx.ASGITransport(api.app))


@pytest.mark.smoke
@anyio_test
async def test_a_job_is_submitted_waited_for_and_read(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api, client_of(api) as client:
        job = await client.jobs.submit(
            tiff(3), ReadOptions(task="parse", pages="1-2", priority="normal"), name="a.tiff"
        )
        assert (job.status.name, job.status.priority, job.status.has_ended) == ("a.tiff", "normal", False)
        status = await job.wait(20)
        assert (status.state, status.pages.saved, status.error) == ("succeeded", 2, None)
        assert status.ended is not None
        assert [page.index for page in (await job.result()).pages] == [0, 1]
        assert (await job.result_in("text")).startswith(b"Hello page 0")
        async with job.pages(after=0) as pages:
            assert [page.index async for page in pages] == [1]
            assert (pages.summary.status, pages.summary.pages_answered) == ("complete", 1)
        assert api.engine.tasks[0].kind is TaskKind.PARSE
        listed = await client.jobs.list(["succeeded"])
        assert [one.id for one in listed.jobs] == [job.id]
        assert (await client.jobs.list(["failed"])).jobs == ()
        again = await client.jobs.get(job.id)
        await again.remove()
        with pytest.raises(ServiceError) as gone:
            await job.refresh()
        assert gone.value.code == "job_unknown"


@anyio_test
async def test_a_job_is_cancelled_and_retried(tmp_path: Path) -> None:
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with jobs_api(tmp_path, engine) as api, client_of(api) as client:
        job = await client.jobs.submit(tiff(2))
        assert (await job.wait(20)).state == "partial"
        engine.failing = {}
        assert not (await job.retry()).has_ended
        assert (await job.wait(20)).state == "succeeded"
        with pytest.raises(ServiceError) as late:
            await job.cancel()
        assert late.value.code == "job_ended"
        assert (await job.result()).pages


@anyio_test
async def test_a_key_an_object_and_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(png())
    jobs = {"sources": [(tmp_path / "in").as_uri()], "work": False}
    async with jobs_api(tmp_path, jobs=jobs) as api, client_of(api) as client:
        url = (tmp_path / "in" / "a.png").as_uri()
        first = await client.jobs.submit_url(url, job_as=JobAs(key="one"))
        assert (await client.jobs.submit_url(url, job_as=JobAs(key="one"))).id == first.id
        with pytest.raises(ServiceError) as refused:
            await client.jobs.submit_url("s3://other/a.png")
        assert refused.value.code == "source_forbidden"
        with pytest.raises(JobUnfinished, match="goes on"):
            await first.wait(0)
        with pytest.raises(ServiceError) as early:
            await first.result()
        assert (early.value.code, early.value.retry_after_s is not None) == ("job_not_ended", True)
        assert (await first.cancel()).state == "cancelled"


@anyio_test
async def test_pages_of_a_failed_job_end_with_its_error(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api, client_of(api) as client:
        job = await client.jobs.submit(b"%PDF-1.4 broken")
        with pytest.raises(ServiceError) as failed:
            async with job.pages() as pages:
                async for _ in pages:
                    pytest.fail("it has no pages")
        assert failed.value.code == (await job.refresh()).error.code  # type: ignore[union-attr]  # it has failed


STATUS = {
    "id": "1",
    "state": "running",
    "name": "a",
    "created": "2026-11-23T18:00:00Z",
    "pages": {"total": 3, "saved": 0, "failed": 0},
    "attempts": 0,
    "priority": "batch",
    **dict.fromkeys(("started", "ended", "deadline", "pipeline", "error", "position", "eta_s")),
}
SUMMARY = {"status": "complete", "name": "a", "mime_type": "image/tiff", "byte_count": 1, "page_count": 3}
SUMMARY |= {"engine": "fake", "pages_answered": 1, "pages_failed": 0, "error": None}


def line(index: int) -> bytes:
    return orjson.dumps(page_to_dict(PageResult(index, text="x")), option=orjson.OPT_APPEND_NEWLINE)


class Breaking:
    """Sends one page for each connection, then breaks off."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/pages"):
            return httpx.Response(200, json=STATUS)
        after = request.url.params["after"]
        self.asked.append(after)
        if len(self.asked) == 2:
            raise httpx.ConnectError("refused")
        if len(self.asked) == 3:
            return httpx.Response(503, headers={"retry-after": "0"}, json={"code": "draining"})
        pages = line(int(after) + 1)
        last = orjson.dumps(SUMMARY) + b"\n" if after == "1" else b""
        return httpx.Response(200, content=iter_of(pages + last))


def iter_of(data: bytes) -> Iterator[bytes]:
    yield data


def test_pages_go_on_after_the_last_one_when_connections_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkgate_client.blocking_jobs.pause", lambda _: None)
    server = Breaking()
    with InkgateClient("http://inkgate.localhost", transport=httpx.MockTransport(server)) as client:
        job = client.jobs.get("1")
        with job.pages() as pages:
            assert [page.index for page in pages] == [0, 1, 2]
        assert server.asked == ["-1", "0", "0", "0", "1"]
        assert pages.summary.page_count == 3


def test_retries_end_and_are_for_failures_that_may_pass() -> None:
    now = 0.0
    attempts = Retries(RetryPolicy(10.0, repeatable=True), lambda: now)
    busy = ServiceError("busy", 503, retry_after_s=4.0)
    assert attempts.pause_s(busy) == 4.0
    now = 4.0
    assert attempts.pause_s(busy) == 4.0
    now = 8.0
    with pytest.raises(ServiceError, match="busy"):
        attempts.pause_s(busy)
    attempts.restore()
    assert attempts.pause_s(ServiceError("gateway", 502)) == 0.5
    for error in (ServiceError("no key", 401), ServiceError("gone", 404), ServiceError("no file")):
        with pytest.raises(ServiceError):
            attempts.pause_s(error)


def test_both_clients_have_the_same_methods() -> None:
    for awaited, blocking in ((AsyncJobs, Jobs), (AsyncJobHandle, JobHandle), (AsyncJobPages, JobPages)):
        names = {name for name in vars(awaited) if not name.startswith("_")}
        assert names == {name for name in vars(blocking) if not name.startswith("_")}
        for name in names - {"status", "summary", "id"}:
            parameters = inspect.signature(getattr(awaited, name)).parameters
            assert list(parameters) == list(inspect.signature(getattr(blocking, name)).parameters)


@anyio_test
async def test_waiting_ends_with_the_job(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine) as api, client_of(api) as client:
        job = await client.jobs.submit(png())
        states: list[str] = []

        async def wait() -> None:
            states.append((await job.wait()).state)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await engine.reading.wait()
            assert states == []
            assert engine.gate is not None
            engine.gate.set()
        assert states == ["succeeded"]
