"""Mistral's batches, by Mistral's own client."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

import anyio
import httpx
import pytest
from mistralai.client import Mistral
from mistralai.client.errors import SDKError
from mistralai.client.models import BatchJob

from inkgate.api.mistral_batch import batches
from inkgate.api.mistral_batch.lines import LineForm, line_form
from inkgate.jobs.job import Job
from inkgate.storage.uploads import Uploads
from support.api_client import Api, b64, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import KEYS, code, jobs_api

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def mistral(api: Api, key: str = "any") -> AsyncIterator[Mistral]:
    transport = httpx.ASGITransport(api.app)
    async with httpx.AsyncClient(transport=transport) as http:
        as_theirs: Any = http  # their protocol names httpx's types in another way
        yield Mistral(api_key=key, server_url="http://inkgate.localhost", async_client=as_theirs)


def line(custom_id: str, data: bytes, **options: object) -> dict[str, Any]:
    url = f"data:image/png;base64,{b64(data)}"
    return {"custom_id": custom_id, "body": {"document": {"type": "image_url", "image_url": url}, **options}}


async def ended(client: Mistral, job: BatchJob, *, inline: bool = False) -> BatchJob:
    while job.status in {"QUEUED", "RUNNING", "CANCELLATION_REQUESTED"}:
        await anyio.sleep(0.02)
        job = await client.batch.jobs.get_async(job_id=job.id, inline=inline)
    return job


@pytest.mark.smoke
async def test_a_batch_of_an_uploaded_file(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api, mistral(api) as client:
        broken = line("third", b"%PDF-1.4 broken")
        lines = [line("first", tiff(3), pages=[1], include_blocks=True), line("second", png()), broken]
        content = "\n".join(json.dumps(one) for one in lines).encode() + b"\n\n"
        uploaded = await client.files.upload_async(
            file={"file_name": "batch.jsonl", "content": content},
            purpose="batch",
        )
        job = await client.batch.jobs.create_async(
            endpoint="/v1/ocr", input_files=[uploaded.id], model="mistral-ocr-latest", metadata={"for": "test"}
        )
        assert (job.total_requests, job.input_files, job.metadata) == (3, [uploaded.id], {"for": "test"})
        job = await ended(client, job)
        assert (job.status, job.succeeded_requests, job.failed_requests) == ("SUCCESS", 2, 1)
        assert job.output_file
        assert job.error_file
        output = await client.files.download_async(file_id=job.output_file)
        found = [json.loads(one) for one in (await output.aread()).splitlines()]
        assert [one["custom_id"] for one in found] == ["first", "second"]
        (page,) = found[0]["response"]["body"]["pages"]
        assert (page["index"], bool(page["blocks"]), found[1]["response"]["status_code"]) == (1, True, 200)
        errors = await client.files.download_async(file_id=job.error_file)
        (error,) = [json.loads(one) for one in (await errors.aread()).splitlines()]
        assert (error["custom_id"], error["response"], bool(error["error"]["code"])) == ("third", None, True)
        listed = await client.batch.jobs.list_async(status=["SUCCESS"])
        assert [one.id for one in listed.data or ()] == [job.id]
        assert (await client.batch.jobs.list_async(status=["QUEUED"])).total == 0
        assert (await client.batch.jobs.delete_async(job_id=job.id)).deleted
        with pytest.raises(SDKError):
            await client.batch.jobs.get_async(job_id=job.id)


async def test_a_batch_in_the_request_with_its_responses(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api, mistral(api) as client:
        requests: Any = [line("a", png()), line("b", png())]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        job = await ended(client, job, inline=True)
        assert [one["custom_id"] for one in job.outputs or ()] == ["a", "b"]


async def test_cancelling_ends_the_lines_that_wait(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine, jobs={"at_once": 1, "lease_s": 0.6}) as api, mistral(api) as client:
        requests: Any = [line(str(number), tiff(number + 1)) for number in range(3)]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        await engine.reading.wait()
        job = await client.batch.jobs.cancel_async(job_id=job.id)
        assert job.status == "CANCELLATION_REQUESTED"
        assert (await ended(client, job)).status == "CANCELLED"


async def test_file_that_many_lines_name_is_stored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[int] = []
    put = Uploads.put

    async def counted(self: Uploads, data: bytes) -> str:
        stored.append(len(data))
        return await put(self, data)

    monkeypatch.setattr(Uploads, "put", counted)
    async with jobs_api(tmp_path) as api, mistral(api) as client:
        files = [
            await client.files.upload_async(file={"file_name": "a.png", "content": data}, purpose="ocr")
            for data in (png(), tiff(2))
        ]
        requests: Any = [
            {"custom_id": str(number), "body": {"document": {"type": "file", "file_id": files[number % 2].id}}}
            for number in range(20)
        ]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        assert stored == [len(png()), len(tiff(2))]
        job = await ended(client, job)
        assert job.succeeded_requests == 20
        assert job.output_file
        output = await client.files.download_async(file_id=job.output_file)
        found = [json.loads(one)["response"]["body"]["pages"] for one in (await output.aread()).splitlines()]
        assert [len(pages) for pages in found] == [1, 2] * 10


async def test_long_batch_is_one_though_its_lines_become_jobs_later(tmp_path: Path) -> None:
    gate = anyio.Event()
    engine = FakeEngine(gate=gate)
    async with jobs_api(tmp_path, engine) as api, mistral(api) as client:
        file = await client.files.upload_async(file={"file_name": "a.png", "content": png()}, purpose="ocr")
        document = {"document": {"type": "file", "file_id": file.id}}
        requests: Any = [{"custom_id": str(number), "body": document} for number in range(100)]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        assert (job.total_requests, job.completed_requests) == (100, 0)
        assert len((await api.client.get("/v1/jobs?limit=1000")).json()["jobs"]) < 100
        listed = (await client.batch.jobs.list_async()).data or []
        assert [(one.id, one.total_requests) for one in listed] == [(job.id, 100)]
        with pytest.raises(SDKError, match="job_not_ended"):
            await client.batch.jobs.delete_async(job_id=job.id)
        gate.set()
        job = await ended(client, job)
        assert (job.status, job.total_requests, job.succeeded_requests) == ("SUCCESS", 100, 100)
        assert job.output_file
        output = await client.files.download_async(file_id=job.output_file)
        found = [json.loads(one)["custom_id"] for one in (await output.aread()).splitlines()]
        assert found == [str(number) for number in range(100)]
        assert (await client.batch.jobs.delete_async(job_id=job.id)).deleted


async def test_cancelling_a_long_batch_answers_for_each_line(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api, mistral(api) as client:
        requests: Any = [line(str(number), png()) for number in range(80)]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        assert job.status == "QUEUED"
        job = await client.batch.jobs.cancel_async(job_id=job.id)
        assert (job.status, job.total_requests, job.failed_requests) == ("CANCELLED", 80, 80)
        assert job.error_file
        errors = await client.files.download_async(file_id=job.error_file)
        found = [json.loads(one) for one in (await errors.aread()).splitlines()]
        assert [one["custom_id"] for one in found] == [str(number) for number in range(80)]
        assert {one["error"]["code"] for one in found} == {"job_cancelled"}


async def test_a_batch_is_its_tenants_and_a_key_is_one_batch(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, auth=KEYS, jobs={"work": False}) as api, mistral(api, "alpha") as client:
        requests: Any = [line("a", png())]
        created = [
            await client.batch.jobs.create_async(
                endpoint="/v1/ocr", requests=requests, http_headers={"idempotency-key": "one"}
            )
            for _ in range(2)
        ]
        assert created[0].id == created[1].id
        async with mistral(api, "beta") as other:
            assert (await other.batch.jobs.list_async()).total == 0
            with pytest.raises(SDKError):
                await other.batch.jobs.get_async(job_id=created[0].id)


async def test_invalid_lines_refuse_the_batch(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        for requests, expected, place in (
            ([line("a", png()), {"custom_id": "b", "body": {}}], (422, "options_invalid"), "Line 2: "),
            ([line("a", b"hello")], (415, "type_unsupported"), "Line 1: "),
            ([line("a", png(), model="gpt-4")], (404, "engine_unknown"), "Line 1: "),
            ([], (400, "file_missing"), ""),
        ):
            answer = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/ocr", "requests": requests})
            assert code(answer) == expected
            assert answer.json()["detail"].startswith(place)
        answer = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/chat/completions"})
        assert code(answer) == (422, "options_invalid")
        answer = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/ocr", "input_files": ["x"]})
        assert code(answer) == (404, "file_unknown")
        unknown = hashlib.sha256(b"x").hexdigest()[:32]
        assert code(await api.client.get(f"/v1/batch/jobs/{unknown}")) == (404, "job_unknown")
        assert code(await api.client.get("/v1/batch/jobs/batch_of-elsewhere")) == (404, "job_unknown")
        assert (await api.client.get("/v1/jobs")).json()["jobs"] == []


async def test_a_key_with_more_or_fewer_lines_is_another_request(tmp_path: Path) -> None:
    requests = [line(str(number), png()) for number in range(3)]
    async with jobs_api(tmp_path) as api:
        for count, status in ((2, 200), (2, 200), (3, 422), (1, 422)):
            answer = await api.client.post(
                "/v1/batch/jobs",
                json={"endpoint": "/v1/ocr", "requests": requests[:count]},
                headers={"idempotency-key": "one"},
            )
            assert answer.status_code == status, answer.text
        found = (await api.client.get("/v1/batch/jobs")).json()["data"]
        assert [batch["total_requests"] for batch in found] == [2]
        assert len((await api.client.get("/v1/jobs")).json()["jobs"]) == 2


async def test_lines_are_grouped_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest 5,000 would hold the event loop for most of a second."""
    threads: set[int] = set()
    view = batches.BatchJobs.view

    def noted_form(job: Job) -> LineForm | None:
        threads.add(get_ident())
        return line_form(job)

    def noted_view(self: batches.BatchJobs) -> batches.MistralBatch:
        threads.add(get_ident())
        return view(self)

    monkeypatch.setattr(batches, "line_form", noted_form)
    monkeypatch.setattr(batches.BatchJobs, "view", noted_view)
    async with jobs_api(tmp_path) as api, mistral(api) as client:
        requests: Any = [line("a", png()), line("b", png())]
        job = await client.batch.jobs.create_async(endpoint="/v1/ocr", requests=requests)
        assert [one.id for one in (await client.batch.jobs.list_async()).data or ()] == [job.id]
        await client.batch.jobs.cancel_async(job_id=job.id)
        await ended(client, job)
    assert threads
    assert get_ident() not in threads
