"""`inkgate watch` as users start it, with the real engine."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.server import inkgate_here
from support.waiting import until

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"


@pytest.mark.smoke
def test_results_appear_for_what_is_put_into_the_folder(tmp_path: Path) -> None:
    scans, results = tmp_path / "in", tmp_path / "out"
    scans.mkdir()
    (scans / "bad.pdf").write_bytes(b"no PDF")
    command = [sys.executable, "-m", "inkgate", "watch", str(scans), str(results), "--poll", "0.2", "--type", "invoice"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watch:
        try:
            until((results / "bad.error.txt").exists, "what is wrong with the PDF")
            shutil.copy(SAMPLE, scans / "report.png")
            until((results / ".inkgate-watch.jsonl").exists, "the journal")
            until(lambda: "report.png" in (results / ".inkgate-watch.jsonl").read_text(), "the report")
            watch.send_signal(signal.SIGINT)
            _, said = watch.communicate(timeout=60)
        finally:
            watch.kill()
    assert watch.returncode == 1, said
    assert "| Gaza & West Bank | 2.60 |" in (results / "report.md").read_text()
    assert json.loads((results / "report.fields.json").read_text())["document_type"] == "invoice"
    assert "1 read; 1 failed." in said


def test_two_watchers_of_one_folder_and_wrong_types_are_refused(tmp_path: Path) -> None:
    same = inkgate_here("watch", str(tmp_path), str(tmp_path))
    assert (same.returncode, b"same folder" in same.stderr) == (2, True)
    unknown = inkgate_here("watch", str(tmp_path), str(tmp_path / "out"), "--type", "nonsense")
    assert (unknown.returncode, b"inkgate types" in unknown.stderr) == (2, True), unknown.stderr
