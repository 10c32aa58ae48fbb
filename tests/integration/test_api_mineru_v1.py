"""What clients of MinerU 4's API send and get."""

from __future__ import annotations

import io
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
import pytest

from inkgate.settings import PdfText
from support.api_client import Api, b64, png, tiff
from support.jobs_api import jobs_api
from support.pictured_page import PicturedEngine

pytestmark = pytest.mark.anyio


async def uploaded(api: Api, name: str, data: bytes, headers: dict[str, str] | None = None) -> str:
    """The ID of a file that is sent in three steps. `headers`: of the second, as the first says by default."""
    body = {"filename": name, "bytes": len(data), "mime_type": "application/octet-stream"}
    upload = (await api.client.post("/v1/uploads", json=body)).json()
    assert upload["status"] == "pending"
    early = await api.client.post(f"/v1/uploads/{upload['id']}/complete")
    assert error(early) == (404, "file_unknown")
    for _ in range(2):  # a client that got no answer sends it again
        sent = headers if headers is not None else upload["upload_headers"]
        answer = await api.client.put(upload["upload_url"], content=data, headers=sent)
        assert answer.status_code == 200, answer.text
    done = (await api.client.post(f"/v1/uploads/{upload['id']}/complete")).json()
    assert (done["status"], done["file"]["bytes"], done["file"]["filename"]) == ("completed", len(data), name)
    assert (await api.client.get(f"/v1/uploads/{upload['id']}")).json() == done
    assert len((await api.client.get("/v1/files")).json()["data"]) == 1
    found: str = done["file"]["id"]
    return found


async def parsed(api: Api, source: dict[str, str], **options: object) -> dict[str, Any]:
    """A job that has ended."""
    page_range = options.pop("page_range", None)
    files = [{"source": source} | ({"page_range": page_range} if page_range else {})]
    answer = await api.client.post("/v1/parse/jobs", json={"files": files, **options})
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    while job["status"] in {"queued", "running"}:
        await anyio.sleep(0.02)
        job = (await api.client.get(job["links"]["self"])).json()
    return job


async def output(api: Api, job: dict[str, Any], name: str) -> httpx.Response:
    found = job["files"][0]["output_files"][name]["file_id"]
    answer = await api.client.get(f"/v1/files/{found}/content")
    assert answer.status_code == 200, answer.text
    return answer


def error(answer: httpx.Response) -> tuple[int, str]:
    """The error as MinerU's client reads it."""
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_file_is_uploaded_parsed_and_its_markdown_downloaded(tmp_path: Path) -> None:
    """As Open WebUI sends it, without a type of the body."""
    async with jobs_api(tmp_path) as api:
        health = (await api.client.get("/v1/health")).json()
        assert (health["status"], "file_id" in health["features"]["sources"]) == ("ok", True)
        file_id = await uploaded(api, "Grüße 1.tiff", tiff(3), headers={})
        job = await parsed(api, {"type": "file_id", "file_id": file_id}, page_range="2-3", ocr_mode="ocr", tier="basic")
        assert (job["status"], job["tier"], job["files"][0]["name"]) == ("completed", "basic", "Grüße 1.tiff")
        assert (await output(api, job, "markdown")).text.startswith("# Hello page 1")
        jobs = api.context.service.jobs
        assert jobs is not None
        assert (await jobs.store.get(job["job_id"], None)).options.pdf_text is PdfText.NEVER


async def test_middle_json_and_an_archive_with_images(tmp_path: Path) -> None:
    """As MinerU's own client sends it."""
    async with jobs_api(tmp_path, PicturedEngine()) as api:
        tiers = [tier["id"] for tier in (await api.client.get("/v1/tiers")).json()["data"]]
        assert tiers == ["flash", "basic", "standard", "advanced"]
        file_id = await uploaded(api, "a.tiff", tiff(2))
        source = {"type": "file_id", "file_id": file_id}
        job = await parsed(api, source, output_formats=["zip", "middle_json"])
        middle = (await output(api, job, "middle_json")).json()
        archived = (await output(api, job, "zip")).content
        for path in ("/v1/result", "/v1/jobs", "/tasks"):  # other protocols' clients may get it, too
            assert (await api.client.get(f"{path}/{job['job_id']}")).status_code == 200
        unasked = await api.client.get(f"/v1/files/mineru.{job['job_id']}.markdown/content")
        assert (unasked.status_code, unasked.json()["code"]) == (404, "file_unknown")
    assert [page["page_idx"] for page in middle["pdf_info"]] == [0, 1]
    with zipfile.ZipFile(io.BytesIO(archived)) as archive:
        images = ["images/page-1-1.png", "images/page-2-1.png"]
        assert archive.namelist() == ["markdown.md", "middle_json.json", *images]
        assert orjson.loads(archive.read("middle_json.json")) == middle


