"""A gateway that runs a real vLLM as shipped, which is killed under load; then the gateway is killed, too."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from lines import LONGEST

from inkgate.model_servers.managed import guardian
from support.collector import running_collector
from support.managed import alive
from support.real_vllm import MODEL, PYTHON, VARIABLES, RenderedLine, rendered_lines, require_vllm, share_right
from support.server import Server, running_server

pytestmark = pytest.mark.real

PAGES = 32
BACK_S = 300.0
CONFIG = f"""
[engine]
name = "paddleocr-vl"

[engine.vllm]
listen_after_s = 900

[engine.vllm.managed]
python = "{PYTHON}"
model = "{MODEL}"
restart_pause_s = 0.1
environment = {{ {", ".join(f'{name} = "{value}"' for name, value in VARIABLES.items())} }}
"""


def vllm_of(server: Server) -> set[int]:
    """Every process that belongs to its vLLM, but for those that only clean up."""
    found = {pid for pid in guardian.descendants(server.process.pid) if b"guardian" not in _command(pid)}
    return {pid for pid in found if b"vllm" in _command(pid).lower()}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def until(happened: Callable[[], bool], within_s: float = BACK_S) -> None:
    deadline = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_no_page_is_lost_when_vllm_is_killed_and_no_vllm_is_left_when_we_are(tmp_path: Path) -> None:
    require_vllm()
    config = tmp_path / "inkgate.toml"
    config.write_text(CONFIG, encoding="utf-8")
    lines = rendered_lines(PAGES, seed=7, shortest=LONGEST)
    with (
        running_collector() as collector,
        running_server(
            "--config",
            str(config),
            environment={"INKGATE_TRACING__ENDPOINT": collector.url},
            start_s=BACK_S,
        ) as server,
        httpx.Client(base_url=server.url, timeout=BACK_S, trust_env=False) as client,
        ThreadPoolExecutor(PAGES) as clients,
    ):

        def read(line: RenderedLine) -> httpx.Response:
            return client.post("/ocr", files={"file": line.png})

        assert read(lines[0]).status_code == 200
        assert b"--trust-request-mm-kwargs" in b"".join(map(_command, vllm_of(server)))
        assert b"model_server_refuses_mm_kwargs" not in server.log.read_bytes()
        # vLLM's own part of the trace comes to the same collector, and hangs below ours.
        until(lambda: bool(collector.traces("inkgate-vllm") & collector.traces("inkgate")), 30)
        first = vllm_of(server)
        assert len(first) >= 2, "vLLM runs its engine in a process of its own"
        for pid in first:  # so that none is answered before the end
            os.kill(pid, signal.SIGSTOP)
        asked = [clients.submit(read, line) for line in lines]
        time.sleep(2)  # all are on their way by then; one that comes later is answered all the same
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        answers = [answer.result() for answer in asked]
        assert [answer.status_code for answer in answers] == [200] * PAGES
        assert share_right([line.text for line in lines], [answer.json()["text"].strip() for answer in answers]) >= 0.98
        assert client.get("/readyz").status_code == 200
        assert not any(alive(pid) for pid in first)

        second = vllm_of(server)
        assert len(second) >= 2
        server.process.kill()
        until(lambda: not any(alive(pid) for pid in second))
