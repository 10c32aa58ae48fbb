"""`inkgate read` as users run it: its output, its files, and its exit status."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from support.server import clean_environment, inkgate

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first paragraphs of the sample page: less to read."""
    path = tmp_path_factory.mktemp("small") / "small.png"
    with Image.open(SAMPLE) as page:
        page.crop((0, 120, page.width, 360)).save(path)
    return path


@pytest.mark.smoke
def test_a_folder_is_read_into_files_and_what_failed_is_told(small: Path, tmp_path: Path) -> None:
    scans = tmp_path / "Bücher und 文档"
    (scans / "année").mkdir(parents=True)
    shutil.copy(small, scans / "année" / "page é.png")
    (scans / "broken.png").write_bytes(SAMPLE.read_bytes()[:200])
    (scans / "notes.txt").write_text("no document")
    out = tmp_path / "out"
    ended = inkgate("read", str(scans), "-o", str(out), "-f", "text,markdown", "-f", "json,hocr,alto")
    assert ended.returncode == 1
    assert ended.stdout == b""
    said = ended.stderr.decode()
    assert "broken.png" in said
    assert "image_corrupt" in said
    assert f"skipped {scans / 'notes.txt'}" in said
    assert re.search(rf"1 read \(1 page\) into {out} in [\d.]+ s; 1 failed; 1 skipped, not images or PDFs\.", said)
    assert "Traceback" not in said
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert written == [f"année/page é{end}" for end in (".alto.xml", ".hocr", ".json", ".md", ".txt")]
    assert "technical assistance" in (out / "année" / "page é.txt").read_text(encoding="utf-8")
    assert json.loads((out / "année" / "page é.json").read_bytes())["status"] == "complete"


def test_results_that_exist_are_kept_on_request_and_never_overwritten_unasked(small: Path, tmp_path: Path) -> None:
    shutil.copy(small, tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("kept")
    command = ("read", str(tmp_path), "-o", str(tmp_path))
    refused, kept = inkgate(*command), inkgate(*command, "--skip-existing")
    assert (refused.returncode, kept.returncode) == (2, 0)
    assert "a.txt would be overwritten; nothing was read." in refused.stderr.decode()
    assert "0 read (0 pages)" in kept.stderr.decode()
    assert "1 skipped, having results" in kept.stderr.decode()
    assert (tmp_path / "a.txt").read_text() == "kept"


def test_standard_input_is_read_to_standard_output(small: Path) -> None:
    ended = inkgate("read", "-", "-o", "-", data=small.read_bytes())
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "technical assistance" in ended.stdout.decode()


def test_several_documents_are_told_apart_and_pages_outside_a_document_fail_it_alone(
    small: Path, tmp_path: Path
) -> None:
    with Image.open(small) as image:
        image.save(tmp_path / "two.tiff", save_all=True, append_images=[image])
    ended = inkgate("read", str(small), str(tmp_path / "two.tiff"), "--pages", "2", "-f", "json")
    assert ended.returncode == 1
    (line,) = ended.stdout.decode().splitlines()
    assert [page["index"] for page in json.loads(line)["pages"]] == [1]
    assert "small.png: The page selection does not fit the document" in ended.stderr.decode()


def test_ctrl_c_leaves_whole_files_only(small: Path, tmp_path: Path) -> None:
    for number in range(200):
        shutil.copy(small, tmp_path / f"{number}.png")
    out = tmp_path / "out"
    # Whoever starts the tests in the background of a shell has SIGINT ignored, and so has all that they start.
    hearing = ["env", "--default-signal=INT", sys.executable, "-m", "inkgate"]
    command = [*hearing, "read", str(tmp_path), "-o", str(out), "-f", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=clean_environment()) as process:
        while process.poll() is None and not list(out.glob("*.json")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().splitlines() == ["inkgate: interrupted. Files that were already written are complete."]
    written = list(out.iterdir())
    assert 0 < len(written) < 200
    assert {json.loads(path.read_bytes())["status"] for path in written} == {"complete"}


def test_a_reader_that_leaves_early_is_no_error_to_print_about(small: Path) -> None:
    command = [sys.executable, "-m", "inkgate", "read", str(small)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) != 0
