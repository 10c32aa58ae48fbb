"""`inkgate loadtest --steps` against a service that reads with the embedded engine."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inkgate.bench.load.files import read_json
from support.api_client import png
from support.server import Server, clean_environment, inkgate


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "page.png").write_bytes(png())
    return folder


def test_steps_of_clients_give_a_curve_with_what_the_service_says(server: Server, pages: Path, tmp_path: Path) -> None:
    options = ("--steps", "1,2,4", "--repeats", "2", "-z", "4s", "--warm", "500ms", "--json", str(tmp_path / "a.json"))
    done = inkgate("loadtest", server.url, "--pages", str(pages), *options, "--csv", str(tmp_path / "tables"))
    text = done.stdout.decode()
    assert done.returncode in {0, 1}, done.stderr.decode()  # 1: this machine is too busy to put load on it
    report = read_json(tmp_path / "a.json")
    assert [(point.level, len(point.runs)) for point in report.points] == [(1, 2), (2, 2), (4, 2)]
    assert all(run.answered == run.offered > 0 for point in report.points for run in point.runs)
    assert all(point.server is not None and point.server.memory_mb for point in report.points)
    assert report.knee is not None
    assert report.asked["steps"] == "1,2,4"
    assert not report.partial
    assert "Knee: " in text
    assert "memory" in text
    lines = done.stderr.decode().splitlines()
    assert next(line for line in lines if line.startswith("run ")) == "run 1 of 6: 1 at once"
    with (tmp_path / "tables" / "points.csv").open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 6


def test_steps_that_are_interrupted_leave_the_report_of_what_there_was(
    server: Server, pages: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    command = ["loadtest", server.url, "--pages", str(pages), "--rate-steps", "2,4,8", "-z", "2s", "--warm", "1s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "inkgate", *command, "--json", str(file)],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("run 2"):
            process.send_signal(signal.SIGINT)
            break
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    report = read_json(file)
    assert report.partial
    assert report.axis == "rate"
    assert report.points[0].level == 2
    assert "ended early" in output
