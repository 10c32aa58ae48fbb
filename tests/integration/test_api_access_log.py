"""The log entry of a request, and what it must not contain."""

import hashlib
import json

import pytest

from support.api_client import RawCall, b64, png, running_api

pytestmark = pytest.mark.anyio


async def test_each_request_is_one_line_with_its_id() -> None:
    async with running_api() as api:
        await api.client.post("/ocr", files={"file": png()}, headers={"x-request-id": "mine"})
    [entry] = [entry for entry in api.logs if entry["event"] == "request"]
    assert (entry["method"], entry["path"], entry["status"], entry["request_id"]) == ("POST", "/ocr", 200, "mine")
    assert (entry["client"], entry["caller"]) == ("203.0.113.9", "address:203.0.113.9")
    assert entry["duration_ms"] >= 0
    assert entry["bytes"] > 0
    assert entry["received_bytes"] > len(png())


async def test_errors_are_logged_by_their_code() -> None:
    async with running_api() as api:
        await api.client.post("/ocr", json={"image": ""})
        await api.client.post("/ocr", json={"file": "###"})
    assert [entry["code"] for entry in api.logs if entry["event"] == "request"] == ["document_empty", "base64_invalid"]


async def test_probes_are_routine() -> None:
    async with running_api() as api:
        await api.client.get("/livez")
    assert [entry["log_level"] for entry in api.logs if entry["event"] == "request"] == ["debug"]


async def test_a_client_that_left_is_499() -> None:
    async with running_api() as api:
        call = RawCall(api.app, {"content-type": "application/json"}, [], ends=False)
        call.left.set()
        await call.run()
    assert [entry["status"] for entry in api.logs if entry["event"] == "request"] == [499]


async def test_neither_documents_nor_keys_are_logged() -> None:
    key = "sk-very-secret"
    async with running_api(auth={"key_hashes": [hashlib.sha256(key.encode()).hexdigest()]}) as api:
        object.__setattr__(api.context.service.gateway, "reader", None)
        answer = await api.client.post("/ocr", json={"image": b64(png())}, headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 500
    told = json.dumps(api.logs, default=str)
    assert any(entry["event"] == "request_failed" for entry in api.logs)
    assert key not in told
    assert b64(png())[:40] not in told


async def test_redis_that_is_gone_is_logged_once() -> None:
    settings: dict[str, object] = {"per_key": "1/minute", "storage_url": "redis://127.0.0.1:1"}
    async with running_api(rate_limit=settings) as api:
        for _ in range(3):
            await api.client.get("/v1/models")
    assert [entry["event"] for entry in api.logs if "rate_limit" in entry["event"]] == [
        "rate_limit_storage_unreachable"
    ]
