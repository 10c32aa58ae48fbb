"""`/v1/jobs` in process, with the real store on SQLite, the real worker and a fake engine."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from PIL import Image

from inkgate.errors import EngineFailed
from inkgate_client.types import TaskKind
from support.api_client import RawCall, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, BETA, KEYS, code, ended, jobs_api, submit, until

pytestmark = pytest.mark.anyio


@pytest.mark.smoke
async def test_an_upload_is_accepted_read_and_shown_in_every_format(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        answer = await api.client.post(
            "/v1/jobs", files={"file": ("scan.tiff", tiff(45))}, data={"task": "parse", "pages": "1-44"}
        )
        job = answer.json()
        assert answer.status_code == 202
        assert answer.headers["location"] == f"/v1/jobs/{job['id']}" == job["links"]["self"]
        assert answer.headers["operation-location"] == f"http://inkgate.localhost/v1/jobs/{job['id']}"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert (job["name"], job["priority"], job["pipeline"]) == ("scan.tiff", "batch", None)
        done = await ended(api, job)
        assert (done["state"], done["pages"]) == ("succeeded", {"total": 44, "saved": 44, "failed": 0})
        assert (done["position"], done["eta_s"], done["error"]) == (None, None, None)
        assert {task.kind for task in api.engine.tasks} == {TaskKind.PARSE}
        at_once = {"files": {"file": ("scan.tiff", tiff(45))}, "data": {"task": "parse", "pages": "1-44"}}
        for format_ in ("json", "text", "markdown", "hocr", "alto", "csv", "pdf"):
            found = await api.client.get(job["links"]["result"], params={"format": format_})
            expected = await api.client.post("/ocr", params={"format": format_}, **at_once)  # type: ignore[arg-type]
            assert found.headers["content-type"] == expected.headers["content-type"]
            assert found.headers["x-inkgate-status"] == "complete"
            if format_ == "json":
                assert without_timings(found.json()) == without_timings(expected.json())
            else:
                assert found.content == expected.content


def without_timings(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "pages": [{**page, "timings_ms": {}} for page in document["pages"]]}


async def test_accept_chooses_the_format(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await ended(api, await submit(api, png()))
        for accept, kind in (("text/plain", "text/plain"), ("application/x-ndjson", "application/x-ndjson")):
            found = await api.client.get(job["links"]["result"], headers={"accept": accept})
            assert found.headers["content-type"].startswith(kind)
        assert code(await api.client.get(job["links"]["result"], params={"format": "odt"})) == (406, "not_acceptable")


async def test_a_large_document_is_not_held_whole_for_hocr(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, limits={"max_pages": 2}) as api:
        job = await ended(api, await submit(api, tiff(3)))
        assert job["state"] == "succeeded"
        answer = await api.client.get(job["links"]["result"], params={"format": "hocr"})
        assert code(answer) == (406, "not_acceptable")
        assert len((await api.client.get(job["links"]["result"])).json()["pages"]) == 3


async def test_failed_pages_are_partial_and_only_they_are_read_again(tmp_path: Path) -> None:
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with jobs_api(tmp_path, engine) as api:
        job = await ended(api, await submit(api, tiff(3)))
        assert (job["state"], job["pages"]) == ("partial", {"total": 3, "saved": 3, "failed": 1})
        found = await api.client.get(job["links"]["result"])
        assert (found.status_code, found.headers["x-inkgate-status"]) == (200, "partial")
        assert [page["error"] is None for page in found.json()["pages"]] == [True, False, True]
        engine.failing = {}
        engine.tasks.clear()
        again = await api.client.post(f"{job['links']['self']}/retry")
        assert (again.status_code, again.headers["location"]) == (202, job["links"]["self"])
        assert (await ended(api, job))["state"] == "succeeded"
        assert len(engine.tasks) == 1
        assert code(await api.client.post(f"{job['links']['self']}/retry")) == (409, "job_ended")


async def test_a_job_without_any_result_answers_with_its_error(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await ended(api, await submit(api, b"%PDF-1.4\nnothing"))
        assert job["state"] == "failed"
        answer = await api.client.get(job["links"]["result"])
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["detail"]) == (job["error"]["code"], job["error"]["detail"])
        assert answer.status_code in {415, 422}


async def test_until_the_end_the_result_says_when_to_come_back(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine) as api:
        job = await submit(api, png())
        answer = await api.client.get(job["links"]["result"])
        assert code(answer) == (409, "job_not_ended")
        assert int(answer.headers["retry-after"]) >= 1
        assert code(await api.client.post(f"{job['links']['self']}/retry")) == (409, "job_not_ended")
        assert engine.gate is not None
        engine.gate.set()
        await ended(api, job)
        assert (await api.client.get(job["links"]["result"])).status_code == 200


async def test_one_key_is_one_job(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        key = {"idempotency-key": "receipt 42"}
        first = await submit(api, png(), key, timeout_s="3600")
        answer = await api.client.post(
            "/v1/jobs", files={"file": ("scan.tiff", png())}, data={"timeout_s": "3600"}, headers=key
        )
        assert (answer.status_code, answer.json()["id"]) == (202, first["id"])
        assert answer.headers["idempotent-replayed"] == "true"
        other = await api.client.post("/v1/jobs", files={"file": ("scan.tiff", tiff(2))}, headers=key)
        assert code(other) == (422, "key_reused")
        wrong = await api.client.post("/v1/jobs", files={"file": png()}, headers={"idempotency-key": "x" * 256})
        assert code(wrong) == (422, "options_invalid")


async def test_what_can_never_be_read_is_refused_at_once(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        for data, expected in ((b"", (400, "document_empty")), (b"hello world", (415, "type_unsupported"))):
            answer = await api.client.post("/v1/jobs", files={"file": ("x", data)})
            assert code(answer) == expected
        assert code(await api.client.post("/v1/jobs", data={"task": "text"})) == (400, "file_missing")
        assert code(await api.client.post("/v1/jobs", json={"task": "text"})) == (400, "file_missing")
        for fields in (
            {"pages": "0"},
            {"task": "sing"},
            {"priority": "urgent"},
            {"timeout_s": "-1"},
            {"deadline": "2020-01-01T00:00:00Z"},
            {"timeout_s": "5", "deadline": "2099-01-01T00:00:00Z"},
            {"pipeline": "receipts"},
            {"webhook": "https://example.com/hook"},
        ):
            answer = await api.client.post("/v1/jobs", files={"file": png()}, data=fields)
            assert answer.status_code == 422, fields
        assert (await api.client.get("/v1/jobs")).json() == {"jobs": [], "next": None}
        assert api.engine.tasks == []


async def test_documents_come_from_uploaded_files_and_allowed_places(tmp_path: Path) -> None:
    scans = tmp_path / "scans"
    scans.mkdir()
    (scans / "a.png").write_bytes(png())
    async with jobs_api(tmp_path, jobs={"sources": [scans.as_uri()]}) as api:
        kept = (await api.client.post("/v1/files", files={"file": ("b.png", png())})).json()["id"]
        signed = (await api.client.get(f"/v1/files/{kept}/url")).json()["url"]
        for source, name in (
            ({"file_id": kept}, "b.png"),
            ({"url": signed}, "b.png"),
            ({"url": (scans / "a.png").as_uri()}, "a.png"),
        ):
            answer = await api.client.post("/v1/jobs", json={"source": source})
            assert answer.status_code == 202, answer.text
            job = await ended(api, answer.json())
            assert (job["state"], job["name"]) == ("succeeded", name)
        for source, expected in (
            ({"url": (tmp_path / "secret.png").as_uri()}, (403, "source_forbidden")),
            ({"url": "https://example.com/x.pdf"}, (403, "source_forbidden")),
            ({"url": "s3://other/x.pdf"}, (403, "source_forbidden")),
            ({"file_id": "0" * 36}, (404, "file_unknown")),
            ({"file_id": kept, "url": signed}, (400, "file_missing")),
            ({"path": "/etc/passwd"}, (422, "options_invalid")),
        ):
            assert code(await api.client.post("/v1/jobs", json={"source": source})) == expected, source


async def test_another_tenants_job_is_like_one_that_never_was(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, auth=KEYS) as api:
        job = await ended(api, await submit(api, png(), ALPHA), ALPHA)
        for method, path in (
            ("GET", ""),
            ("GET", "/result"),
            ("GET", "/pages"),
            ("GET", "/pages/1"),
            ("GET", "/events"),
            ("DELETE", ""),
            ("POST", "/retry"),
        ):
            answers = [
                await api.client.request(method, f"/v1/jobs/{job_id}{path}", headers={**BETA, "x-request-id": "same"})
                for job_id in (job["id"], "0" * len(job["id"]))
            ]
            assert [answer.status_code for answer in answers] == [404, 404], (method, path)
            assert answers[0].content == answers[1].content
            assert {**answers[0].headers} == {**answers[1].headers}
        assert (await api.client.get("/v1/jobs", headers=BETA)).json()["jobs"] == []
        assert [one["id"] for one in (await api.client.get("/v1/jobs", headers=ALPHA)).json()["jobs"]] == [job["id"]]


async def test_the_pages_of_a_job_s_document_can_be_seen_until_it_is_removed(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await submit(api, tiff(2))
        for _ in range(2):  # before and after its end
            shown = await api.client.get(f"{job['links']['self']}/pages/2", params={"turn": "90", "side": 100})
            assert (shown.status_code, shown.headers["content-type"]) == (200, "image/jpeg"), shown.text
            assert shown.headers["cache-control"] == "private, max-age=600"
            assert Image.open(io.BytesIO(shown.content)).size == (65, 100)
            await ended(api, job)
        assert code(await api.client.get(f"{job['links']['self']}/pages/3")) == (422, "pages_invalid")
        assert (await api.client.get(f"{job['links']['self']}/pages/0")).status_code == 422
        broken = await ended(api, await submit(api, png()[:60]))
        assert code(await api.client.get(f"{broken['links']['self']}/pages/1")) == (422, "image_corrupt")
        await api.client.delete(job["links"]["self"])
        assert code(await api.client.get(f"{job['links']['self']}/pages/1")) == (404, "job_unknown")


async def test_jobs_are_listed_by_state_a_page_at_a_time(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        ids = [(await submit(api, tiff(number), None, name=f"n{number}"))["id"] for number in (1, 2, 3)]
        first = (await api.client.get("/v1/jobs", params={"limit": 2})).json()
        assert [job["name"] for job in first["jobs"]] == ["n3", "n2"]
        rest = (await api.client.get("/v1/jobs", params={"limit": 2, "after": first["next"]})).json()
        assert ([job["name"] for job in rest["jobs"]], rest["next"]) == (["n1"], None)
        await api.client.delete(f"/v1/jobs/{ids[0]}")
        found = await api.client.get("/v1/jobs", params=[("state", "cancelled"), ("state", "failed")])
        assert [job["id"] for job in found.json()["jobs"]] == ids[:1]
        last = (await api.client.get(f"/v1/jobs/{ids[2]}")).json()
        assert (last["state"], last["position"]) == ("queued", 1)
        assert (await api.client.get("/v1/jobs", params={"state": "lost"})).status_code == 422


async def test_delete_cancels_what_waits_and_removes_what_has_ended(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        job = await submit(api, png())
        answer = await api.client.delete(job["links"]["self"])
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
        assert code(await api.client.get(job["links"]["result"])) == (409, "job_cancelled")
        assert (await api.client.delete(job["links"]["self"])).status_code == 204
        assert code(await api.client.get(job["links"]["self"])) == (404, "job_unknown")


async def test_delete_of_a_running_job_stops_it(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine, jobs={"lease_s": 0.6}) as api:
        job = await submit(api, tiff(3))
        await engine.reading.wait()
        answer = await api.client.delete(job["links"]["self"])
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelling")
        assert (await ended(api, job))["state"] == "cancelled"
        assert engine.cancelled > 0


async def test_pages_are_streamed_with_a_summary_and_from_any_page(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await submit(api, tiff(5), None, pages="5,1-3")
        answer = await api.client.get(job["links"]["pages"])
        assert answer.headers["content-type"] == "application/x-ndjson"
        *pages, summary = [json.loads(line) for line in answer.text.splitlines()]
        assert [page["index"] for page in pages] == [0, 1, 2, 4]
        assert summary == {
            "status": "complete",
            "name": "scan.tiff",
            "mime_type": "image/tiff",
            "byte_count": len(tiff(5)),
            "page_count": 5,
            "engine": "fake",
            "pages_answered": 4,
            "pages_failed": 0,
            "notes": [],
            "error": None,
            "job": job["id"],
            "state": "succeeded",
        }
        rest = await api.client.get(job["links"]["pages"], params={"after": 1})
        assert rest.headers["x-inkgate-pages"] == "2"
        *pages, summary = [json.loads(line) for line in rest.text.splitlines()]
        assert ([page["index"] for page in pages], summary["pages_answered"]) == ([2, 4], 2)


async def test_pages_arrive_while_the_job_runs_and_a_client_that_leaves_ends_its_stream(tmp_path: Path) -> None:
    gate = anyio.Event()
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No.")})
    async with jobs_api(tmp_path, engine, jobs={"save_every": 1}, limits={"page_window": 1}) as api:
        slow = SlowAfterFirst(engine, gate)
        engine.read = slow.read  # type: ignore[method-assign]
        job = await submit(api, tiff(3))
        live = RawCall(api.app, {"host": "inkgate.localhost"}, [b""], job["links"]["pages"], method="GET")
        leaving = RawCall(api.app, {"host": "inkgate.localhost"}, [b""], job["links"]["pages"], method="GET")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(live.run)
            tasks.start_soon(leaving.run)
            await until(lambda: live.body and leaving.body)
            assert [json.loads(line)["index"] for line in live.body.splitlines()] == [0]
            leaving.left.set()
            gate.set()
        assert [json.loads(line).get("index") for line in live.body.splitlines()] == [0, 1, 2, None]
        assert json.loads(live.body.splitlines()[-1])["status"] == "partial"
        assert len(leaving.body.splitlines()) == 1
        assert api.app.state.job_watches.watched == 0


class SlowAfterFirst:
    """Reads the first page at once, the others when the gate opens."""

    def __init__(self, engine: FakeEngine, gate: anyio.Event) -> None:
        self._read = engine.read
        self._gate = gate

    async def read(self, page: Any, task: Any, caller: Any) -> Any:  # noqa: ANN401 - as Engine.read
        if page.index:
            await self._gate.wait()
        return await self._read(page, task, caller)


def events_of(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if "id:" in block
    ]
    return [(block["event"], block["id"], json.loads(block["data"])) for block in blocks]


async def test_events_tell_of_changes_and_can_be_continued(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine) as api:
        job = await submit(api, tiff(2))
        call = RawCall(api.app, {"host": "inkgate.localhost"}, [b""], job["links"]["events"], method="GET")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await until(lambda: events_of(call.body.decode()))
            assert engine.gate is not None
            engine.gate.set()
        events = events_of(call.body.decode())
        assert events[0][0] == "state"
        assert events[-1][2]["state"] == "succeeded"
        assert events[-1][2]["links"]["self"] == job["links"]["self"]
        assert call.body.startswith(b"retry: ")
        header = {"last-event-id": events[-1][1]}
        assert (await api.client.get(job["links"]["events"], headers=header)).status_code == 204
        again = await api.client.get(job["links"]["events"], headers={"last-event-id": events[0][1]})
        assert [event[1] for event in events_of(again.text)] == [events[-1][1]]


async def test_a_tenant_has_a_share_of_streams(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine, jobs={"max_streams": 1}, auth=KEYS) as api:
        job = await submit(api, png(), ALPHA)
        call = RawCall(api.app, {"host": "inkgate.localhost", **ALPHA}, [b""], job["links"]["pages"], method="GET")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await until(lambda: call.status is not None)
            answer = await api.client.get(job["links"]["events"], headers=ALPHA)
            assert code(answer) == (429, "share_exceeded")
            assert answer.headers["retry-after"]
            others = await submit(api, png(), BETA)
            assert (await api.client.get(others["links"]["self"], headers=BETA)).status_code == 200
            assert engine.gate is not None
            engine.gate.set()
        assert (await api.client.get(job["links"]["events"], headers=ALPHA)).status_code == 200


async def test_streams_end_when_the_service_drains(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        job = await submit(api, png())
        calls = [
            RawCall(api.app, {"host": "inkgate.localhost"}, [b""], job["links"][name], method="GET")
            for name in ("pages", "events")
        ]
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(call.run)
            await until(lambda: all(call.status for call in calls))
            api.context.drain.begin()
        assert calls[0].body == b""
        assert calls[1].sent[-1]["more_body"] is False


async def test_priority_is_what_is_asked_but_no_higher_than_allowed(tmp_path: Path) -> None:
    tenant = f"key:{hashlib.sha256(b'beta').hexdigest()[:12]}"
    serving = {"scheduling": {"priorities": {tenant: "normal"}}}
    async with jobs_api(tmp_path, auth=KEYS, jobs={"work": False}, serving=serving) as api:
        assert (await submit(api, png(), ALPHA))["priority"] == "batch"
        assert (await submit(api, png(), {**ALPHA, "x-inkgate-priority": "normal"}))["priority"] == "normal"
        assert (await submit(api, png(), ALPHA, priority="interactive"))["priority"] == "interactive"
        assert (await submit(api, png(), BETA, priority="interactive"))["priority"] == "normal"
        assert (await submit(api, png(), BETA))["priority"] == "batch"


async def test_a_pipeline_is_for_its_tenant_only(tmp_path: Path) -> None:
    tenant = f"key:{hashlib.sha256(b'alpha').hexdigest()[:12]}"
    pipelines = {"receipts": {"tenant": tenant}, "secret": {}}
    async with jobs_api(tmp_path, auth=KEYS, pipelines=pipelines) as api:
        job = await submit(api, png(), ALPHA, pipeline="receipts")
        assert job["pipeline"] == "receipts"
        answers = [
            await api.client.post("/v1/jobs", files={"file": png()}, data={"pipeline": name}, headers=BETA)
            for name in ("receipts", "secret", "nothing")
        ]
        assert [code(answer) for answer in answers] == [(422, "options_invalid")] * 3


async def test_without_jobs_the_routes_say_so(tmp_path: Path) -> None:
    async with running_api() as api:
        assert code(await api.client.get("/v1/jobs")) == (501, "feature_unavailable")
        assert code(await api.client.post("/v1/jobs", files={"file": png()})) == (501, "feature_unavailable")


async def test_uploads_are_admitted_like_documents(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, limits={"max_in_flight": 1}) as api:
        call = RawCall(
            api.app,
            {"host": "inkgate.localhost", "content-type": "application/json"},
            [b"{"],
            "/v1/jobs",
            ends=False,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await until(lambda: call.received)
            assert code(await api.client.post("/v1/jobs", files={"file": png()})) == (503, "service_full")
            call.left.set()
        assert api.limiter.in_flight == 0


async def test_expired_results_are_gone(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await ended(api, await submit(api, pdf(1)))
        jobs = api.context.service.jobs
        assert jobs is not None
        await jobs.store.expire(jobs.store.clock() + 10)
        assert code(await api.client.get(job["links"]["result"])) == (410, "job_expired")
        lines = (await api.client.get(job["links"]["pages"])).text.splitlines()
        assert [json.loads(line)["error"]["code"] for line in lines] == ["job_expired"]
        assert code(await api.client.get(f"{job['links']['self']}/pages/1")) == (410, "job_expired")
        assert jobs.uploads_missing == 0


async def test_without_the_database_jobs_say_when_to_come_back_and_documents_are_read(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").mkdir()  # so that it can't be opened
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        for answer in (
            await api.client.post("/v1/jobs", files={"file": png()}),
            await api.client.get("/v1/jobs"),
            await api.client.get("/v1/jobs/0/events"),
        ):
            assert code(answer) == (503, "jobs_unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        assert (await api.client.post("/ocr", files={"file": png()})).status_code == 200


async def test_deadlines_that_no_calendar_has_and_passwords_that_no_database_takes_are_refused(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        for field, value in (
            ("deadline", "9999-12-31T23:59:59-23:59"),
            ("deadline", "9999-12-31T00:00:00Z"),
            ("password", "a\0b"),
        ):
            answer = await api.client.post("/v1/jobs", files={"file": ("a.png", png())}, data={field: value})
            assert code(answer) == (422, "options_invalid"), field
        assert (await api.client.get("/v1/jobs")).json()["jobs"] == []


async def test_without_its_database_jobs_answer_503_and_documents_are_read(tmp_path: Path) -> None:
    (tmp_path / "no-folder").write_text("")
    async with jobs_api(tmp_path / "no-folder") as api:
        for answer in (
            await api.client.post("/v1/jobs", files={"file": ("scan.png", png())}),
            await api.client.get("/v1/jobs"),
            await api.client.get("/v1/jobs/01"),
        ):
            assert code(answer) == (503, "jobs_unavailable")
            assert int(answer.headers["retry-after"]) > 0
        assert (await api.client.post("/ocr", files={"file": ("scan.png", png())})).status_code == 200
        ready = await api.client.get("/readyz")
        assert (ready.status_code, [warning["code"] for warning in ready.json()["warnings"]]) == (
            200,
            ["jobs-store-unavailable"],
        )
