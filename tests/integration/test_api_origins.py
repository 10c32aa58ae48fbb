"""A service without keys is for programs and its own page: other web pages can't use it, by no name."""

from __future__ import annotations

import hashlib

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from support.api_client import RawCall, png, running_api

pytestmark = pytest.mark.anyio

AUTH: dict[str, object] = {"key_hashes": [hashlib.sha256(b"key").hexdigest()]}
NAVIGATION = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
EVIL = "http://evil.example"
Head = dict[str, str]


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("the page")(scope, receive, send)


HOSTS = [
    ("localhost", 200),
    ("LocalHost:7860", 200),
    ("localhost.", 200),
    ("app.localhost:7860", 200),
    ("127.0.0.1:7860", 200),
    ("127.0.0.2", 200),
    ("[::1]:7860", 200),
    ("[::1]", 200),
    ("192.168.1.5:7860", 200),
    ("ocr.example:80", 200),
    ("OCR.example.", 200),
    ("evil.example", 403),
    ("evil.example:7860", 403),
    ("localhost.evil.example", 403),
    ("notlocalhost", 403),
    ("127.0.0.1.evil.example", 403),
    ("evil.example@localhost@evil.example", 403),
    ("2130706433", 403),
    ("[::1", 403),
    ("", 403),
]


async def test_only_names_that_are_the_service_s_own_are_answered() -> None:
    wrong = []
    async with running_api(page=page, server={"allowed_hosts": ["ocr.example"]}) as api:
        for host, status in HOSTS:
            for path in ("/v1/models", "/state", "/ui/"):
                answer = await api.client.get(path, headers={"host": host})
                told = status == 200 or (
                    answer.json()["code"] == "host_forbidden" and "server.allowed_hosts" in answer.json()["remedy"]
                )
                if answer.status_code != status or not told:
                    wrong.append((host, path, answer.status_code, answer.text[:200]))
    assert not wrong


async def test_the_name_that_is_listened_on_is_its_own_and_a_star_is_any() -> None:
    async with running_api(server={"host": "scanner.lan"}) as api:
        assert (await api.client.get("/v1/models", headers={"host": "scanner.lan:7860"})).status_code == 200
    async with running_api(server={"allowed_hosts": ["*"]}) as api:
        assert (await api.client.get("/v1/models", headers={"host": "evil.example"})).status_code == 200


async def test_without_a_host_it_was_no_browser() -> None:
    async with running_api() as api:
        call = RawCall(api.app, {"content-type": "application/json"}, [b"{}"])
        call.left.set()
        await call.run()
    assert call.status == 400


async def test_probes_are_answered_by_any_name_and_with_keys_everything_is() -> None:
    async with running_api() as api:
        for probe in ("/livez", "/readyz", "/health"):
            assert (await api.client.get(probe, headers={"host": "10-1-2-3.pod", "origin": EVIL})).status_code == 200
    async with running_api(auth=AUTH) as api:
        head = {"host": "evil.example", "origin": EVIL, "sec-fetch-site": "cross-site", "x-api-key": "key"}
        assert (await api.client.get("/v1/models", headers=head)).status_code == 200


OWN = "http://inkgate.localhost"


HEADS: list[tuple[Head, int]] = [
    ({}, 200),
    ({"sec-fetch-site": "same-origin", "origin": OWN}, 200),
    ({"sec-fetch-site": "none"}, 200),
    ({"origin": OWN}, 200),
    ({"origin": f"{OWN}:80"}, 200),
    ({"origin": "https://inkgate.localhost"}, 200),
    ({"origin": "https://ocr.example"}, 200),
    ({"origin": "https://app.example", "sec-fetch-site": "cross-site"}, 200),
    ({"origin": EVIL, "sec-fetch-site": "cross-site"}, 403),
    ({"origin": EVIL}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "null", "sec-fetch-site": "cross-site"}, 403),
    ({"origin": f"{OWN}:3000"}, 403),
    ({"origin": f"{OWN}:3000", "sec-fetch-site": "same-site"}, 403),
    ({"origin": "http://127.0.0.1:3000"}, 403),
    ({"origin": f"{OWN}.evil.example"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    (NAVIGATION, 403),
    ({**NAVIGATION, "origin": EVIL}, 403),
]


async def test_only_pages_that_are_its_own_or_that_cors_allows_send_documents() -> None:
    server: dict[str, object] = {"cors_origins": ["https://app.example"], "allowed_hosts": ["ocr.example"]}
    wrong = []
    async with running_api(server=server) as api:
        for head, status in HEADS:
            for path in ("/ocr", "/v1/files"):
                answer = await api.client.post(path, files={"file": ("a.png", png())}, headers=head)
                told = status == 200 or (
                    answer.json()["code"] == "origin_forbidden" and "server.cors_origins" in answer.json()["remedy"]
                )
                if answer.status_code != status or not told:
                    wrong.append((head, path, answer.status_code, answer.text[:200]))
    assert not wrong
    assert len(api.engine.tasks) == sum(status == 200 for _, status in HEADS)


async def test_a_link_of_another_site_leads_to_the_page_and_a_frame_does_not() -> None:
    async with running_api(page=page) as api:
        for path in ("/", "/docs", "/ui/"):
            assert (await api.client.get(path, headers=NAVIGATION)).status_code == 200
            framed = await api.client.get(path, headers={**NAVIGATION, "sec-fetch-dest": "iframe"})
            assert framed.status_code == 403
        sent = await api.client.post("/ui/api/convert?format=text", json={}, headers={"origin": EVIL})
        assert (sent.status_code, sent.json()["code"]) == (403, "origin_forbidden")


async def test_a_refused_document_is_not_read() -> None:
    async with running_api() as api:
        headers = {"host": "localhost", "origin": EVIL, "content-type": "application/json", "content-length": "9"}
        call = RawCall(api.app, headers, [b'{"image":'], ends=False)
        call.left.set()
        await call.run()
    assert (call.status, call.sent[0]["type"]) == (403, "http.response.start")
    assert api.limiter.ended == {}
