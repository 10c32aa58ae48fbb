"""The web page's files, and its own routes, beside the API."""

from __future__ import annotations

import hashlib
import io

import anyio
import pytest
from PIL import Image
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from inkgate.documents.files import FileFormat
from inkgate.ui.site import PageSite
from support.api_client import png, running_api

pytestmark = pytest.mark.anyio
BROWSER = {"accept": "text/html,*/*;q=0.8"}


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"page at {scope['path']} below {scope['root_path']}")(scope, receive, send)


async def test_without_the_page_the_small_one_describes_the_api() -> None:
    async with running_api() as api:
        home = await api.client.get("/", headers=BROWSER)
        assert home.status_code == 200
        assert "curl" in home.text
        assert "/ui/" not in home.text
        assert (await api.client.get("/ui/")).status_code == 404


async def test_browsers_are_sent_to_the_page_and_others_are_not() -> None:
    async with running_api(page=page) as api:
        assert (await api.client.get("/", headers=BROWSER)).headers["location"] == "ui/"
        assert "curl" in (await api.client.get("/", headers={"accept": "*/*"})).text
        assert (await api.client.get("/ui/viewer.js")).text == "page at /ui/viewer.js below /ui"


async def test_the_page_passes_no_rate_no_key_and_no_drain_but_its_own_routes_do() -> None:
    keys: dict[str, object] = {"key_hashes": [hashlib.sha256(b"alpha").hexdigest()]}
    async with running_api(page=page, auth=keys) as api:
        assert (await api.client.get("/ui/")).status_code == 200
        refused = await api.client.post("/ui/api/convert?format=text", json={})
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    async with running_api(page=page, rate_limit={"per_key": "1/minute"}) as api:
        api.context.drain.begin()
        for _ in range(3):
            assert (await api.client.get("/ui/")).status_code == 200
        assert (await api.client.post("/ui/api/convert?format=text", json={})).status_code == 503
        assert (await api.client.get("/v1/models")).status_code == 503
        assert (await api.client.get("/uix")).status_code == 503
        assert not [line for line in api.logs if line.get("path") == "/ui/"]


async def test_files_come_with_a_policy_and_only_what_is_there_is_served() -> None:
    async with running_api(page=PageSite("/ui")) as api:
        home = await api.client.get("/ui/")
        policy = home.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert home.headers["content-encoding"] == "gzip"
        assert "<script>" not in home.text
        assert "style=" not in home.text
        assert (await api.client.get("/ui")).headers["location"] == "/ui/"
        tag = home.headers["etag"]
        assert (await api.client.get("/ui/", headers={"if-none-match": tag})).status_code == 304
        statuses = {
            path: (await api.client.get(path)).status_code
            for path in (
                "/ui/main.js",
                "/ui/samples/report.png",
                "/ui/codes.en.json",
                "/ui/site.py",
                "/ui/%2e%2e/site.py",
            )
        }
        assert statuses == {
            "/ui/main.js": 200,
            "/ui/samples/report.png": 200,
            "/ui/codes.en.json": 200,
            "/ui/site.py": 404,
            "/ui/%2e%2e/site.py": 404,
        }
        sent = await api.client.post("/ui/main.js")
        assert (sent.status_code, sent.headers["allow"]) == (405, "GET, HEAD")


async def test_below_a_root_path_the_page_is_at_the_same_place() -> None:
    async with running_api(page=PageSite("/ocr-service/ui"), server={"root_path": "/ocr-service"}) as api:
        for path in ("/ui/main.js", "/ocr-service/ui/main.js"):
            assert (await api.client.get(path)).status_code == 200
        assert (await api.client.get("/ocr-service/ui")).headers["location"] == "/ocr-service/ui/"


async def test_a_document_that_was_read_is_converted_with_its_corrections() -> None:
    async with running_api() as api:
        read = await api.client.post("/ocr?format=json&task=parse", files={"file": ("a.png", png())})
        document = read.json()
        document["pages"][0]["text"] = "corrected by hand"
        text = await api.client.post("/ui/api/convert?format=text", json=document)
        assert "corrected by hand" in text.text
        found = {}
        for name in ("markdown", "json", "hocr", "alto", "csv", "docx", "xlsx"):
            answer = await api.client.post(f"/ui/api/convert?format={name}", json=document)
            found[name] = (answer.status_code, answer.headers["content-type"].partition(";")[0])
        assert found == {
            "markdown": (200, "text/markdown"),
            "json": (200, "application/json"),
            "hocr": (200, "text/html"),
            "alto": (200, "application/xml"),
            "csv": (200, "text/csv"),
            "docx": (200, FileFormat.DOCX.media_type),
            "xlsx": (200, FileFormat.XLSX.media_type),
        }
        wrong = await api.client.post("/ui/api/convert?format=text", json={"pages": "none"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "options_invalid")
        assert (await api.client.post("/ui/api/convert?format=doc", json=document)).status_code == 422


async def test_fields_of_documents_are_written_as_one_table() -> None:
    row = {"file": "a.png", "document_type": "receipt", "status": "complete", "data": {"total": "18.70"}}
    async with running_api() as api:
        table = await api.client.post("/ui/api/fields?format=csv", json=[row, row | {"data": {"tax": "=1+1"}}])
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        lines = table.content.decode("utf-8-sig").splitlines()
        assert lines == [
            "file,document_type,status,total,tax",
            "a.png,receipt,complete,18.70,",
            "a.png,receipt,complete,,'=1+1",
        ]
        book = await api.client.post("/ui/api/fields?format=xlsx", json=[row])
        assert (book.status_code, book.headers["content-type"]) == (200, FileFormat.XLSX.media_type)
        many = [{**row, "data": {f"field {n}": n}} for n in range(500)]
        wide = await api.client.post("/ui/api/fields?format=csv", json=many)
        assert (wide.status_code, wide.json()["code"]) == (422, "options_invalid")
        bodies: list[object] = [[{"file": "a.png"}], {}, [{**row, "data": []}]]
        for wrong in bodies:
            answer = await api.client.post("/ui/api/fields?format=csv", json=wrong)
            assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")


async def test_the_icon_is_there_for_everybody() -> None:
    async with running_api(auth={"key_hashes": [hashlib.sha256(b"alpha").hexdigest()]}) as api:
        icon = await api.client.get("/favicon.ico", headers={"authorization": ""})
        assert (icon.status_code, icon.headers["content-type"]) == (200, "image/x-icon")
        assert Image.open(io.BytesIO(icon.content)).size == (32, 32)


@pytest.mark.parametrize("format_", ["text", "markdown", "json", "hocr", "alto", "csv", "docx", "xlsx"])
async def test_a_table_with_a_cell_of_no_width_is_refused(format_: str) -> None:
    """Written as Word, it would never end."""
    cell = {"row": 0, "column": 0, "text": "x", "column_span": 0}
    table = {"rows": 1, "columns": 2, "cells": [cell]}
    block = {"type": "table", "box": [0, 0, 9, 9], "lines": [], "text": "x", "markdown": "x", "table": table}
    page = {"index": 0, "width": 100, "height": 100, "text": "x", "markdown": "x", "lines": [], "blocks": [block]}
    facts = {"name": "x", "mime_type": "image/png", "byte_count": 1, "page_count": 1, "engine": "e", "notes": []}
    async with running_api() as api:
        document = {"schema_version": 1, **facts, "pages": [page]}
        with anyio.fail_after(20):
            answer = await api.client.post(f"/ui/api/convert?format={format_}", json=document)
        assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")
