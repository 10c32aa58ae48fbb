"""A real vLLM stands still under load for some seconds, and goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from inkgate.engines.vllm.managed import guardian
from support.load import RETRYABLE
from support.real_vllm import SETTINGS, Rendered, VllmProcess, rendered_lines, share_right
from support.server import Server, running_server

pytestmark = [pytest.mark.real, pytest.mark.timing]

LINES = rendered_lines(48, seed=11)
APART_S = 0.1
STILL_S = 3.0
ENOUGH = 0.98


@pytest.fixture
def gateway(vllm: VllmProcess) -> Iterator[Server]:
    with running_server("--vllm-url", vllm.url, environment=SETTINGS) as server:
        yield server


def read_all(server: Server, lines: list[Rendered], fault: tuple[VllmProcess, int] | None = None) -> list[str | None]:
    """Sends the pages one after the other, APART_S apart, whatever becomes of those before; before one of them the
    server behind is stopped for STILL_S. What was read of each; None where it is to come again.
    """
    with (
        httpx.Client(base_url=server.url, timeout=120, trust_env=False) as client,
        ThreadPoolExecutor(len(lines) + 1) as clients,
    ):
        asked = []
        for number, line in enumerate(lines):
            if fault is not None and fault[1] == number:
                clients.submit(stand_still, fault[0])
            asked.append(clients.submit(client.post, "/ocr", files={"file": line.png}))
            time.sleep(APART_S)
        return [text_in(answer.result()) for answer in asked]


def stand_still(vllm: VllmProcess) -> None:
    everything = [vllm.pid, *guardian.descendants(vllm.pid)]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STILL_S)
    for pid in everything:
        os.kill(pid, signal.SIGCONT)


def text_in(answer: httpx.Response) -> str | None:
    if answer.status_code == 200:
        return str(answer.json()["text"]).strip()
    assert answer.status_code in RETRYABLE, answer.text
    assert int(answer.headers["retry-after"]) >= 1
    return None


def test_a_real_vllm_that_stands_still_for_a_while(gateway: Server, vllm: VllmProcess) -> None:
    texts = read_all(gateway, LINES, (vllm, len(LINES) // 3))
    read = [(line.text, text) for line, text in zip(LINES, texts, strict=True) if text is not None]
    assert len(read) >= len(LINES) / 2, texts
    assert share_right([truth for truth, _ in read], [text for _, text in read]) >= ENOUGH

    fresh = rendered_lines(16, seed=12)
    after = read_all(gateway, fresh)
    assert None not in after
    assert share_right([line.text for line in fresh], [text or "" for text in after]) >= ENOUGH
    assert httpx.get(f"{gateway.url}/readyz", trust_env=False, timeout=30).status_code == 200
