"""What clients of MinerU's task API send and get."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path, PureWindowsPath
from typing import Any

import anyio
import orjson
import pytest

from inkgate.api.mineru import _stem, folder_name
from support.api_client import Api, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import code, jobs_api
from support.pictured_page import PicturedEngine, opened

pytestmark = pytest.mark.anyio

CLIENT_FIELDS = {
    "lang_list": ["ch"],
    "backend": "hybrid-auto-engine",
    "parse_method": "auto",
    "formula_enable": "true",
    "return_md": "true",
    "return_images": "true",
    "start_page_id": "1",
    "end_page_id": "2",
}
"""As MinerU's command line sends them."""


async def ended(api: Api, task: dict[str, Any]) -> dict[str, Any]:
    while task["status"] in {"pending", "processing"}:
        await anyio.sleep(0.02)
        task = (await api.client.get(task["status_url"])).json()
    return task


@pytest.mark.smoke
async def test_a_task_is_added_polled_and_its_markdown_fetched(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        answer = await api.client.post("/tasks", files={"files": ("a.tiff", tiff(4))}, data=CLIENT_FIELDS)
        assert answer.status_code == 202
        task = answer.json()
        assert task["file_names"] == ["a"]
        assert task["status_url"] == f"http://inkgate.localhost/tasks/{task['task_id']}"
        assert (await ended(api, task))["status"] == "completed"
        found = (await api.client.get(task["result_url"])).json()
        assert found["backend"] == "inkgate"
        assert found["results"]["a"]["md_content"].startswith("# Hello page 1")
        assert found["results"]["a"]["md_content"].count("# Hello") == 2


async def test_the_result_may_be_an_archive(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        fields = {**CLIENT_FIELDS, "start_page_id": "0", "end_page_id": "99999", "response_format_zip": "true"}
        answer = await api.client.post("/tasks", files={"files": ("Grüße 1.png", png())}, data=fields)
        task = await ended(api, answer.json())
        found = await api.client.get(task["result_url"])
        assert found.headers["content-type"] == "application/zip"
        with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
            assert archive.namelist() == ["Grüße 1/hybrid_auto/Grüße 1.md"]
            assert archive.read("Grüße 1/hybrid_auto/Grüße 1.md").startswith(b"# Hello page 0")


HOSTILE_NAMES = (
    *(
        "../../etc/passwd.png",
        "..",
        "...",
        "....png",
        "/etc/passwd",
        "C:\\Windows\\x.png",
        "..\\..\\x.png",
        "a/../b.png",
    ),
    *("", "con.png", "NUL", "com1.tar.gz", "LPT\u00b9.png", "aux..png", "a\x00b.png", "a\nb\rc.png", "\u202egnp.exe"),
    *("a.", "a. .png", " ", "~/.ssh", "-rf.png", "*?<>|:.png", "x" * 5000, "\U0001d538" * 300, "%2e%2e%2fx.png"),
    *("\ud800.png", ".htaccess"),
)


async def test_names_of_documents_lead_to_no_other_place_in_an_archive() -> None:
    for name in HOSTILE_NAMES:
        folder = folder_name(_stem(name))
        assert re.fullmatch(r"[\w.\- ()\[\]+,&']+", folder), (name, folder)
        assert not folder.startswith((".", " ")), (name, folder)
        assert not folder.endswith((".", " ")), (name, folder)
        assert len(f"{folder}.md".encode()) <= 255, (name, folder)
        assert not PureWindowsPath(folder).is_reserved(), (name, folder)
        assert folder.isprintable(), (name, folder)


async def test_an_archive_of_a_document_with_a_hostile_name_has_one_folder(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        for name in ("../../etc/passwd.png", "con.png", "a\\..\\b.png"):
            fields = {**CLIENT_FIELDS, "start_page_id": "0", "response_format_zip": "true"}
            answer = await api.client.post("/tasks", files={"files": (name, png())}, data=fields)
            found = await api.client.get((await ended(api, answer.json()))["result_url"])
            with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
                (entry,) = archive.namelist()
                assert (len(entry.split("/")), ".." in entry.split("/")) == (3, False), entry


async def test_results_before_the_end_and_of_failures(tmp_path: Path) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with jobs_api(tmp_path, engine) as api:
        task = (await api.client.post("/tasks", files={"files": ("a.png", png())})).json()
        early = await api.client.get(task["result_url"])
        assert (early.status_code, early.json()["task_id"]) == (202, task["task_id"])
        broken = (await api.client.post("/tasks", files={"files": ("a.pdf", b"%PDF-1.4")})).json()
        broken = await ended(api, broken)
        assert (broken["status"], bool(broken["error"])) == ("failed", True)
        assert code(await api.client.get(broken["result_url"])) == (409, "job_ended")
        assert code(await api.client.get("/tasks/nothing")) == (404, "job_unknown")
        assert code(await api.client.post("/tasks", data={"backend": "x"})) == (400, "file_missing")
        wrong = await api.client.post("/tasks", files={"files": png()}, data={"start_page_id": "3", "end_page_id": "1"})
        assert code(wrong) == (422, "pages_invalid")
        assert engine.gate is not None
        engine.gate.set()


async def test_images_come_if_they_are_asked_for(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, PicturedEngine()) as api:
        for zipped in ("false", "true"):
            fields = {**CLIENT_FIELDS, "start_page_id": "0", "response_format_zip": zipped}
            answer = await api.client.post("/tasks", files={"files": ("a.tiff", tiff(2))}, data=fields)
            result = await api.client.get((await ended(api, answer.json()))["result_url"])
            if zipped == "true":
                with zipfile.ZipFile(io.BytesIO(result.content)) as archive:
                    images = [f"a/hybrid_auto/images/page-{number}-1.png" for number in (1, 2)]
                    assert archive.namelist() == ["a/hybrid_auto/a.md", *images]
                    assert b"](images/page-2-1.png)" in archive.read("a/hybrid_auto/a.md")
                    assert archive.read(images[1]).startswith(b"\x89PNG")
            else:
                found = result.json()["results"]["a"]
                assert "](images/page-2-1.png)" in found["md_content"]
                assert opened(found["images"]["page-2-1.png"]).size == (40, 30)


async def test_a_file_is_parsed_within_its_request() -> None:
    # As Open WebUI's MinerULoader sends it in its local mode where /v1/health fails, which it takes for MinerU 3.
    async with running_api() as api:
        assert (await api.client.get("/v1/health")).status_code == 501
        answer = await api.client.post(
            "/file_parse",
            files={"files": ("Grüße 1.tiff", tiff(3), "application/octet-stream")},
            data={"return_md": "true", "start_page_id": "1"},
        )
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["results"].keys() == {"Grüße 1"}
        assert found["results"]["Grüße 1"]["md_content"].startswith("# Hello page 1")
        assert found["results"]["Grüße 1"]["md_content"].count("# Hello") == 2
        zipped = {"response_format_zip": "true"}
        for files, data, expected in (
            ({"files": ("a.png", png())}, zipped, (501, "feature_unavailable")),
            ({"other": ("a.png", png())}, {}, (400, "file_missing")),
            ({"files": ("a.png", b"x")}, {}, (415, "type_unsupported")),
        ):
            refused = await api.client.post("/file_parse", files=files, data=data)
            assert (refused.status_code, refused.json()["code"]) == expected


async def test_figures_of_a_parsed_file_are_data_urls_by_name() -> None:
    async with running_api(PicturedEngine()) as api:
        answer = await api.client.post("/file_parse", files={"files": ("a.png", png())}, data={"return_images": "true"})
    found = answer.json()["results"]["a"]
    (name, url), *_ = found["images"].items()
    assert f"images/{name}" in found["md_content"]
    assert url.startswith("data:image/png;base64,")


async def test_files_of_json_are_the_same_in_an_archive_in_a_result_and_within_the_request(tmp_path: Path) -> None:
    flags = {"return_content_list": "true", "return_middle_json": "true", "return_images": "true"}
    async with jobs_api(tmp_path, PicturedEngine()) as api:
        files = {"files": ("My report.tiff", tiff(2))}
        now = (await api.client.post("/file_parse", files=files, data=flags)).json()["results"]["My report"]
        later = await api.client.post("/tasks", files=files, data=flags)
        later = await api.client.get((await ended(api, later.json()))["result_url"])
        assert later.json()["results"]["My report"] == now
        zipped = {**flags, "response_format_zip": "true", "backend": "pipeline", "parse_method": "ocr"}
        task = (await api.client.post("/tasks", files=files, data=zipped)).json()
        answer = await api.client.get((await ended(api, task))["result_url"])
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        read = {name.removeprefix("My report/ocr/"): archive.read(name) for name in archive.namelist()}
    assert read["My report_content_list.json"].decode() == now["content_list"]
    assert read["My report_middle.json"].decode() == now["middle_json"]
    content = orjson.loads(now["content_list"])
    paths = [entry["img_path"] for entry in content if entry["type"] == "image"]
    assert paths == ["images/page-1-1.png", "images/page-2-1.png"]
    assert read.keys() == {"My report.md", "My report_content_list.json", "My report_middle.json", *paths}
    assert [page["page_idx"] for page in orjson.loads(now["middle_json"])["pdf_info"]] == [0, 1]


async def test_health_has_what_the_command_line_of_mineru_3_demands() -> None:
    async with running_api() as api:
        found = (await api.client.get("/health")).json()
    assert (found["status"], found["protocol_version"], found["processing_window_size"]) == ("healthy", 2, 1)
    assert found["max_concurrent_requests"] > 0
