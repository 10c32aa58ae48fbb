"""Two gateways with one database of jobs: what a client begins at one, it can go on with at the other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from inkgate.storage.objects import Objects
from support.api_client import Api, b64, png, running_api, tiff
from support.jobs_api import ALPHA, BETA, KEYS, ended, until

pytestmark = pytest.mark.anyio

Tier = tuple[Api, Api]
AUTH: dict[str, object] = dict(KEYS)


@pytest.fixture
async def tier(tmp_path: Path) -> AsyncIterator[Tier]:
    """The first gateway runs no jobs."""
    shared: dict[str, object] = {
        "folder": str(tmp_path),
        "database": f"sqlite:///{tmp_path / 'jobs.db'}",
        "poll_s": 0.05,
    }
    async with AsyncExitStack() as stack:
        idle = await stack.enter_async_context(running_api(jobs={**shared, "work": False}, auth=AUTH))
        busy = await stack.enter_async_context(running_api(jobs=shared, auth=AUTH))
        yield idle, busy


async def upload(api: Api, data: bytes, name: str = "scan.tiff") -> str:
    answer = await api.client.post("/v1/files", files={"file": (name, data)}, headers=ALPHA)
    return str(answer.raise_for_status().json()["id"])


async def get(api: Api, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return await api.client.get(path, headers=ALPHA if headers is None else headers)


@pytest.mark.smoke
async def test_a_file_uploaded_at_one_is_signed_read_shown_and_deleted_at_the_other(tier: Tier) -> None:
    here, there = tier
    file_id = await upload(here, tiff(2))
    assert [file["id"] for file in (await get(there, "/v1/files")).json()["data"]] == [file_id]
    described = [(await get(api, f"/v1/files/{file_id}")).json() for api in tier]
    assert described[0] == described[1]
    signed = (await get(there, f"/v1/files/{file_id}/url")).json()["url"]
    for document in ({"type": "document_url", "document_url": signed}, {"type": "file", "file_id": file_id}):
        for api in tier:
            read = await api.client.post("/v1/ocr", json={"document": document}, headers=ALPHA)
            assert (read.status_code, len(read.json()["pages"])) == (200, 2)
        assert (await here.client.post("/v1/ocr", json={"document": document}, headers=BETA)).status_code == 404
    download = await get(here, signed, {})
    assert download.content == tiff(2)
    assert download.headers["content-type"] == "application/octet-stream"
    assert download.headers["content-length"] == str(len(tiff(2)))
    assert download.headers["content-disposition"] == "attachment"
    assert (await get(there, f"/v1/files/{file_id}/pages/2")).headers["content-type"] == "image/jpeg"
    job = await here.client.post("/v1/jobs", json={"source": {"file_id": file_id}}, headers=ALPHA)
    assert job.status_code == 202
    assert (await there.client.delete(f"/v1/files/{file_id}", headers=BETA)).status_code == 404
    assert (await there.client.delete(f"/v1/files/{file_id}", headers=ALPHA)).json()["deleted"] is True
    for api in tier:
        for path, headers in ((f"/v1/files/{file_id}", ALPHA), (signed, {})):
            gone = await get(api, path, headers)
            assert (gone.status_code, gone.json()["code"]) == (404, "file_unknown")


async def test_jobs_of_every_protocol_are_polled_and_fetched_at_the_other(tier: Tier) -> None:
    here, there = tier
    file = {"file": ("a.png", png())}
    files = {"files": ("a.png", png())}
    job = await here.client.post("/v1/jobs", files=file, headers=ALPHA)
    docling = await here.client.post("/v1/convert/file/async", files=files, headers=ALPHA)
    mineru = await here.client.post("/tasks", files=files, headers=ALPHA)
    path = "/documentintelligence/documentModels/prebuilt-read:analyze?api-version=2024-11-30"
    azure = await here.client.post(path, json={"base64Source": b64(png())}, headers=ALPHA)
    paddle_path, form = "/api/v2/ocr/jobs", {"model": "PaddleOCR-VL-1.6", "optionalPayload": "{}"}
    paddle = await here.client.post(paddle_path, files=file, data=form, headers=ALPHA)
    line = {"custom_id": "a", "body": {"document": {"type": "file", "file_id": await upload(here, png(), "a.png")}}}
    sent = (
        await here.client.post("/v1/uploads", json={"filename": "a.png", "bytes": len(png())}, headers=ALPHA)
    ).json()
    await there.client.put(sent["upload_url"], content=png(), headers={**ALPHA, **sent["upload_headers"]})
    sent = (await here.client.post(f"/v1/uploads/{sent['id']}/complete", headers=ALPHA)).raise_for_status().json()
    files_of_job = [{"source": {"type": "file_id", "file_id": sent["file"]["id"]}}]
    parsed = await there.client.post("/v1/parse/jobs", json={"files": files_of_job}, headers=ALPHA)
    lines = await upload(here, json.dumps(line).encode(), "lines.jsonl")
    body = {"endpoint": "/v1/ocr", "input_files": [lines]}
    batch = (await there.client.post("/v1/batch/jobs", json=body, headers=ALPHA)).raise_for_status().json()

    done = await ended(there, job.json(), ALPHA)
    assert (await get(there, done["links"]["result"])).json()["pages"][0]["text"]
    task_id = docling.json()["task_id"]
    polled = await get(there, f"/v1/status/poll/{task_id}?wait=20")
    assert polled.json()["task_status"] == "success"
    assert (await get(there, f"/v1/result/{task_id}")).status_code == 200
    await until_status(there, f"/tasks/{mineru.json()['task_id']}", "status", "completed")
    assert (await get(there, f"/tasks/{mineru.json()['task_id']}/result")).status_code == 200
    found = await until_status(there, azure.headers["operation-location"], "status", "succeeded")
    assert found["analyzeResult"]["content"]
    done = await until_status(here, f"/v1/parse/jobs/{parsed.json()['job_id']}", "status", "completed")
    markdown = done["files"][0]["output_files"]["markdown"]["file_id"]
    assert (await get(there, f"/v1/files/{markdown}/content")).status_code == 200
    done = await until_status(there, f"{paddle_path}/{paddle.json()['data']['jobId']}", "state", "done")
    assert (await get(here, done["resultUrl"]["jsonUrl"], {})).status_code == 200  # its URL is signed
    found = await until_status(here, f"/v1/batch/jobs/{batch['id']}", "status", "SUCCESS")
    for api in tier:
        output = await get(api, f"/v1/files/{found['output_file']}/content")
        assert output.json()["custom_id"] == "a"


async def until_status(api: Api, path: str, field: str, expected: str) -> dict[str, Any]:
    for _ in range(400):
        found = (await get(api, path)).raise_for_status().json()
        found = found.get("data") or found
        if found[field] == expected:
            return dict(found)
        await anyio.sleep(0.05)
    raise AssertionError(found)


async def test_a_key_of_idempotency_adds_one_job_at_both(tier: Tier) -> None:
    again = {**ALPHA, "idempotency-key": "once"}
    ids = {
        (await api.client.post("/v1/jobs", files={"file": ("a.png", png())}, headers=again)).json()["id"]
        for api in tier
    }
    assert len(ids) == 1


async def test_a_gateway_without_the_secret_of_another_takes_its_urls_for_any_others(tmp_path: Path) -> None:
    async with running_api(auth=AUTH) as here, running_api(auth=AUTH) as there:
        file_id = await upload(here, png())
        signed = (await get(here, f"/v1/files/{file_id}/url")).json()["url"]
        assert (await get(there, signed, {})).status_code == 401
        read = await there.client.post(
            "/v1/ocr", json={"document": {"type": "document_url", "document_url": signed}}, headers=ALPHA
        )
        assert (read.status_code, "jobs.database" in read.json()["detail"]) == (403, True)
        unknown = await get(there, f"/v1/files/{file_id}")
        assert (unknown.status_code, "jobs.database" in unknown.json()["remedy"]) == (404, True)


async def test_while_the_database_is_away_files_are_unavailable_and_not_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    async with running_api(jobs={"folder": str(folder), "database": f"sqlite:///{folder / 'jobs.db'}"}) as api:
        folder.write_text("no folder")
        answers = [
            await api.client.post("/v1/files", files={"file": ("a.png", png())}),
            await api.client.get("/v1/files"),
            await api.client.post("/v1/ocr", json={"document": {"type": "file", "file_id": "x"}}),
        ]
        assert [(each.status_code, each.json()["code"]) for each in answers] == [(503, "jobs_unavailable")] * 3
        assert all(int(each.headers["retry-after"]) > 0 for each in answers)
        assert (await api.client.post("/ocr", files={"file": ("a.png", png())})).status_code == 200


async def test_a_file_that_is_being_stored_or_sent_is_counted(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    api, _ = tier
    slow = anyio.Event()
    put, get_ = Objects.put, Objects.get

    async def late_put(self: Objects, url: str, data: bytes, **more: Any) -> bool:  # noqa: ANN401 - as there
        await slow.wait()
        return await put(self, url, data, **more)

    async def late_get(self: Objects, url: str, **more: Any) -> bytes:  # noqa: ANN401 - as there
        await slow.wait()
        return await get_(self, url, **more)

    monkeypatch.setattr(Objects, "put", late_put)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upload, api, png())
        with anyio.fail_after(10):
            await until(lambda: api.limiter.in_flight)
            await anyio.sleep(0.1)
        assert (api.limiter.in_flight, api.limiter.body_bytes) == (1, len(png()))
        slow.set()
    assert api.limiter.in_flight == 0

    slow = anyio.Event()
    monkeypatch.setattr(Objects, "get", late_get)
    room = api.context.room.limiter
    (file,) = (await get(api, "/v1/files")).json()["data"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get, api, f"/v1/files/{file['id']}/content")
        with anyio.fail_after(10):
            await until(lambda: room.documents)
        assert room.body_bytes == len(png())
        slow.set()
