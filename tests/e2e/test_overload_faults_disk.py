"""The disk is full where inkgate writes, under load: its log, the memory that a PDF is given to its worker in, and the
results of `inkgate read`. Pages and uploads are held in memory, and need no disk.
"""

from __future__ import annotations

import io
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from PIL import Image

from support.faulted import BORNE, faulted, logged
from support.load import open_loop, under_load
from support.numbered_model import ModelProcess, model_process, striped, text_of
from support.server import Server, clean_environment

pytestmark = pytest.mark.timing

RATE = 30.0
FOR_S = 6.0
FULL_S, ROOM_S = 1.5, 4.5
TINY_MB = 1
SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with model_process() as running:
        yield running


@dataclass(frozen=True)
class TinyDisk:
    """A file system with next to no room."""

    folder: Path

    def fill(self) -> None:
        """Leaves not one byte."""
        with (self.folder / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(100))

    def clear(self) -> None:
        (self.folder / "filler").unlink()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[TinyDisk]:
    """Skips the test where nothing may be mounted; those without it show the same by a limit on file sizes."""
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", f"size={TINY_MB}m", "inkgate-test", str(tmp_path)]
    if mount is None or subprocess.run([mount, *options], check=False, capture_output=True).returncode:
        pytest.skip("a file system can't be mounted here; that needs root")
    try:
        yield TinyDisk(tmp_path)
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def let_files_grow(server: Server, *, further: bool) -> Callable[[], None]:
    """Sets whether files of the process may grow. Where they may not, each write fails, to shared memory too."""

    def tell() -> None:
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most if further else 0, most))

    return tell


def pdf(number: int) -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(striped(number))).save(file, "PDF")
    return file.getvalue()


async def sent_now_and_then(url: str, answers: list[httpx.Response]) -> None:
    """A PDF, and an upload that is read, before it is full, while it is, and after."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        for number, pause_s in enumerate((0.2, FULL_S + 0.5, ROOM_S - FULL_S)):
            await anyio.sleep(pause_s)
            answers.append(await client.post("/ocr", files={"file": pdf(40_000 + number)}))
            answers.append(await client.post("/v1/files", files={"file": striped(number)}, data={"purpose": "ocr"}))


def well_answered(server: Server, full: Callable[[], object], room: Callable[[], object]) -> list[httpx.Response]:
    """What was answered to PDFs and uploads: before, while it is full, after. All else has to be as if nothing was."""
    others: list[httpx.Response] = []
    outcomes = under_load(
        server.url,
        open_loop(RATE, FOR_S, seed=11),
        [(FULL_S, full), (ROOM_S, room)],
        beside=lambda: sent_now_and_then(server.url, others),
        at_once=BORNE,
    )
    busy = {"service_full", "share_exceeded"}
    assert set(outcomes) <= {"right", *busy}, outcomes
    assert outcomes["right"] >= 0.9 * outcomes.total(), outcomes
    assert [answer.status_code for answer in others[1::2]] == [200, 200, 200]
    (told,) = logged(server, "log_was_not_writable")
    lost = int(str(told["lines"]))
    assert lost > 0
    assert lost + len(logged(server, "request")) >= outcomes.total()
    return others[::2]


def test_a_full_disk_costs_lines_of_the_log_and_nothing_else(model: ModelProcess, tiny_disk: TinyDisk) -> None:
    with faulted(model.url, log_folder=tiny_disk.folder, TMPDIR=str(tiny_disk.folder)) as server:
        pdfs = well_answered(server, tiny_disk.fill, tiny_disk.clear)
        assert [answer.json()["text"].strip() for answer in pdfs] == [text_of(40_000 + number) for number in range(3)]


def test_without_room_for_a_pdf_it_is_told_when_to_come_again(model: ModelProcess) -> None:
    with faulted(model.url) as server:
        full, room = let_files_grow(server, further=False), let_files_grow(server, further=True)
        before, meanwhile, after = well_answered(server, full, room)
        assert [before.status_code, meanwhile.status_code, after.status_code] == [200, 503, 200]
        assert meanwhile.json()["code"] == "service_full"
        assert int(meanwhile.headers["retry-after"]) >= 1
        assert after.json()["text"].strip() == text_of(40_002)


def read_with(redirection: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`inkgate read` of a sample, started by a shell that has done `redirection` before."""
    command = [sys.executable, "-m", "inkgate", "read", *arguments, str(SAMPLE)]
    shell = ["/bin/sh", "-c", f'{redirection}; exec "$@"', "sh", *command]
    return subprocess.run(shell, env=clean_environment(), capture_output=True, timeout=120, check=False)


def test_results_without_room_are_told_of_and_never_half_there(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("of an earlier run", encoding="utf-8")
    done = read_with("ulimit -f 0", "-o", str(tmp_path), "--overwrite")
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == "of an earlier run"


def test_results_to_a_full_disk_are_told_of() -> None:
    done = read_with("exec >/dev/full")
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
