"""The server side of the Jobs tab, at the API itself."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from inkgate.errors import EngineFailed
from inkgate.ui.desk import Visitor
from inkgate.ui.jobs_desk import JobDesk
from support.api_client import Api, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, KEYS, ended, jobs_api, submit

pytestmark = pytest.mark.anyio

ALPHA_VISITOR = Visitor("alpha", "", "en")


class Clock:
    """A clock that stands."""

    at = 100.0

    def __call__(self) -> float:
        return self.at


def desk_of(api: Api, clock: Clock) -> JobDesk:
    transport = httpx.ASGITransport(api.app, client=("127.0.0.1", 1))
    return JobDesk("http://inkgate.localhost", transport, clock)


async def test_a_visitor_sees_their_own_jobs_and_pages_and_nobody_elses(tmp_path: Path) -> None:
    clock = Clock()
    async with jobs_api(tmp_path, auth=KEYS) as api:
        desk = desk_of(api, clock)
        job = await submit(api, tiff(3), ALPHA, task="parse", name="<b>a.tiff")
        await ended(api, job, ALPHA)
        told = await desk.jobs({}, ALPHA_VISITOR)
        [row] = told["jobs"]
        assert (row["name"], row["state"], row["saved"], row["pages"]) == ("<b>a.tiff", "succeeded", 3, 3)
        assert (row["ended"], row["problem"], told["more"]) == (True, None, False)
        shown = await desk.page({"job": job["id"], "after": 1}, ALPHA_VISITOR)
        assert shown["page"]["index"] == 2
        assert "<table>" in shown["html"]
        assert (await desk.page({"job": job["id"], "after": 2}, ALPHA_VISITOR))["error"]["code"] == "gone"

        other = Visitor("beta", "", "zh")
        assert (await desk.jobs({}, other))["jobs"] == []
        assert (await desk.page({"job": job["id"]}, other))["error"]["title"] == "没有这个作业"
        assert (await desk.jobs({}, Visitor("", "", "en")))["error"]["status"] == 401


async def test_a_list_is_reused_for_a_second_unless_the_visitor_changed_a_job(tmp_path: Path) -> None:
    clock = Clock()
    async with jobs_api(tmp_path, auth=KEYS) as api:
        desk = desk_of(api, clock)
        assert (await desk.jobs({}, ALPHA_VISITOR))["jobs"] == []
        await submit(api, png(), ALPHA)
        assert (await desk.jobs({}, ALPHA_VISITOR))["jobs"] == []
        assert len((await desk.jobs({"fresh": True}, ALPHA_VISITOR))["jobs"]) == 1
        await submit(api, png(), ALPHA)
        clock.at += 1.0
        assert len((await desk.jobs({}, ALPHA_VISITOR))["jobs"]) == 2
        assert (await desk.jobs({"limit": 1}, ALPHA_VISITOR))["more"]


async def test_a_failed_job_has_its_error_in_the_visitors_language(tmp_path: Path) -> None:
    engine = FakeEngine(failing={0: EngineFailed("engine_failed", "It is broken.")})
    async with jobs_api(tmp_path, engine, auth=KEYS, jobs={"max_retries": 1, "retry_s": 0.01}) as api:
        await ended(api, await submit(api, png(), ALPHA), ALPHA)
        [row] = (await desk_of(api, Clock()).jobs({}, Visitor("alpha", "", "zh")))["jobs"]
        assert row["state"] == "failed"
        assert (row["problem"]["title"], row["problem"]["detail"]) == ("引擎在此页上出错", "It is broken.")


async def test_a_service_without_jobs_or_without_its_database_says_so(tmp_path: Path) -> None:
    anybody = Visitor("", "198.51.100.7", "en")
    async with running_api() as api:
        problem = (await desk_of(api, Clock()).jobs({}, anybody))["error"]
        assert (problem["status"], problem["code"]) == (501, "feature_unavailable")
    async with jobs_api(tmp_path) as api:
        (tmp_path / "jobs.db").write_bytes(b"no database" * 1000)
        problem = (await desk_of(api, Clock()).jobs({}, anybody))["error"]
        assert (problem["status"], problem["code"]) == (503, "jobs_unavailable")
        assert problem["title"] == "Jobs can't be kept at the moment"
        assert problem["retry_after_s"]
