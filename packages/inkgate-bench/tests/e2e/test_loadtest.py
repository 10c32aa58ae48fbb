"""`inkgate loadtest` as a command: a single load, steps, and an interrupt."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from inkgate_bench.load.results import LoadReport
from inkgate_bench.reports.files import load_report
from support.api_client import png
from support.server import Server, clean_environment, inkgate, running_server

WAIT_S = 60.0


class Service(ThreadingHTTPServer):
    """Answers every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        self._answer(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def _answer(self, status: int) -> None:
        body = b'{"text": "Invoice"}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


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


def test_a_load_test_prints_and_writes_its_report(service: Service, pages: Path) -> None:
    file = pages / "report.json"
    options = ["--pages", str(pages), "--rate", "30", "-z", "1s", "--warm", "0s", "--json", str(file)]
    done = inkgate("loadtest", service.url, *options)
    report = load_report(file)
    assert isinstance(report, LoadReport)
    assert done.returncode == int(report.own.bottleneck), done.stderr  # this machine may be too busy to send in time
    assert b"30 requests/s" in done.stdout
    assert not report.partial
    assert (report.protocol, report.target) == ("simple", f"{service.url}/ocr")
    assert report.points[0].runs[0].answered == report.points[0].runs[0].offered > 10


def test_steps_give_a_curve_with_figures_of_the_service(server: Server, pages: Path) -> None:
    file, tables = pages / "report.json", pages / "tables"
    options = ["--steps", "1,2", "-z", "500ms", "--warm", "100ms", "--json", str(file), "--csv", str(tables)]
    done = inkgate("loadtest", server.url, "--pages", str(pages), *options)
    report = load_report(file)
    assert isinstance(report, LoadReport)
    assert done.returncode == int(report.own.bottleneck), done.stderr.decode()
    assert [(point.level, len(point.runs)) for point in report.points] == [(1, 3), (2, 3)]
    runs = [run for point in report.points for run in point.runs]
    assert [run.errors for run in runs] == [{}] * 6
    assert sum(run.answered for run in runs) == sum(run.offered for run in runs) > 0
    assert all(point.server is not None and point.server.memory_mb for point in report.points)
    assert report.knee is not None
    assert report.asked["steps"] == "1,2"
    text = done.stdout.decode()
    assert "Knee: " in text
    assert "memory" in text
    assert next(line for line in done.stderr.decode().splitlines() if line.startswith("run ")) == "run 1 of 6: 1 client"
    with (tables / "points.csv").open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 6


def test_an_interrupt_ends_the_test_and_writes_a_partial_report(service: Service, pages: Path) -> None:
    file = pages / "report.json"
    options = ["--pages", str(pages), "--rate-steps", "20,40,80", "-z", "1s", "--warm", "0s", "--json", str(file)]
    command = [sys.executable, "-m", "inkgate", "loadtest", service.url, *options]
    with subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("run 2"):
                running.send_signal(signal.SIGINT)
                break
        out, error = running.communicate(timeout=WAIT_S)
    assert running.returncode == 130, error
    assert "ended early" in out
    report = load_report(file)
    assert isinstance(report, LoadReport)
    assert report.partial
    assert report.axis == "rate"
    assert report.points[0].level == 20
    assert report.points[0].runs[0].answered > 0
