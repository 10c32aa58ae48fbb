"""Who is let in."""

import hashlib
from itertools import product

import pytest

from support.api_client import png, running_api

pytestmark = pytest.mark.anyio

KEYS = ("first-key", "zweiter-schlüssel")
AUTH: dict[str, object] = {"key_hashes": [hashlib.sha256(key.encode()).hexdigest().upper() for key in KEYS]}


LET_IN = [
    {"authorization": "Bearer first-key"},
    {"authorization": "bearer  first-key "},
    {"authorization": "token first-key"},
    {"x-api-key": "first-key"},
    {"x-api-key": "first-key", "authorization": "Basic dTpw"},
]
KEPT_OUT: list[dict[str, str]] = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer "},
    {"authorization": "Bearer first-ke"},
    {"authorization": "Bearer first-key2"},
    {"authorization": "Basic Zmlyc3Qta2V5"},
    {"authorization": "first-key"},
    {"x-api-key": ""},
    {"x-api-key": hashlib.sha256(b"first-key").hexdigest()},
]


@pytest.mark.smoke
async def test_a_valid_key_is_let_in() -> None:
    async with running_api(auth=AUTH) as api:
        for headers in LET_IN:
            answer = await api.client.post("/ocr", files={"file": png()}, headers=headers)
            assert answer.status_code == 200, headers


@pytest.mark.smoke
async def test_anything_else_is_kept_out_and_its_body_unread() -> None:
    wrong = []
    async with running_api(auth=AUTH) as api:
        for path, headers in product(("/ocr", "/v1/ocr", "/v1/files", "/nothing"), KEPT_OUT):
            answer = await api.client.post(path, files={"file": png()}, headers=headers)
            told = (answer.status_code, answer.json()["code"])
            asked = (answer.headers.get("www-authenticate"), answer.headers.get("connection"))
            if (told, asked) != ((401, "unauthenticated"), ("Bearer", "close")):
                wrong.append((path, headers, answer.text))
    assert wrong == []
    assert api.limiter.ended == {}


async def test_clients_of_openai_read_which_header_to_send_on_all_paths_below_v1() -> None:
    async with running_api(auth=AUTH) as api:
        for path in ("/v1/models", "/v1/models/x", "/v1/files", "/v1/chat/completions", "/v1/embeddings"):
            error = (await api.client.get(path)).json()["error"]
            assert (error["code"], error["type"]) == ("invalid_api_key", "invalid_request_error"), path
            assert "Send `Authorization: Bearer <key>`" in error["message"], path


async def test_what_holds_no_document_needs_no_key() -> None:
    async with running_api(auth=AUTH) as api:
        for path in ("/", "/health", "/livez", "/readyz", "/docs", "/openapi.json"):
            assert (await api.client.get(path)).status_code == 200, path


async def test_without_keys_everybody_is_let_in() -> None:
    async with running_api() as api:
        assert (await api.client.post("/ocr", files={"file": png()})).status_code == 200


async def test_the_rate_is_counted_by_key() -> None:
    async with running_api(
        auth={"key_hashes": [hashlib.sha256(k).hexdigest() for k in (b"a", b"b")]}, rate_limit={"per_key": "1/hour"}
    ) as api:
        statuses = [
            (await api.client.get("/v1/models", headers={"x-api-key": key})).status_code for key in ("a", "a", "b", "b")
        ]
    assert statuses == [200, 429, 200, 429]


async def test_other_origins_are_refused_until_they_are_named() -> None:
    preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
    async with running_api() as api:
        closed = await api.client.options("/ocr", headers=preflight)
    async with running_api(server={"cors_origins": ["https://app.example"]}, auth=AUTH) as api:
        opened = await api.client.options("/ocr", headers=preflight)
        refused = await api.client.post("/ocr", headers={"origin": "https://app.example"})
        other = await api.client.options("/ocr", headers={**preflight, "origin": "https://evil.example"})
    assert "access-control-allow-origin" not in closed.headers
    assert opened.headers["access-control-allow-origin"] == "https://app.example"
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.headers


async def test_pages_that_may_call_send_the_documented_headers_and_see_the_documented_ones() -> None:
    asked = "authorization, x-api-key, content-type, cache-control, x-request-id, x-inkgate-timeout, x-inkgate-priority"
    asked += ", if-match, idempotency-key, ocp-apim-subscription-key"
    of_client = "x-stainless-os, X-Stainless-Retry-Count, x-ms-useragent"
    preflight = {"origin": "https://app.example", "access-control-request-method": "PATCH"}
    async with running_api(server={"cors_origins": ["https://app.example"]}) as api:
        for names in (asked, f"{asked},{of_client}", of_client):
            answer = await api.client.options("/ocr", headers=preflight | {"access-control-request-headers": names})
            allowed = {name.strip() for name in answer.headers["access-control-allow-headers"].lower().split(",")}
            assert answer.status_code == 200, names
            assert {name.strip().lower() for name in names.split(",")} <= allowed
        for names in ("x-other", f"x-other, {of_client}", "x-stainless-<b>"):
            refused = await api.client.options("/ocr", headers=preflight | {"access-control-request-headers": names})
            assert refused.status_code == 400, names
            assert not {"x-other", "x-stainless-<b>"} & set(refused.headers["access-control-allow-headers"].split(", "))
        read = await api.client.post("/ocr", files={"file": png()}, headers={"origin": "https://app.example"})
    exposed = {name.strip() for name in read.headers["access-control-expose-headers"].split(",")}
    assert exposed >= {
        "X-Request-ID",
        "X-Inkgate-Status",
        "X-Inkgate-Pages",
        "X-Inkgate-Page-Count",
        "Retry-After",
        "ETag",
    }
