"""The disk is full where inkgate writes: its log, the memory that a PDF is given to its worker in, and the results of
`inkgate read`. Pages and uploads are held in memory, and need no disk.
"""

from __future__ import annotations

import io
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from PIL import Image

from support.load import RIGHT
from support.numbered_model import striped, text_of
from support.scenario import FaultWindow, ServiceUnderLoad
from support.server import Server, clean_environment
from support.tiny_disk import TinyDisk
from support.waiting import AT_MOST_S

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"
WHILE_FULL = 30
"""Answers while no log can be written."""


def pdf(number: int) -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(striped(number))).save(file, "PDF")
    return file.getvalue()


def read_pdf(server: Server, number: int) -> httpx.Response:
    return httpx.post(f"{server.url}/ocr", files={"file": pdf(number)}, timeout=AT_MOST_S, trust_env=False)


def upload(server: Server) -> int:
    url, files, data = f"{server.url}/v1/files", {"file": striped(1)}, {"purpose": "ocr"}
    return httpx.post(url, files=files, data=data, timeout=AT_MOST_S, trust_env=False).status_code


def text_in(answer: httpx.Response) -> str:
    return str(answer.raise_for_status().json()["text"]).strip()


def check_log(window: FaultWindow) -> None:
    """A line says how many could not be written; with these each request has its own."""
    window.until_logged("log_was_not_writable")
    lost = sum(line["lines"] for line in window.logged("log_was_not_writable"))
    assert lost > 0
    assert lost + len(window.logged("request")) >= window.outcomes.total()


def test_a_full_disk_costs_lines_of_the_log_and_nothing_else(
    service: ServiceUnderLoad, small_disk: TinyDisk | None
) -> None:
    if small_disk is None:
        pytest.skip("a file system can't be mounted here; that needs root")
    server = service.server
    with service.fault() as window:
        small_disk.fill()
        try:
            window.until_answered(RIGHT, times=WHILE_FULL)
            assert text_in(read_pdf(server, 61_000)) == text_of(61_000)
            assert upload(server) == 200
        finally:
            small_disk.clear()
        assert text_in(read_pdf(server, 61_001)) == text_of(61_001)
    check_log(window)


@contextmanager
def no_file_may_grow(server: Server) -> Iterator[None]:
    """Each write fails in the block, to shared memory too."""
    _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, most))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))


def test_without_room_for_a_pdf_it_is_refused_until_there_is(service: ServiceUnderLoad) -> None:
    server = service.server
    with service.fault() as window:
        assert text_in(read_pdf(server, 62_000)) == text_of(62_000)
        with no_file_may_grow(server):
            window.until_answered(RIGHT, times=WHILE_FULL)
            refused = read_pdf(server, 62_001)
            assert upload(server) == 200
        assert (refused.status_code, refused.json()["code"]) == (503, "service_full")
        assert int(refused.headers["retry-after"]) >= 1
        assert text_in(read_pdf(server, 62_001)) == text_of(62_001)
    check_log(window)


def read_with(redirection: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`inkgate read` of a sample, started by a shell that has done `redirection` before."""
    command = [sys.executable, "-m", "inkgate", "read", *arguments, str(SAMPLE)]
    shell = ["/bin/sh", "-c", f'{redirection}; exec "$@"', "sh", *command]
    return subprocess.run(shell, env=clean_environment(), capture_output=True, timeout=120, check=False)


def test_results_without_room_are_reported_and_never_half_there(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("of an earlier run", encoding="utf-8")
    done = read_with("ulimit -f 0", "-o", str(tmp_path), "--overwrite")
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == "of an earlier run"


def test_results_to_a_full_disk_are_reported() -> None:
    done = read_with("exec >/dev/full")
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