async def test_documents_may_be_inline_and_failures_are_told(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        job = await parsed(api, {"type": "inline", "name": "a.png", "data": b64(png())})
        assert (job["status"], job["progress"]["completed"]) == ("completed", 1)
        job = await parsed(api, {"type": "inline", "name": "a.pdf", "data": b64(b"%PDF-1.4 broken")})
        assert (job["status"], job["files"][0]["status"], job["files"][0]["output_files"]) == ("failed", "failed", None)
        assert job["files"][0]["error"]["code"] == "pdf_corrupt"
        late = await api.client.get(f"/v1/files/mineru.{job['job_id']}.markdown/content")
        assert (late.status_code, late.json()["code"]) == (409, "job_ended")


async def test_an_upload_takes_the_file_that_it_announced_under_a_clean_name(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        for name in ("folder/", "\x01"):  # nothing of these is left
            upload = (await api.client.post("/v1/uploads", json={"filename": name, "bytes": len(png())})).json()
            for data, expected in ((png()[:-1], "options_invalid"), (b"", "document_empty")):
                cut = await api.client.put(upload["upload_url"], content=data, headers=upload["upload_headers"])
                assert error(cut)[1] == expected
            sent = await api.client.put(upload["upload_url"], content=png(), headers=upload["upload_headers"])
            assert (sent.status_code, sent.json()["file"]["filename"]) == (200, "document")
        forged = "upload-" + urlsafe_b64encode(
            bytes(12) + len(png()).to_bytes(8) + b"../../a\r\nb.png"
        ).decode().rstrip("=")
        head = upload["upload_headers"]
        sent = await api.client.put(f"/v1/uploads/{forged}/content", content=png(), headers=head)
        assert sent.json()["file"]["filename"] == "ab.png"


async def test_requests_that_can_not_be_met_are_refused(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, jobs={"work": False}) as api:
        inline = {"type": "inline", "name": "a.png", "data": b64(png())}
        bodies: tuple[tuple[dict[str, Any], tuple[int, str]], ...] = (
            ({"files": []}, (422, "options_invalid")),
            ({"files": [{"source": inline}, {"source": inline}]}, (422, "options_invalid")),
            ({"files": [{"source": inline}], "output_formats": ["docx"]}, (422, "options_invalid")),
            ({"files": [{"source": inline}], "output_formats": []}, (422, "options_invalid")),
            ({"files": [{"source": inline, "page_range": "r2-r1"}]}, (422, "pages_invalid")),
            ({"files": [{"source": {"type": "local", "path": "/etc/passwd"}}]}, (422, "options_invalid")),
            ({"files": [{"source": {"type": "file_id", "file_id": "none"}}]}, (404, "file_unknown")),
            ({"files": [{"source": {"type": "url", "url": "https://example.com/a.pdf"}}]}, (403, "source_forbidden")),
        )
        for body, expected in bodies:
            assert error(await api.client.post("/v1/parse/jobs", json=body)) == expected, body
        huge = {"filename": "a.pdf", "bytes": 10**12}
        assert error(await api.client.post("/v1/uploads", json=huge)) == (413, "body_too_large")
        for unknown in ("upload-" + "A" * 30, "upload-" + "_" * 29):
            assert error(await api.client.post(f"/v1/uploads/{unknown}/complete")) == (404, "file_unknown")
        waiting = (await api.client.post("/v1/parse/jobs", json={"files": [{"source": inline}]})).json()
        assert waiting["status"] == "queued"
        early = await api.client.get(f"/v1/files/mineru.{waiting['job_id']}.zip/content")
        assert (early.status_code, early.json()["code"]) == (409, "job_not_ended")
        cancelled = await api.client.delete(waiting["links"]["cancel"])
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "canceled")
        assert (await api.client.get(waiting["links"]["self"])).json()["status"] == "canceled"
