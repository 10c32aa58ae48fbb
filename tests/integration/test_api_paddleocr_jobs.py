"""What PaddleOCR's own client sends to its job API and gets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from inkgate.errors import EngineFailed
from inkgate_client.types import TaskKind
from support.api_client import Api, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, BETA, KEYS, jobs_api
from support.pictured_page import PicturedEngine

pytestmark = pytest.mark.anyio

PATH = "/api/v2/ocr/jobs"
VL = {"model": "PaddleOCR-VL-1.6", "optionalPayload": "{}"}
"""The form of PaddleOCRClient.parse_document."""


async def add(
    api: Api, data: bytes, headers: dict[str, str] | None = None, name: str = "a.tiff", **form: str
) -> dict[str, Any]:
    answer = await api.client.post(PATH, files={"file": (name, data)}, data={**VL, **form}, headers=headers)
    return data_of(answer)


def data_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["code"], body["msg"], bool(body["traceId"])) == (0, "Success", True)
    found: dict[str, Any] = body["data"]
    return found


def error_of(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert body["code"] == answer.status_code
    assert body["msg"]
    assert body["data"] is None
    return answer.status_code, body["inkgate_code"]


async def ended(api: Api, job: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
    while job["state"] in {"pending", "running"}:
        await anyio.sleep(0.02)
        job = data_of(await api.client.get(f"{PATH}/{job['jobId']}", headers=headers))
    return job


async def lines_of(api: Api, job: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await api.client.get(job["resultUrl"]["jsonUrl"])
    assert answer.status_code == 200, answer.text
    return [json.loads(line)["result"] for line in answer.text.strip().split("\n")]


@pytest.mark.smoke
async def test_a_file_is_added_polled_and_its_pages_fetched(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await add(api, tiff(3))
        assert job["state"] in {"pending", "running", "done"}
        job = await ended(api, job)
        assert job["state"] == "done"
        assert "errorMsg" not in job
        progress = job["extractProgress"]
        assert (progress["totalPages"], progress["extractedPages"]) == (3, 3)
        assert progress["startTime"] <= progress["endTime"]
        lines = await lines_of(api, job)
    pages = [page for line in lines for page in line["layoutParsingResults"]]
    assert [page["markdown"]["text"].split("\n")[0] for page in pages] == [
        f"# Hello page {index}" for index in range(3)
    ]
    assert pages[0]["prunedResult"]["parsing_res_list"][0]["block_label"] == "doc_title"
    assert all(page["outputImages"] == {} for page in pages)  # clients iterate over it
    assert ["dataInfo" in line for line in lines] == [False, False, True]
    assert lines[2]["dataInfo"]["numPages"] == 3
    assert api.engine.tasks[0].kind is TaskKind.PARSE


async def test_ocr_models_give_lines_and_page_ranges_choose_pages(tmp_path: Path) -> None:
    payload = json.dumps({"useDocOrientationClassify": False, "textRecScoreThresh": 0.2, "newer": 1})
    async with jobs_api(tmp_path) as api:
        job = await ended(
            api, await add(api, pdf(5), None, "a.pdf", model="PP-OCRv6", optionalPayload=payload, pageRanges="1,3-4")
        )
        lines = await lines_of(api, job)
    assert [line["ocrResults"][0]["prunedResult"]["rec_texts"][0] for line in lines] == [
        f"Hello page {index}" for index in (0, 2, 3)
    ]
    assert lines[0]["ocrResults"][0]["ocrImage"] is None
    assert lines[0]["ocrResults"][0]["prunedResult"]["text_rec_score_thresh"] == 0.2
    assert lines[-1]["dataInfo"]["type"] == "pdf"
    (task, *_) = api.engine.tasks
    assert (task.kind, task.detect_rotation, task.min_line_confidence) == (TaskKind.TEXT, False, 0.2)


async def test_figures_are_files_that_the_markdown_names(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, PicturedEngine(), auth=KEYS) as api:
        job = await ended(api, await add(api, tiff(2), ALPHA), ALPHA)
        first, second = [line["layoutParsingResults"][0]["markdown"] for line in await lines_of(api, job)]
        assert (list(first["images"]), list(second["images"])) == (["page-1-1.png"], ["page-2-1.png"])
        assert '<img src="page-2-1.png" alt="Figure" />' in second["text"]
        (url,) = second["images"].values()
        assert urlsplit(url).path.endswith("/page-2-1.png")  # the client takes the name of the file from it
        found = await api.client.get(url)
        assert (found.status_code, found.headers["content-type"]) == (200, "image/png")
        assert found.headers["cache-control"] == "no-store"
        assert found.content.startswith(b"\x89PNG")
        assert error_of(await api.client.get(url.replace("page-2", "page-9"))) == (404, "file_unknown")
        assert error_of(await api.client.get(url.replace("/2/page-2", "/1/page-2"))) == (404, "file_unknown")
        jobs = api.context.service.jobs
        assert jobs is not None
        await jobs.store.expire(jobs.store.clock() + 10)
        assert error_of(await api.client.get(url)) == (410, "job_expired")
        without = json.dumps({"returnMarkdownImages": False})
        job = await ended(api, await add(api, png(), ALPHA, optionalPayload=without), ALPHA)
        (line,) = await lines_of(api, job)
        assert line["layoutParsingResults"][0]["markdown"]["images"] == {}


async def test_results_need_the_signature_and_nothing_else(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, auth=KEYS) as api:
        job = await ended(api, await add(api, png(), ALPHA), ALPHA)
        url = job["resultUrl"]["jsonUrl"]
        place, signature = url.split("?signature=")
        assert (await api.client.get(url)).headers["cache-control"] == "no-store"
        for wrong in (place, f"{place}?signature=", f"{place}?signature={signature[:-1]}", f"{place}?signature=ä"):
            for headers in ({}, ALPHA, BETA):
                assert error_of(await api.client.get(wrong, headers=headers)) == (404, "job_unknown")
        assert error_of(await api.client.get(f"{PATH}/{job['jobId']}")) == (401, "unauthenticated")
        assert error_of(await api.client.get(f"{PATH}/{job['jobId']}", headers=BETA)) == (404, "job_unknown")
        assert error_of(await api.client.post(url)) == (401, "unauthenticated")
        logged = [line for line in api.logs if line["event"] == "request"]
        assert signature not in json.dumps(logged, default=str)
        assert logged[-1]["path"] == f"{PATH}/{job['jobId']}/result.jsonl"
        other = (await api.client.post("/v1/jobs", files={"file": png()}, headers=ALPHA)).json()["id"]
        assert error_of(await api.client.get(f"{PATH}/{other}", headers=ALPHA)) == (404, "job_unknown")
        assert error_of(await api.client.get(f"{PATH}/{other}/result.jsonl?signature=")) == (404, "job_unknown")


async def test_a_key_of_a_request_does_not_tell_the_signature(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, auth=KEYS) as api:
        head = ALPHA | {"Idempotency-Key": "1"}
        job, again = [await add(api, png(), head) for _ in range(2)]
        assert again["jobId"] == job["jobId"]
        job = await ended(api, job, ALPHA)
        assert (await api.client.get(job["resultUrl"]["jsonUrl"])).status_code == 200
        tenant = f"key:{hashlib.sha256(b'alpha').hexdigest()[:12]}"
        guess = hashlib.sha256(f"{tenant} 1".encode()).hexdigest()[:32]
        guessed = await api.client.get(f"{PATH}/{job['jobId']}/result.jsonl?signature={guess}")
        assert error_of(guessed) == (404, "job_unknown")


async def test_a_page_that_fails_is_told_in_the_job_and_in_its_markdown(tmp_path: Path) -> None:
    failing = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with jobs_api(tmp_path, failing) as api:
        job = await ended(api, await add(api, tiff(3)))
        assert (job["state"], job["errorMsg"]) == ("done", "1 of 3 pages could not be read.")
        assert job["extractProgress"]["extractedPages"] == 2
        page = (await lines_of(api, job))[1]["layoutParsingResults"][0]
        assert page["markdown"]["text"] == "> **Page 2 could not be read:** No luck."
        assert page["prunedResult"]["error"]["code"] == "engine_failed"


async def test_failed_and_cancelled_jobs_say_why(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine) as api:
        waiting = await add(api, png())
        await api.client.delete(f"/v1/jobs/{waiting['jobId']}")
        broken = await ended(api, await add(api, b"%PDF-1.4", name="a.pdf"))
        assert (broken["state"], bool(broken["errorMsg"]), "resultUrl" in broken) == ("failed", True, False)
        assert engine.gate is not None
        engine.gate.set()
        cancelled = await ended(api, waiting)
        assert cancelled["state"] == "failed"
        assert "cancelled" in cancelled["errorMsg"]


async def test_the_jobs_of_a_batch_are_shown_together(tmp_path: Path) -> None:
    batch = 'it\'s a 50% "batch"_1'
    async with jobs_api(tmp_path, auth=KEYS) as api:
        mine = [await add(api, png(), ALPHA, batchId=batch) for _ in range(2)]
        await add(api, png(), ALPHA, batchId=batch + "0")
        await add(api, png(), BETA, batchId=batch)
        found = data_of(await api.client.get(f"{PATH}/batch/{batch}", headers=ALPHA))
        assert found["batchId"] == batch
        assert [job["jobId"] for job in found["extractResult"]] == [job["jobId"] for job in mine]
        assert all(job["state"] in {"pending", "running", "done"} for job in found["extractResult"])
        assert error_of(await api.client.get(f"{PATH}/batch/other", headers=ALPHA)) == (404, "job_unknown")


async def test_a_url_is_read_under_the_rules_of_fetching(tmp_path: Path) -> None:
    json_body = {"model": "PaddleOCR-VL-1.6", "optionalPayload": None}
    async with jobs_api(tmp_path) as api:
        forbidden = await api.client.post(PATH, json={**json_body, "fileUrl": "http://example.com/a.pdf"})
        assert error_of(forbidden) == (422, "options_invalid")  # 403 is a wrong key to the client
        assert "fileUrl: The source is not below" in forbidden.json()["msg"]
        uploaded = (await api.client.post("/v1/files", files={"file": ("b.png", png())})).json()["id"]
        url = (await api.client.get(f"/v1/files/{uploaded}/url")).json()["url"]
        job = await ended(api, data_of(await api.client.post(PATH, json={**json_body, "fileUrl": url})))
        assert job["state"] == "done"


WRONG_FORMS: list[tuple[dict[str, str], tuple[int, str]]] = [
    ({"model": "GPT-9"}, (422, "options_invalid")),
    ({"optionalPayload": "{"}, (422, "options_invalid")),
    ({"optionalPayload": "[]"}, (422, "options_invalid")),
    ({"optionalPayload": '{"useDocUnwarping": "no"}'}, (422, "options_invalid")),
    ({"optionalPayload": '{"outputFormats": ["docx"]}'}, (501, "feature_unavailable")),
    ({"optionalPayload": '{"useLayoutDetection": false, "promptLabel": "seal"}'}, (422, "task_unsupported")),
    ({"pageRanges": "4-2"}, (422, "pages_invalid")),
    ({"batchId": "x" * 201}, (422, "options_invalid")),
]


async def test_errors_come_in_the_envelope(tmp_path: Path) -> None:
    wrong = []
    async with jobs_api(tmp_path) as api:
        for form, expected in WRONG_FORMS:
            answer = await api.client.post(PATH, files={"file": ("a.png", png())}, data={**VL, **form})
            if error_of(answer) != expected:
                wrong.append((form, answer.text))
        assert wrong == []
        assert error_of(await api.client.post(PATH, json={"model": "PP-OCRv6"})) == (400, "file_missing")
        text = await api.client.post(PATH, files={"file": ("a.txt", b"no image")}, data=VL)
        assert error_of(text) == (415, "type_unsupported")
        assert error_of(await api.client.get(f"{PATH}/nothing")) == (404, "job_unknown")
        assert error_of(await api.client.delete(PATH)) == (405, "method_not_allowed")
    async with running_api() as api:  # without jobs
        answer = await api.client.post(PATH, files={"file": ("a.png", png())}, data=VL)
        assert error_of(answer) == (501, "feature_unavailable")
