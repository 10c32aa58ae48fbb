"""`inkgate compare-engines` as it is called: it starts real services, and leaves none behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.evaluation import draw
from support.server import clean_environment, inkgate, inkgate_here

START_S = 120


def settings(folder: Path) -> Path:
    """A contender whose processes are known by the path of its settings."""
    file = folder / "one-thread.toml"
    file.write_text('[engine]\nname = "ppocr"\n[engine.ppocr]\nthreads = 1\n', encoding="utf-8")
    return file


def left_of(file: Path) -> Sequence[psutil.Process]:
    """Processes that were started with these settings."""
    return [found for found in psutil.process_iter(["cmdline"]) if str(file) in (found.info["cmdline"] or ())]


def test_an_engine_is_measured_and_written_down(tmp_path: Path) -> None:
    draw(tmp_path / "pages" / "a.png", "Hello ink 42")
    (tmp_path / "pages" / "a.txt").write_text("Hello ink 42", encoding="utf-8")
    file, out = settings(tmp_path), tmp_path / "out"
    written = [part for suffix in ("json", "csv", "md") for part in ("-o", str(out / f"found.{suffix}"))]
    load = ["--pages", str(tmp_path / "pages"), "-c", "2", "-z", "3s", "--warm-up", "100ms", "--rounds", "1"]
    done = inkgate("compare-engines", str(file), "nobody=http://127.0.0.1:9", *load, *written)
    assert done.returncode == 1  # one could not be measured
    one, nobody = json.loads((out / "found.json").read_bytes())["engines"]
    assert one["why_not"] == ""
    assert one["accuracy"]["cer"] == 0
    assert one["runs"][0]["answered"] > 0
    assert one["memory_mb"] > 50
    assert "Nothing listens" in nobody["why_not"]
    assert "one-thread" in (out / "found.md").read_text(encoding="utf-8")
    assert (out / "found.csv").read_text(encoding="utf-8").count("\n") == 3
    assert "one-thread" in done.stdout.decode()
    assert left_of(file) == []


def interfered(
    folder: Path, file: Path, seconds: str, said: str, what: Callable[[subprocess.Popen[str]], None]
) -> tuple[dict[str, Any], int]:
    """What a comparison of the service of `file` found, and its exit status; `what` is done once it has `said`."""
    draw(folder / "a.png", "Hello ink 42")
    out = folder / "found.json"
    load = ["--pages", str(folder / "a.png"), "-z", seconds, "--warm-up", "0s", "--rounds", "1", "-o", str(out)]
    command = [sys.executable, "-m", "inkgate", "compare-engines", str(file), *load]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean_environment(), text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if said in line:
                break
        what(process)
        process.stderr.read()
        status = process.wait(START_S)
    return json.loads(out.read_bytes()), status


@pytest.mark.parametrize("said", ["starts", "clients for"])
def test_ctrl_c_shows_what_there_is_and_leaves_no_process(tmp_path: Path, said: str) -> None:
    file = settings(tmp_path)
    found, status = interfered(tmp_path, file, "10m", said, lambda process: process.send_signal(signal.SIGINT))
    assert status == 130
    assert found["partial"]
    assert left_of(file) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ppocr", "ppocr", "--pages", "."], "twice"),
        (["gone.toml", "--pages", "."], "gone.toml"),
        (["ppocr", "--pages", ".", "-o", "a.pdf"], "a.pdf"),
        (["ppocr", "--pages", "gone"], "gone"),
    ],
)
def test_misuse_is_told_with_status_2(arguments: list[str], message: str) -> None:
    done = inkgate_here("compare-engines", *arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_a_service_that_is_killed_under_load_is_told(tmp_path: Path) -> None:
    file = settings(tmp_path)

    def kill_the_service(_: subprocess.Popen[str]) -> None:
        for service in left_of(file):
            if service.cmdline()[:2] == [sys.executable, "-P"]:  # not its guardian
                service.kill()

    found, status = interfered(tmp_path, file, "5s", "clients for", kill_the_service)
    assert status == 1
    (engine,) = found["engines"]
    assert engine["why_not"] == "It ended under load, with status -9."
    assert engine["runs"][0]["failed"] > 0
