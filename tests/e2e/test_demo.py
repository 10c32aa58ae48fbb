"""`inkgate demo` as users start it, with the real engine."""

from __future__ import annotations

import csv
import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pikepdf
import pytest

from inkgate.cli.demo.folder import sample_bytes
from inkgate_client import InkgateClient
from support.server import clean_environment
from support.waiting import until

pytestmark = pytest.mark.real

DEMO = [sys.executable, "-m", "inkgate", "demo"]


def run_once(folder: Path, *arguments: str) -> str:
    """What the demo printed."""
    done = subprocess.run(
        [*DEMO, *arguments, "--once"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


def rows_of(table: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(table)) as database:
        return database.execute("SELECT file, total, review FROM receipts").fetchall()


def test_receipts_become_rows_and_doubtful_ones_are_listed_with_the_reason(tmp_path: Path) -> None:
    said = run_once(tmp_path, "receipts")
    folder = tmp_path / "inkgate-demo" / "receipts"
    with closing(sqlite3.connect(folder / "receipts.db")) as database:
        rows = {row[0]: row[1:] for row in database.execute("SELECT file, date, total, review FROM receipts")}
    assert rows["harbour-bakery.jpg"] == ("2026-03-14", "18.70", "complete")
    assert rows["two-bridges-cafe.jpg"] == ("2026-03-21", "27.00", "complete")
    assert rows["lamp-and-light.pdf"] == ("2026-03-17", "76.20", "complete")
    assert rows["north-hardware.png"] == ("2026-02-25", "32.00", "complete")
    assert rows["tea-house.png"][:2] == ("2026-03-22", "106.00")
    assert {file for file, (_, _, review) in rows.items() if review == "needs_review"} >= {
        "green-grocer.jpg",
        "corner-books.png",
        "holiday-card.jpg",
    }
    assert "cut-off.pdf" not in rows
    assert "subtotal and tax don't make the total (23.4 + 1.17 and 29.57)" in said
    assert "date may be 2026-04-03 or 2026-03-04" in said
    assert "probably no receipt" in said
    shown = re.findall(r"curl -F (?:')?file=@(\S+?)'? ", said)
    assert [Path(path).is_file() for path in shown] == [True, True]
    with (folder / "receipts.csv").open(encoding="utf-8-sig") as table:
        assert {row["file"] for row in csv.DictReader(table)} == set(rows)
    assert [path.name for path in tmp_path.iterdir()] == ["inkgate-demo"]


def test_contracts_become_searchable_and_what_was_changed_before_signing_is_found(tmp_path: Path) -> None:
    said = run_once(tmp_path, "contracts", "--into", "c")
    results = tmp_path / "c" / "contracts" / "results"
    values = {
        path.name.removesuffix(".values.json"): json.loads(path.read_text()) for path in results.glob("*.values.json")
    }
    assert values["service-agreement"]["amount"] == "8400.00"
    assert values["lease-zh"]["party_a"] == "王建国"
    assert values["lease-zh"]["end_date"] == "2027-03-31"
    changed = {name for name, value in values["lease-signed"].items() if value != values["lease-draft"][name]}
    assert changed == {"amount", "notice_period"}
    assert "values of lease-draft that stand in lease-signed: 6 of 8" in said
    words = said.partition("Words that differ")[2].partition("What to try next")[0]
    assert [line.split()[-2:] for line in words.strip().splitlines()[1:]] == [
        ["1,450.00", "1,540.00"],
        ["3", "2"],
        ["one", "four"],
    ]
    assert "## 4. Repairs" in (results / "lease-signed.md").read_text()
    with pikepdf.open(results / "lease-signed.pdf") as searchable:
        assert all("/Font" in page.resources for page in searchable.pages)


def test_scans_dropped_into_a_folder_can_be_searched_by_page(tmp_path: Path) -> None:
    said = run_once(tmp_path, "archive")
    read = tmp_path / "inkgate-demo" / "archive" / "read"
    assert "6 documents, 8 pages" in said
    assert {path.suffix for path in read.glob("warranty.*")} == {".pdf", ".txt", ".json"}
    search = [*DEMO, "search", "notice", "period"]
    found = subprocess.run(search, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(line.split()[:2] for line in found.stdout.splitlines()[1:]) == [
        ["lease-signed.pdf", "1"],
        ["lease-signed.pdf", "2"],
    ]
    assert "lease-zh.pdf" in said.partition("search 押金")[2].partition("What to try next")[0]
    nothing = subprocess.run([*DEMO, "search", "zebra"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (nothing.returncode, nothing.stdout) == (1, "")


def test_a_demo_runs_until_ctrl_c_takes_corrections_and_leaves_no_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    own = tmp_path / "own"
    own.mkdir()
    (own / "empty.png").write_bytes(b"no picture")
    (own / "grocer.jpg").write_bytes(sample_bytes("receipts", "green-grocer.jpg"))
    command = [*DEMO, "receipts", "--from", str(own), "--into", str(tmp_path / "into")]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=clean_environment(), start_new_session=True) as running,
    ):
        try:
            until(lambda: "runs on" in log.read_text(), "the end of the summary")
            url = re.findall(r"Web page: (\S+)/", log.read_text())[0]
            with InkgateClient(url) as client:
                [job] = client.jobs.to_review().jobs
                client.jobs.get(job.id).correct({"/total": "24.57"}, version=None, by="a test")
            table = tmp_path / "into" / "own-receipts" / "receipts.db"
            until(lambda: rows_of(table) == [("grocer.jpg", "24.57", "reviewed")], lambda: rows_of(table))
            running.send_signal(signal.SIGINT)
            assert running.wait(30) == 0, log.read_text()
        finally:
            running.kill()
    assert "empty.png: could not be read" in log.read_text()
    group = subprocess.run(["ps", "-o", "pid=", "-g", str(running.pid)], capture_output=True, text=True, check=False)
    assert not group.stdout.strip()
