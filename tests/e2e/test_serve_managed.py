"""`inkgate serve` and `inkgate read` with a vLLM that they start themselves, and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from PIL import Image

from support.images import encoded
from support.managed import WAIT_S, FakeVllm
from support.ppocr import drawn
from support.server import SERVE, clean_environment, inkgate, running_server
from support.waiting import until

IMAGE = encoded(Image.fromarray(drawn(["Invoice number 20417"])), "PNG")
ENGINE = ("--engine", "paddleocr-vl")
MANAGED = "INKGATE_ENGINE__VLLM__MANAGED__"


@pytest.fixture
def fake(tmp_path: Path) -> FakeVllm:
    return FakeVllm(tmp_path)


def settings(fake: FakeVllm, **orders: object) -> dict[str, str]:
    """Variables that make the fake the vLLM that is started. The orders go the way of everybody's environment."""
    return {
        MANAGED + "PYTHON": str(fake.python),
        MANAGED + "STOP_S": "2",
        MANAGED + "RESTART_PAUSE_S": "0.01",
        "INKGATE_ENGINE__VLLM__LISTEN_AFTER_S": "300",
        **fake.told(**orders),
    }


def wait_until_gone(fake: FakeVllm) -> None:
    until(lambda: not fake.alive(), lambda: f"still there: {fake.alive()}")


@pytest.mark.parametrize("stubborn", [False, True])
def test_nothing_is_left_of_vllm_when_the_gateway_is_killed(fake: FakeVllm, stubborn: bool) -> None:
    with running_server(*ENGINE, environment=settings(fake, stubborn=stubborn)) as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            answer = client.post("/ocr", files={"file": IMAGE})
        running = fake.alive()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(WAIT_S)
        wait_until_gone(fake)
    assert (answer.status_code, answer.json()["text"]) == (200, "Invoice number 20417\n")
    assert answer.json()["engine"] == "paddleocr-vl-1.6"
    assert len(running) == 2


def test_a_gateway_that_is_killed_while_vllm_loads_leaves_nothing(fake: FakeVllm) -> None:
    with pytest.raises(AssertionError, match="did not start"), running_server(*ENGINE, environment=_loading(fake)):
        pass
    assert len(fake.pids()) == 2
    wait_until_gone(fake)


def _loading(fake: FakeVllm) -> dict[str, str]:
    """The gateway is killed by the vLLM that it starts."""
    return settings(fake, silent=True, kills_gateway=True)


def test_ctrl_c_while_vllm_loads_ends_both(fake: FakeVllm, tmp_path: Path) -> None:
    log = tmp_path / "log"
    variables = clean_environment(**settings(fake, silent=True))
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, *SERVE, *ENGINE], stdout=out, stderr=out, env=variables) as process,
    ):
        until(lambda: len(fake.alive()) == 2, "two processes of vLLM")
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(WAIT_S)
        finally:
            process.kill()
        left = fake.alive()
    assert (status, left) == (130, set())
    assert "Traceback" not in log.read_text(encoding="utf-8")


def test_a_killed_vllm_is_started_again_and_stops_with_the_gateway(fake: FakeVllm) -> None:
    with (
        running_server(*ENGINE, environment=settings(fake)) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        (first,) = fake.alive() & fake.pids("main")
        os.kill(first, signal.SIGKILL)
        until(lambda: len(fake.starts()) == 2, server.log_text)
        answer = client.post("/ocr", files={"file": IMAGE})
        running = fake.alive()
        status = server.stop()
        left = fake.alive()
    assert (answer.status_code, answer.json()["text"]) == (200, "Invoice number 20417\n")
    assert (status, len(running), left) == (0, 2, set())


def test_the_command_reads_with_a_vllm_of_its_own(fake: FakeVllm) -> None:
    done = inkgate("read", "-", *ENGINE, data=IMAGE, environment=settings(fake))
    assert (done.returncode, done.stdout.decode()) == (0, "Invoice number 20417\n")
    assert "model_server_log" not in done.stderr.decode()
    assert len(fake.pids()) == 2
    assert fake.alive() == set()


def test_a_vllm_that_does_not_start_is_told_with_its_own_words(fake: FakeVllm) -> None:
    complaint = "api_server.py: error: unrecognized arguments: --nonsense"
    done = inkgate(*SERVE[2:], *ENGINE, environment=settings(fake, complaint=complaint))
    said = done.stderr.decode()
    assert done.returncode == 1
    assert "vLLM does not start: crash (status 2)" in said
    assert f"  {complaint}" in said.splitlines()


def test_replicas_share_the_pages_and_one_that_is_killed_costs_none(fake: FakeVllm) -> None:
    with (
        running_server(*ENGINE, environment=settings(fake) | {MANAGED + "REPLICAS": "2"}) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):

        def up() -> int:
            return sum(replica["state"] == "up" for replica in client.get("/state").json()["replicas"])

        until(lambda: up() == 2, server.log_text)
        devices = {start["environment"]["CUDA_VISIBLE_DEVICES"] for start in fake.starts()}
        os.kill(min(fake.alive() & fake.pids("main")), signal.SIGKILL)
        answers = [client.post("/ocr?format=json", files={"file": IMAGE + bytes([n])}) for n in range(8)]
        until(lambda: len(fake.starts()) == 3 and up() == 2, server.log_text)
        status = server.stop()
        left = fake.alive()
    assert devices == {"0", "1"}
    read_by = {page["engine"] for answer in answers for page in answer.raise_for_status().json()["pages"]}
    assert read_by == {"paddleocr-vl-1.6"}
    assert (status, left) == (0, set())
