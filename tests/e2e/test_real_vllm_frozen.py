"""A real vLLM is frozen under load, and continues."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from inkgate.model_servers.managed import guardian
from support.real_vllm import SETTINGS, RenderedLine, VllmProcess, rendered_lines, share_right
from support.server import Server, running_server
from support.waiting import until

pytestmark = pytest.mark.real

AT_ONCE = 12
ENOUGH = 0.98
ANSWER_S = 120.0


@pytest.fixture
def gateway(vllm: VllmProcess) -> Iterator[Server]:
    with running_server("--vllm-url", vllm.url, environment=SETTINGS) as server:
        yield server


def read(server: Server, line: RenderedLine) -> str:
    answer = httpx.post(f"{server.url}/ocr", files={"file": line.png}, timeout=ANSWER_S, trust_env=False)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["text"]).strip()


def check(lines: Sequence[RenderedLine], texts: Sequence[str]) -> None:
    assert share_right([line.text for line in lines], texts) >= ENOUGH


def send(vllm: VllmProcess, number: signal.Signals) -> None:
    for pid in [vllm.pid, *guardian.descendants(vllm.pid)]:
        os.kill(pid, number)


def calls(server: Server) -> int:
    """That are at vLLM."""
    state = httpx.get(f"{server.url}/state?history=false", timeout=ANSWER_S, trust_env=False).json()
    return int(state["replicas"][0]["in_flight"])


def test_a_real_vllm_that_stands_still_for_a_while(gateway: Server, vllm: VllmProcess) -> None:
    before, during, after = (rendered_lines(count, seed) for seed, count in enumerate((16, 32, 16), start=11))
    with ThreadPoolExecutor(AT_ONCE) as clients:
        check(before, list(clients.map(read, [gateway] * len(before), before)))

        send(vllm, signal.SIGSTOP)
        try:
            answers = clients.map(read, [gateway] * len(during), during)
            until(lambda: calls(gateway) >= AT_ONCE // 2, lambda: f"{calls(gateway)} calls at vLLM")
        finally:
            send(vllm, signal.SIGCONT)
        check(during, list(answers))

        check(after, list(clients.map(read, [gateway] * len(after), after)))
    assert httpx.get(f"{gateway.url}/readyz", trust_env=False, timeout=ANSWER_S).status_code == 200
