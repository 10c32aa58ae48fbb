"""What a model server says of itself, over HTTP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from inkgate.errors import EngineFailed
from inkgate.model_servers.server import ModelServer
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

RECORDED = (Path(__file__).parents[1] / "data" / "vllm-0.32-metrics.txt").read_bytes()


@pytest.mark.parametrize(
    ("metrics", "tokens"),
    [
        (RECORDED, 5.0),
        (b"", None),
        (b"<html>", None),
        (b"\xff\xfe" + RECORDED[:1000], None),
        (RECORDED + b"\n\xff\xfe\n", 5.0),
        (RECORDED + b"#" * (8 << 20), None),
    ],
)
async def test_readings_are_those_of_the_metrics_or_none(metrics: bytes, tokens: float | None) -> None:
    with running_stub(Reply(["fine"])) as stub:
        stub.metrics = metrics
        server = ModelServer(stub.url, 2)
        try:
            reading = await server.readings()
            assert (None if reading is None else reading.generation_tokens) == tokens
        finally:
            await server.close()


async def test_a_server_that_is_gone_says_nothing() -> None:
    with running_stub(Reply(["fine"])) as stub:
        server = ModelServer(stub.url, 2)
    assert await server.readings() is None
    await server.close()
    assert await server.readings() is None


@pytest.mark.parametrize(
    ("url", "cause"), [("http://127.0.0.1:1/v1", "refused|failed"), ("http://no-such-host.invalid/v1", ".")]
)
async def test_why_a_server_can_not_be_connected_to_is_logged_once(url: str, cause: str) -> None:
    server = ModelServer(url, 2)
    try:
        with capture_logs() as logs:
            for _ in range(3):
                with pytest.raises(EngineFailed, match="upstream_unreachable"):
                    await server.models()
    finally:
        await server.close()
    (line,) = [each for each in logs if each["event"] == "model_server_unreachable"]
    assert re.search(cause, line["cause"]), line
