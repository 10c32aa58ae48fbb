"""The page at /docs works on a machine that reaches nothing but this service."""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path
from threading import get_ident
from typing import Any

import anyio
import httpx
import pytest

from inkgate.api import guide
from support.api_client import RawCall, running_api

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[2] / "docs"
KEY_HASH = hashlib.sha256(b"secret").hexdigest()


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
async def test_every_file_of_the_page_comes_from_here_and_needs_no_key(page: str) -> None:
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        text = (await api.client.get(page)).text
        files = re.findall(r'(?:src|href)="([^"]+)"', text)
        assert any(file.endswith(".js") for file in files)
        assert not re.search(r"https?://", text)
        for file in files:
            assert (await api.client.get(file)).status_code == 200
        assert (await api.client.get("/docs/files/../../ocr")).status_code in {401, 404, 405}


async def test_what_the_page_describes_is_sent_without_a_key_but_documents_are_not_read() -> None:
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        assert "/ocr" in (await api.client.get("/openapi.json")).json()["paths"]
        assert (await api.client.post("/ocr", json={"image": ""})).status_code == 401


async def test_the_documentation_is_served_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "SITE", tmp_path)
    (tmp_path / "reference" / "errors").mkdir(parents=True)
    (tmp_path / "index.html").write_text("start page", encoding="utf-8")
    (tmp_path / "reference" / "errors" / "index.html").write_text("errors", encoding="utf-8")
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        moved = await api.client.get("/docs/guide")
        assert moved.headers["location"].endswith("/docs/guide/")
        assert (await api.client.get("/docs/guide/")).text == "start page"
        assert (await api.client.get("/docs/guide/reference/errors/")).text == "errors"
        assert (await api.client.get("/docs/guide/no/such/page/")).status_code == 404
        assert (await api.client.get("/docs/guide/%2e%2e/%2e%2e/etc/passwd")).status_code in {401, 404}
        for path in ("/docs/guide/", "/docs/guide/index.html", "/docs/guide/v1/chat/completions"):
            refused = await api.client.post(path)
            assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
            assert refused.json()["code"] == "method_not_allowed"


async def test_without_a_built_site_the_pages_of_docs_are_served_and_every_link_and_picture_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "SITE", tmp_path)
    seen: dict[str, str | None] = {}
    wrong: list[tuple[str, str]] = []
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:

        async def get(url: httpx.URL, source: str) -> str | None:
            """The page at the address, None if it is a picture."""
            if url.path not in seen:
                answer = await api.client.get(url.path)
                content_type = answer.headers["content-type"]
                if answer.status_code != 200:
                    wrong.append((source, str(url)))
                seen[url.path] = answer.text if content_type.startswith("text/html") else None
                todo.append(url.path)
            return seen[url.path]

        todo: list[str] = []
        await get(httpx.URL("/docs/guide/"), "")
        while todo:
            page = todo.pop()
            for target in re.findall(r'(?:href|src)="([^"]+)"', seen[page] or ""):
                url = httpx.URL(page).join(html.unescape(target))
                if url.host or not url.path.startswith("/docs/guide/"):
                    continue
                text = await get(url, page)
                if url.fragment and f'id="{url.fragment}"' not in (text or ""):
                    wrong.append((page, target))
        assert (await api.client.get("/docs/guide/start/install")).headers["location"].endswith("/start/install/")
        assert (await api.client.get("/docs/guide/no/such/page/")).status_code == 404
        assert (await api.client.get("/docs/guide/%2e%2e/pyproject.toml")).status_code in {401, 404}
        found = (await api.client.get("/docs/guide/?q=wheelhouse constraints")).text
    assert wrong == []
    assert {f"/docs/guide/{page.relative_to(DOCS).with_suffix('')}/" for page in DOCS.glob("*/**/*.md")} <= set(seen)
    assert '<h1 id="install">Install</h1>' in (seen["/docs/guide/start/install/"] or "")
    assert 'id="pdf_encrypted"' in (seen["/docs/guide/reference/errors/"] or "")
    assert "<table><thead>" in (seen["/docs/guide/concepts/gallery/"] or "")
    assert "def words(files: list[Path])" in (seen["/docs/guide/guides/extending/"] or "")
    assert [page for page, text in seen.items() if text and ("--8&lt;--" in text or "<!-- site" in text)] == []
    assert 'href="start/install/#without-a-network"' in found


async def test_words_that_are_searched_for_are_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "SITE", tmp_path)
    async with running_api() as api:
        found = (await api.client.get('/docs/guide/?q="><script>')).text
    assert "<script>" not in found
    assert "0 sections have &quot;&gt;&lt;script&gt;" in found


async def test_a_search_that_finds_nearly_all_shows_the_first_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "SITE", tmp_path)
    async with running_api() as api:
        found = (await api.client.get("/docs/guide/?q=e e e e e")).text
    count = re.search(r"<h1>(\d+) sections", found)
    assert count is not None
    assert int(count[1]) > 200
    assert found.count("</a><br>") == 100


@pytest.mark.parametrize(
    ("root_path", "url", "base"),
    [
        ("", "", "/docs/guide/"),
        ("/inkgate", "", "/inkgate/docs/guide/"),
        ("/inkgate", "https://docs.example.com/inkgate", "https://docs.example.com/inkgate/"),
    ],
)
async def test_an_error_links_to_its_code_in_the_documentation(root_path: str, url: str, base: str) -> None:
    async with running_api(server={"root_path": root_path}, docs={"url": url}) as api:
        for path, code in (("/ocr", "file_missing"), ("/nowhere", "route_unknown")):
            answer = await api.client.post(path, json={})
            assert answer.json()["code"] == code
            assert answer.headers["link"] == f'<{base}reference/errors/#{code}>; rel="help"'
        assert "link" not in (await api.client.get("/livez")).headers


async def test_fields_have_the_descriptions_of_their_docstrings_or_of_their_metrics() -> None:
    async with running_api() as api:
        schemas = (await api.client.get("/openapi.json")).json()["components"]["schemas"]
    assert [name for name, schema in schemas.items() if "Attributes:" in schema.get("description", "")] == []
    assert schemas["State"]["properties"]["at"]["description"] == "When the state was read, in seconds since the epoch."
    assert schemas["ReplicaReading"]["properties"]["kv_tokens"]["description"] == "Capacity of its KV cache."
    taken_out = schemas["ReplicaReading"]["properties"]["taken_out"]["description"]
    assert taken_out == "Times that inkgate took the server out of service."


async def test_the_description_is_rendered_once_and_sent_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_api() as api:
        built: list[int] = []
        build = api.app.openapi

        def counted() -> dict[str, Any]:
            built.append(get_ident())
            return build()

        monkeypatch.setattr(api.app, "openapi", counted)
        calls = [RawCall(api.app, {}, [b""], "/openapi.json", method="GET") for _ in range(3)]
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(call.run)
        assert len(built) == 1
        assert built != [get_ident()], "in a thread, as it takes a second"
        for call in calls:
            assert json.loads(call.body)["paths"].keys() == build()["paths"].keys()
            assert max(len(message.get("body", b"")) for message in call.sent) <= 65536
