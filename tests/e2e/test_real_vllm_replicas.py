"""A gateway that runs two real vLLMs, one of which is killed under load: no page is lost."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from inkgate.model_servers.managed import guardian
from support.real_vllm import (
    MODEL,
    NAME,
    PYTHON,
    ROOT,
    VARIABLES,
    RenderedLine,
    rendered_lines,
    require_vllm,
    share_right,
)
from support.server import Server, running_server
from support.waiting import until

# Two start at once, which takes minutes on two cores.
pytestmark = [pytest.mark.real, pytest.mark.endurance]

PAGES = 120
CLIENTS = 12
START_S = 900.0
CONFIG = f"""
[engine]
name = "vllm"

[engine.vllm]
preset = "{NAME}"
preset_folder = "{ROOT / "tests" / "models" / "presets"}"
jpeg_quality = 0
fallback = false
listen_after_s = {START_S}

[engine.vllm.managed]
python = "{PYTHON}"
model = "{MODEL}"
replicas = 2
restart_pause_s = 0.1
environment = {{ {", ".join(f'{name} = "{value}"' for name, value in VARIABLES.items())} }}
"""


def processes(server: Server, port: int) -> set[int]:
    """Of the vLLM that listens on this port: its first process, and its engine below that."""
    found = guardian.descendants(server.process.pid)
    first = {pid for pid in found if f"--port\0{port}".encode() in _command(pid) and b"guardian" not in _command(pid)}
    return first | {pid for each in first for pid in guardian.descendants(each)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def test_one_of_two_is_killed_under_load_and_no_page_is_lost(tmp_path: Path) -> None:
    require_vllm()
    config = tmp_path / "inkgate.toml"
    config.write_text(CONFIG, encoding="utf-8")
    lines = rendered_lines(PAGES, seed=11)
    with (
        running_server("--config", str(config), start_s=START_S) as server,
        httpx.Client(base_url=server.url, timeout=START_S, trust_env=False) as client,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):

        def replicas() -> dict[str, dict[str, object]]:
            return {each["name"]: each for each in client.get("/state").json()["replicas"]}

        def up() -> int:
            return sum(each["state"] == "up" for each in replicas().values())

        def read(line: RenderedLine) -> httpx.Response:
            return client.post("/ocr", files={"file": line.png})

        until(lambda: up() == 2, server.log_text, at_most_s=START_S)
        asked = [clients.submit(read, line) for line in lines]
        until(lambda: sum(done.done() for done in asked) >= CLIENTS, server.log_text, at_most_s=START_S)
        lost = next(iter(replicas()))
        for pid in processes(server, int(lost.rpartition(":")[2].partition("/")[0])):
            os.kill(pid, signal.SIGKILL)
        answers = [answer.result() for answer in asked]
        served = {name: each["generation_tokens"] for name, each in replicas().items()}
        until(lambda: up() == 2, server.log_text, at_most_s=START_S)
        log = server.log_text()
    assert [answer.status_code for answer in answers] == [200] * PAGES
    assert share_right([line.text for line in lines], [answer.json()["text"].strip() for answer in answers]) >= 0.95
    assert all(tokens for name, tokens in served.items() if name != lost)
    assert "model_server_died" in log
