"""Jobs that find fields, over HTTP: from the request to the corrected result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.api_client import Api, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, BETA, KEYS, code, ended, jobs_api, submit
from support.receipts import RECEIPT, page

pytestmark = pytest.mark.anyio
receipt = page(RECEIPT)
SCHEMA = {"type": "object", "properties": {"total": {"type": "number", "x-kind": "money"}}}


class ReceiptReader(FakeEngine):
    """Reads a receipt on the first page, and nothing on others."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        lines = receipt.lines if page.index == 0 else ()
        return replace(receipt, index=found.index, engine=found.engine, lines=lines)


async def found(api: Api, data: bytes | None = None, headers: dict[str, str] | None = None, **extract: Any) -> Any:  # noqa: ANN401 - JSON
    job = await submit(api, png() if data is None else data, headers, extract=json.dumps(extract))
    return await ended(api, job, headers)


@pytest.mark.smoke
async def test_a_job_s_fields_are_in_its_result_and_can_be_corrected(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, ReceiptReader()) as api:
        job = await found(api, type="receipt")
        assert (job["state"], job["review"]) == ("succeeded", "needs_review")  # 03/04/2018
        result = (await api.client.get(job["links"]["result"])).json()
        assert result["extraction"]["data"]["total"] == "30.20"
        assert result["pages"][0]["lines"]
        text = await api.client.get(job["links"]["result"], params={"format": "text"})
        assert text.headers["content-type"].startswith("text/plain")
        shown = await api.client.get(job["links"]["fields"])
        etag = shown.headers["etag"]
        assert shown.json()["fields"]["/total"]["sources"][0]["page"] == 0
        queue = await api.client.get("/v1/jobs", params={"review": "needs_review", "order": "oldest"})
        assert [each["id"] for each in queue.json()["jobs"]] == [job["id"]]
        change = {"fields": {"/date": "2018-03-04", "/phone": None}, "by": "anna"}
        corrected = await api.client.patch(job["links"]["fields"], json=change, headers={"if-match": etag})
        assert corrected.status_code == 200, corrected.text
        body = corrected.json()
        assert (body["data"]["date"], body["data"]["total"], body["review"]) == ("2018-03-04", "30.20", "reviewed")
        assert body["fields"]["/date"]["status"] == "uncertain"
        assert (body["corrections"][0]["by"], body["corrections"][0]["fields"]) == ("anna", change["fields"])
        late = await api.client.patch(job["links"]["fields"], json=change, headers={"if-match": etag})
        assert code(late) == (412, "fields_changed")
        assert not (await api.client.get("/v1/jobs", params={"review": "needs_review"})).json()["jobs"]
        logged = json.dumps(api.logs, default=str)
        assert "2018-03-04" not in logged
        assert "anna" not in logged
        assert (await api.client.delete(job["links"]["self"])).status_code == 204
        assert code(await api.client.get(job["links"]["fields"])) == (404, "job_unknown")


async def test_what_the_schema_does_not_allow_is_no_correction(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, ReceiptReader()) as api:
        job = await found(api, type="receipt")
        wrong: list[Any] = [
            {"/date": "4 March"},
            {"/date": "2018-13-04"},
            {"/total": 30.2},
            {"/total": "many"},
            {"/secret": "secret"},
            {"/merchant_name": {}},
            {"/merchant_name": " "},
            {"/merchant_name": "secret" * 1000},
            {"/items/7/amount": "1.00"},
            {"total": "1.00"},
            {"": "1.00"},
            [],
        ]
        any_version = {"if-match": "*"}
        for fields in wrong:
            answer = await api.client.patch(job["links"]["fields"], json={"fields": fields}, headers=any_version)
            assert code(answer) == (422, "options_invalid"), fields
            assert "secret" not in answer.text
        bodies: list[Any] = [[], {"fields": {}, "reviewed": "yes"}, {"other": 1}]
        for body in bodies:
            answer = await api.client.patch(job["links"]["fields"], json=body, headers=any_version)
            assert code(answer) == (422, "options_invalid"), body
        assert code(await api.client.patch(job["links"]["fields"], json={})) == (428, "version_missing")
        row = {"fields": {"/items/0/amount": "1.00", "/items/0/description": "Tea"}}
        added = await api.client.patch(job["links"]["fields"], json=row, headers=any_version)
        assert added.json()["data"]["items"][0]["amount"] == "1.00"


async def test_bad_requests_are_refused_before_the_job_is_added(tmp_path: Path) -> None:
    wrong = [
        ({"extract": "{"}, "options_invalid"),
        ({"extract": "[]"}, "options_invalid"),
        ({"extract": json.dumps({"type": "nothing"})}, "type_unknown"),
        ({"extract": json.dumps({"type": "receipt", "fields": ["a"]})}, "options_invalid"),
        ({"extract": json.dumps({"schema": {"properties": {}}})}, "schema_invalid"),
        ({"extract": json.dumps({"schema": "{"})}, "schema_invalid"),
        ({"extract": "{}", "task": "chart"}, "options_invalid"),
    ]
    async with jobs_api(tmp_path) as api:
        for fields, wanted in wrong:
            answer = await api.client.post("/v1/jobs", files={"file": ("a.png", png())}, data=fields)
            assert code(answer)[1] == wanted, fields
        # Not from the query, which proxies log.
        query = {"extract": json.dumps({"type": "receipt"})}
        refused = await api.client.post("/v1/jobs", files={"file": ("a.png", png())}, params=query)
        assert code(refused)[1] == "options_invalid"
        plain = await api.client.post("/v1/jobs", files={"file": ("a.png", png())})
        assert plain.json()["review"] is None
        job = await ended(api, plain.json())
        assert code(await api.client.get(job["links"]["fields"])) == (404, "fields_missing")
        assert "extraction" not in (await api.client.get(job["links"]["result"])).json()


async def test_other_tenants_see_and_change_nothing(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, ReceiptReader(), auth=KEYS) as api:
        job = await found(api, headers=ALPHA, type="receipt")
        path = job["links"]["fields"]
        assert code(await api.client.get(path, headers=BETA)) == (404, "job_unknown")
        change = {"fields": {"/total": "1.00"}}
        answer = await api.client.patch(path, json=change, headers=BETA | {"if-match": "*"})
        assert code(answer) == (404, "job_unknown")
        listed = await api.client.get("/v1/jobs", params={"review": "needs_review"}, headers=BETA)
        assert listed.json()["jobs"] == []
        assert (await api.client.get(path, headers=ALPHA)).json()["data"]["total"] == "30.20"


async def test_a_document_with_a_failed_page_needs_review(tmp_path: Path) -> None:
    engine = ReceiptReader(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with jobs_api(tmp_path, engine) as api:
        job = await found(api, tiff(3), schema=SCHEMA)
        assert (job["state"], job["review"]) == ("partial", "needs_review")
        shown = (await api.client.get(job["links"]["fields"])).json()
        assert shown["data"] == {"total": 30.2}
        engine.failing = {}
        await api.client.post(f"{job['links']['self']}/retry")
        again = await ended(api, job)
        assert (again["state"], again["review"]) == ("succeeded", "complete")


async def test_a_document_of_no_known_type_needs_review(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await found(api)
        assert (job["state"], job["review"]) == ("succeeded", "needs_review")
        shown = await api.client.get(job["links"]["fields"])
        assert (shown.json()["document_type"], shown.json()["data"]) == (None, {})
        headers = {"if-match": shown.headers["etag"]}
        assert (await api.client.patch(job["links"]["fields"], json={}, headers=headers)).json()["review"] == "reviewed"
