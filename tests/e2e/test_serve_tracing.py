"""The service with a collector that takes traces and never answers."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx

from support.server import inkgate, running_server

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"


def test_a_collector_that_hangs_stops_neither_requests_nor_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as collector:
        environment = {"INKGATE_TRACING__ENDPOINT": f"http://127.0.0.1:{collector.getsockname()[1]}"}
        with running_server(environment=environment) as server:
            for _ in range(2):
                answer = httpx.post(
                    f"{server.url}/ocr", files={"file": SAMPLE.read_bytes()}, timeout=60, trust_env=False
                )
                assert answer.status_code == 200
            collector.settimeout(30)
            connection, _ = collector.accept()
            with connection:
                connection.settimeout(30)
                assert connection.recv(4096).startswith(b"POST /v1/traces HTTP/1.1\r\n")
                assert httpx.get(f"{server.url}/readyz", timeout=30, trust_env=False).status_code == 200
                assert server.stop() == 0
            assert "Traceback" not in server.log_text()


def test_a_wrong_endpoint_is_told_at_the_start() -> None:
    ended = inkgate("serve", environment={"INKGATE_TRACING__ENDPOINT": "collector:4318"})
    assert ended.returncode == 2
    assert b"tracing.endpoint" in ended.stderr
