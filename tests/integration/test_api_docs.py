"""The page at /docs works on a machine that reaches nothing but this service."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from threading import get_ident
from typing import Any

import anyio
import pytest

from inkgate.api import website as guide
from support.api_client import RawCall, running_api

pytestmark = pytest.mark.anyio

KEY_HASH = hashlib.sha256(b"secret").hexdigest()


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
async def test_every_file_of_the_page_comes_from_here_and_needs_no_key(page: str) -> None:
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        html = (await api.client.get(page)).text
        files = re.findall(r'(?:src|href)="([^"]+)"', html)
        assert any(file.endswith(".js") for file in files)
        assert not re.search(r"https?://", html)
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


async def test_without_a_built_site_a_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "SITE", tmp_path)
    async with running_api() as api:
        for path in ("/docs/guide", "/docs/guide/", "/docs/guide/reference/errors/"):
            page = await api.client.get(path)
            assert page.status_code == 404
            assert "make site" in page.text
            assert (await api.client.head(path)).status_code == 404


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
