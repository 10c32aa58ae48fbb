"""The service with engine workers: a document is read by HTTP, also after a worker was killed, and none is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx

from support.processes import all_ended, children_of
from support.server import Server, running_server

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"
VARIABLES = {
    "INKGATE_ENGINE__PPOCR__WORKERS": "2",
    "INKGATE_ENGINE__PPOCR__THREADS": "1",
    "INKGATE_CACHE__ENABLED": "0",
}


def workers_of(pid: int) -> list[int]:
    """Those of its children that hold the models."""
    commands = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children_of(pid)}
    return [child for child, command in commands.items() if b"inkgate.engines.ppocr.worker" in command]


def test_a_document_is_read_by_workers_before_and_after_they_are_killed() -> None:
    image = SAMPLE.read_bytes()
    with running_server(environment=VARIABLES) as server:
        workers = workers_of(server.process.pid)
        assert len(workers) == 2
        assert "Gaza & West Bank" in text_of(server, image)
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        assert all_ended(workers)
        assert "Gaza & West Bank" in text_of(server, image)
        again = workers_of(server.process.pid)
        assert again
        assert not {*workers} & {*again}
        assert server.stop() == 0
        assert all_ended([*workers, *again])


def test_workers_end_with_a_service_that_is_killed() -> None:
    with running_server(environment=VARIABLES) as server:
        workers = workers_of(server.process.pid)
        assert len(workers) == 2
        server.process.kill()
        server.process.wait()
        assert all_ended(workers)


def text_of(server: Server, image: bytes) -> str:
    answer = httpx.post(f"{server.url}/ocr", files={"file": image}, timeout=120)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["text"])
