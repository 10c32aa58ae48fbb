"""`inkgate loadtest` as it is called: measured, and interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from inkgate.bench.load.files import read_json
from support.api_client import png
from support.server import clean_environment, inkgate

WAIT_S = 60.0


class Service(ThreadingHTTPServer):
    """Answers everything, and says when it has been asked often enough."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = threading.Semaphore(0)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        self._answer(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)
        self.server.asked.release()

    def _answer(self, status: int) -> None:
        body = b'{"text": "Invoice"}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(png())
    return tmp_path


def test_a_load_test_prints_and_writes_what_it_found(service: Service, pages: Path) -> None:
    file = pages / "found.json"
    options = ["--pages", str(pages), "--rate", "30", "-z", "1s", "--warm", "0s", "--json", str(file)]
    done = inkgate("loadtest", service.url, *options)
    assert done.returncode in {0, 1}, done.stderr  # 1 where this machine is too busy to send in time
    assert b"30 requests a second" in done.stdout
    report = read_json(file)
    assert not report.partial
    assert (report.protocol, report.target) == ("simple", f"{service.url}/ocr")
    assert report.points[0].runs[0].answered == report.points[0].runs[0].offered > 10


@pytest.mark.parametrize("processes", ["1", "2"])
def test_interrupted_it_writes_what_there_is_and_leaves_no_process(
    service: Service, pages: Path, processes: str
) -> None:
    file = pages / "found.json"
    options = ["--pages", str(pages), "-c", "2", "-z", "1h", "--warm", "0s", "--json", str(file)]
    command = [sys.executable, "-m", "inkgate", "loadtest", service.url, *options, "--processes", processes]
    with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        for _ in range(20):
            assert service.asked.acquire(timeout=WAIT_S)
        children = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        out, error = running.communicate(timeout=WAIT_S)
    assert running.returncode == 130, error
    assert b"what there was" in out
    report = read_json(file)
    assert report.partial
    assert report.points[0].runs[0].answered > 0
    assert (len(children) > 0) is (processes == "2")
    assert psutil.wait_procs(children, timeout=WAIT_S)[1] == []
