"""Every line of the log of whole requests, at the debug level, as machines read it."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog
from PIL import Image

from inkgate.api.app import create_app
from inkgate.bootstrap import running
from inkgate.settings import load_settings
from inkgate.telemetry.logs import configure_logs
from support.api_client import b64
from support.chat_requests import chat
from support.ppocr import drawn
from support.stub_upstream import Reply, StubUpstream, error_reply, running_stub

pytestmark = pytest.mark.anyio

KEY, UPSTREAM_KEY, COLLECTOR_KEY = "sk-very-secret", "sk-of-the-model-server", "sk-of-the-collector"
TRACE = "0af7651916cd43dd8448eb211c80319c"
WORDS = "Sherlock Holmes"
"""What is on the page, what the model says of it, and what a chat request asks."""
FILE = "letter-to-moriarty.png"
HEADERS = {
    "authorization": f"Bearer {KEY}",
    "x-request-id": "mine",
    "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
}


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def page() -> bytes:
    file = io.BytesIO()
    Image.fromarray(drawn([WORDS])).save(file, "PNG")
    return file.getvalue()


async def ask(client: httpx.AsyncClient) -> list[int]:
    """Asks for all kinds of things, some of which fail; the statuses of the answers."""
    file = {"file": (FILE, page(), "image/png")}
    broken = {"file": (FILE, page()[:200] + WORDS.encode(), "image/png")}
    answers = [
        await client.post("/ocr", files=file),
        await client.post("/ocr", files=broken),
        await client.post("/ocr", json={"image": b64(page())}),
        await client.post("/ocr", json={"file": f"###{WORDS}"}),
        await client.post("/v1/files", files={"file": (FILE, page(), "image/png"), "purpose": (None, "ocr")}),
        await client.post("/v1/chat/completions", json=chat(messages=[{"role": "user", "content": WORDS}])),
        await client.post("/ocr", files=file, headers={"authorization": "Bearer sk-another-key"}),
    ]
    return [answer.status_code for answer in answers]


async def logged(stub: StubUpstream, *, breaks: bool = False) -> tuple[list[dict[str, Any]], list[int]]:
    """The lines of the requests' log, and the statuses. `breaks`: as a fault of our own."""
    out = io.StringIO()
    settings = load_settings(
        None,
        auth={"key_hashes": [hashlib.sha256(KEY.encode()).hexdigest()]},
        engine={
            "name": "paddleocr-vl",
            "vllm": {
                "urls": [stub.url],
                "model": "stub-model",
                "api_key": UPSTREAM_KEY,
                "fallback": False,
                "reading": "page",
                "recover_s": 0.05,
            },
        },
        tracing={"headers": {"authorization": COLLECTOR_KEY}},
        cache={"enabled": False},
        log={"format": "json", "level": "debug"},
    )
    configure_logs(settings.log, out)
    async with running(settings) as service:
        app = create_app(service, settings)
        if breaks:
            object.__setattr__(app.state.context.service.gateway, "reader", None)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://inkgate.localhost", headers=HEADERS
        ) as client:
            before = len(out.getvalue())
            statuses = await ask(client)
            told = out.getvalue()[before:]
    for secret in (KEY, UPSTREAM_KEY, COLLECTOR_KEY, "sk-another-key", WORDS, FILE, b64(page())[:40], "moriarty"):
        assert secret not in out.getvalue()
    return [json.loads(line) for line in told.splitlines()], statuses


async def test_lines_of_requests_have_their_ids_and_no_secrets() -> None:
    with running_stub(Reply([WORDS])) as stub:
        lines, statuses = await logged(stub)
    assert statuses[0] == 200
    assert statuses[-1] == 401
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == statuses
    assert {(line["request_id"], line["trace_id"]) for line in requests} == {("mine", TRACE)}


async def test_lines_of_failures_have_their_ids_and_no_secrets() -> None:
    with running_stub(error_reply(500, WORDS)) as stub:
        lines, statuses = await logged(stub)
    assert statuses[0] >= 500
    assert "model_server_refused" in {line["event"] for line in lines}
    failed = [line for line in lines if line.get("status", 0) >= 500 and line["event"] == "request"]
    assert {(line["request_id"], line["trace_id"]) for line in failed} == {("mine", TRACE)}


async def test_lines_of_our_own_faults_have_their_ids_and_no_secrets() -> None:
    with running_stub(Reply([WORDS])) as stub:
        lines, statuses = await logged(stub, breaks=True)
    assert statuses[0] == 500
    faults = [line for line in lines if line["event"] == "request_failed"]
    assert faults
    assert {(line["request_id"], line["trace_id"]) for line in faults} == {("mine", TRACE)}
    assert "Traceback" in faults[0]["exception"]
