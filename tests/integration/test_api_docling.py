"""What clients of docling-serve's asynchronous API send and get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inkgate.errors import EngineFailed
from inkgate.settings import PdfText
from inkgate_client.types import TaskKind
from support.api_client import Api, b64, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import code, jobs_api

pytestmark = pytest.mark.anyio


async def result_of(api: Api, task: dict[str, Any]) -> dict[str, Any]:
    while task["task_status"] in {"pending", "started"}:
        task = (await api.client.get(f"/v1/status/poll/{task['task_id']}", params={"wait": 5})).json()
    answer = await api.client.get(f"/v1/result/{task['task_id']}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.smoke
async def test_a_file_is_converted_to_markdown_and_text(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        fields = {"to_formats": ["md", "json"], "page_range": ["2", "3"], "force_ocr": "true", "ocr_lang": "en"}
        answer = await api.client.post("/v1/convert/file/async", files={"files": ("a.tiff", tiff(4))}, data=fields)
        task = answer.json()
        assert answer.status_code == 200
        assert task.keys() == {*("task_id", "task_type", "task_status", "task_position", "task_meta", "error_message")}
        found = await result_of(api, task)
        assert found["status"] == "success"
        assert found["document"]["filename"] == "a.tiff"
        assert found["document"]["md_content"].startswith("# Hello page 1")
        assert found["document"]["text_content"].count("\f") == 1
        assert found["errors"] == []
        assert {task.kind for task in api.engine.tasks} == {TaskKind.PARSE}
        jobs = api.context.service.jobs
        assert jobs is not None
        assert (await jobs.store.get(task["task_id"], None)).options.pdf_text is PdfText.NEVER


async def test_a_task_has_the_same_document_as_a_conversion_within_the_request(tmp_path: Path) -> None:
    body = {
        "sources": [{"kind": "file", "base64_string": b64(tiff(3)), "filename": "a.tiff"}],
        "options": {
            "to_formats": ["md", "json"],
            "page_range": [2, 2**63 - 1],
            "md_page_break_placeholder": "<!-- -->",
        },
        "target": {"kind": "inbody"},
    }
    async with jobs_api(tmp_path) as api:
        task = (await api.client.post("/v1/convert/source/async", json=body)).json()
        now = (await api.client.post("/v1/convert/source", json=body)).json()["document"]
        later = (await result_of(api, task))["document"]
    assert later == now
    assert later["md_content"].count("\n\n<!-- -->\n\n") == 1
    assert list(later["json_content"]["pages"]) == ["2", "3"]
    assert [text["self_ref"] for text in later["json_content"]["texts"]] == [f"#/texts/{n}" for n in range(6)]


async def test_sources_are_files_in_base64_and_urls(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.png").write_bytes(png())
    async with jobs_api(tmp_path, jobs={"sources": [(tmp_path / "in").as_uri()]}) as api:
        for source, name in (
            ({"kind": "file", "base64_string": b64(png()), "filename": "../a.png"}, "a.png"),
            ({"kind": "http", "url": (tmp_path / "in" / "b.png").as_uri()}, "b.png"),
        ):
            answer = await api.client.post("/v1/convert/source/async", json={"sources": [source], "options": {}})
            assert (await result_of(api, answer.json()))["document"]["filename"] == name
        old = await api.client.post(
            "/v1/convert/source/async", json={"file_sources": [{"base64_string": b64(png()), "filename": "c.png"}]}
        )
        assert old.status_code == 200


async def test_failures_are_results_with_errors(tmp_path: Path) -> None:
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with jobs_api(tmp_path, engine) as api:
        answer = await api.client.post("/v1/convert/file/async", files={"files": ("a.tiff", tiff(2))})
        found = await result_of(api, answer.json())
        assert found["status"] == "partial_success"
        assert found["errors"][0]["error_message"] == "1 pages could not be read."
        answer = await api.client.post("/v1/convert/file/async", files={"files": ("a.pdf", b"%PDF-1.4 broken")})
        found = await result_of(api, answer.json())
        assert (found["status"], found["document"]["md_content"]) == ("failure", None)
        assert found["errors"][0]["error_message"]


async def test_requests_that_can_not_be_met_are_refused(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        files = {"files": ("a.png", png())}
        refused = await api.client.post("/v1/convert/file/async", files=files, data={"to_formats": "doctags"})
        assert code(refused) == (422, "options_invalid")
        refused = await api.client.post("/v1/convert/file/async", files=files, data={"to_formats": ["md", "html"]})
        assert "not `html`. Export it from `json`" in refused.json()["detail"]
        refused = await api.client.post("/v1/convert/file/async", files=files, data={"target_type": "zip"})
        assert code(refused) == (422, "options_invalid")
        source = {"kind": "file", "base64_string": b64(png())}
        elsewhere = {"sources": [source], "target": {"kind": "presigned_url"}}
        refused = await api.client.post("/v1/convert/source/async", json=elsewhere)
        # The words at which docling's client asks again, for a result in the response.
        assert "artifact storage to be configured" in refused.json()["detail"]
        refused = await api.client.post("/v1/convert/file/async", data={"to_formats": "md"})
        assert code(refused) == (400, "file_missing")
        bodies: tuple[tuple[dict[str, Any], tuple[int, str]], ...] = (
            ({}, (400, "file_missing")),
            ({"sources": [{"kind": "http"}]}, (400, "file_missing")),
            ({"sources": [{"kind": "http", "url": "https://example.com/a.pdf"}]}, (403, "source_forbidden")),
            ({"sources": [{"kind": "file", "base64_string": "!"}]}, (400, "base64_invalid")),
            ({"sources": [{}, {}]}, (422, "options_invalid")),
        )
        for body, expected in bodies:
            assert code(await api.client.post("/v1/convert/source/async", json=body)) == expected
        task = (await api.client.post("/v1/convert/file/async", files=files)).json()
        assert (task["task_status"], task["task_position"]) == ("pending", 1)
        assert code(await api.client.get(f"/v1/result/{task['task_id']}")) == (409, "job_not_ended")
        assert code(await api.client.get("/v1/status/poll/none")) == (404, "job_unknown")


async def test_images_are_there_if_they_are_requested(tmp_path: Path) -> None:
    """As docling-serve's defaults are. docling's client asks for `html` with `json`, and makes it of the latter."""
    async with jobs_api(tmp_path) as api:
        for fields, images in (
            ({"image_export_mode": "embedded"}, True),
            ({"to_formats": ["html", "json"], "image_export_mode": "referenced"}, True),
            ({}, False),
            ({"image_export_mode": "placeholder"}, False),
            ({"image_export_mode": "embedded", "include_images": "false"}, False),
        ):
            answer = await api.client.post("/v1/convert/file", files={"files": ("a.png", png())}, data=fields)
            assert answer.status_code == 200, answer.text
            assert api.engine.tasks[-1].images is images, fields


async def test_what_there_is_not_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        assert code(await api.client.get("/v1/clear/results")) == (404, "route_unknown")
        assert list((await api.client.get("/version")).json()) == ["inkgate"]
