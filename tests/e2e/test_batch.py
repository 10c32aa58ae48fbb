"""`inkgate batch`: every document is in the rows once, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from inkgate.batch.plan import BatchPlan
from inkgate.cli.app import app
from inkgate.cli.batch_child import BatchOrder
from inkgate.cli.batch_command import BatchTally
from inkgate.cli.batch_ray import cause_of, count_whole
from inkgate.settings import Settings
from inkgate.storage.objects import file_url
from support.gateway_tier import free_port
from support.waiting import until

ROOT = Path(__file__).parents[2]
_COMMAND = "from support.batch_child import run_command; run_command()"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", _COMMAND, "batch", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])}


def run(*arguments: str | Path, status: int = 0) -> str:
    ended = subprocess.run(command(*arguments), capture_output=True, text=True, env=environment(), check=False)
    assert ended.returncode == status, ended.stderr
    return ended.stderr


def put(folder: Path, **texts: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.png").write_text(text)


def rows(results: Path) -> dict[str, dict[str, object]]:
    found = [json.loads(line) for file in (results / "data").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert max(Counter(row["document"] for row in found).values()) == 1
    return {row["document"]: row for row in found}


def test_2000_documents_are_in_the_rows_once_each_though_it_is_killed_five_times(tmp_path: Path) -> None:
    put(tmp_path / "in", **{f"{number:04}": f"text {number}" for number in range(2000)})
    results = tmp_path / "out"

    def written() -> int:
        folders = [results / "data", results / "_inkgate" / "work"]
        return sum(path.stat().st_size for folder in folders if folder.exists() for path in folder.iterdir())

    for _ in range(5):
        before = written()
        with subprocess.Popen(
            command(tmp_path / "in", results, "--shard-documents", "100"),
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        ) as batch:
            until(lambda before=before: written() > before + 20_000, "some documents")  # type: ignore[misc]
            os.killpg(batch.pid, signal.SIGKILL)
    said = run(tmp_path / "in", results)
    assert " 0 failed" in said
    found = rows(results)
    assert {name: row["text"] for name, row in found.items()} == {f"{n:04}.png": f"text {n}\n" for n in range(2000)}
    assert not list((results / "_inkgate" / "work").iterdir())
    assert "0 to read" in run(tmp_path / "in", results)


def test_a_document_that_ends_the_process_is_quarantined_and_others_are_read(tmp_path: Path) -> None:
    put(tmp_path / "in", a="fine", b="poison", c="fine, too", d="broken", e="once", f="fine")
    said = run(tmp_path / "in", tmp_path / "out", status=1)
    assert "died (signal 9)" in said
    found = rows(tmp_path / "out")
    assert {name: row["status"] for name, row in found.items()} == {
        "a.png": "complete",
        "b.png": "quarantined",
        "c.png": "complete",
        "d.png": "failed",
        "e.png": "complete",
        "f.png": "complete",
    }
    assert found["d.png"]["error_code"] == "engine_failed"
    assert (found["a.png"]["duplicate_of"], found["f.png"]["duplicate_of"]) in {("", "a.png"), ("f.png", "")}
    before = (tmp_path / "in" / "b.png").stat()
    (tmp_path / "in" / "b.png").write_text("better")  # as large, at the same time, in the same file: the same ETag
    os.utime(tmp_path / "in" / "b.png", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "in" / "d.png").write_text("another file than the one in the plan")
    told = run(tmp_path / "in", tmp_path / "out")
    assert "0 to read" in told
    assert "In all, 4 documents are read (4 pages) and 2 failed" in told
    assert "b.png: It ended the process that read it. (quarantined)" in told
    assert "d.png: It is broken. (engine_failed)" in told
    assert "--retry-failed" in told
    assert "1 to read" in run(tmp_path / "in", tmp_path / "out", "--retry-failed", status=1)
    again = rows(tmp_path / "out")
    assert (again["b.png"]["status"], again["d.png"]["error_code"]) == ("complete", "source_replaced")
    assert again["a.png"] == found["a.png"]


@pytest.mark.smoke
def test_parts_of_a_batch_and_parquet(tmp_path: Path) -> None:
    put(tmp_path / "in", **{f"{number:02}": f"text {number}" for number in range(12)})
    options = ["-f", "parquet", "--shard-documents", "2"]
    for part in ("0/2", "1/2"):
        assert "3 to read" in run(tmp_path / "in", tmp_path / "out", *options, "--shard", part)
    tables = [pq.read_table(file) for file in sorted((tmp_path / "out" / "data").glob("*.parquet"))]
    assert sorted(text for table in tables for text in table["text"].to_pylist()) == sorted(
        f"text {number}\n" for number in range(12)
    )


def test_every_document_has_a_markdown_file_though_another_has_the_same_bytes(tmp_path: Path) -> None:
    put(tmp_path / "in", a="fine", b="fine", c="other")
    run(tmp_path / "in", tmp_path / "out", "-f", "markdown")
    files = {path.name: path.read_text() for path in (tmp_path / "out" / "markdown").iterdir()}
    assert files.keys() == {"a.png.md", "b.png.md", "c.png.md"}
    assert files["a.png.md"] == files["b.png.md"] != files["c.png.md"]


def test_wrong_arguments_are_told(tmp_path: Path) -> None:
    put(tmp_path / "in", a="fine")
    (tmp_path / "out" / "_inkgate").mkdir(parents=True)
    plan = {"source": "file:///elsewhere", "format": "jsonl", "token": "t", "shards": 0, "documents": 0, "bytes": 0}
    (tmp_path / "out" / "_inkgate" / "plan.json").write_text(json.dumps({**plan, "version": 1}))
    wrong = {}
    for arguments, said in {
        ("--shard", "3/3"): "--shard",
        ("-f", "docx"): "not a format",
        ("-f", "jsonl"): "has the plan of",
    }.items():
        ended = CliRunner().invoke(app, ["batch", str(tmp_path / "in"), str(tmp_path / "out"), *arguments])
        if ended.exit_code != 2 or said not in ended.output:
            wrong[arguments] = ended.output
    assert wrong == {}


def test_a_service_that_is_gone_is_told_before_anything_is_read(tmp_path: Path) -> None:
    put(tmp_path / "in", a="fine")
    arguments = ["batch", str(tmp_path / "in"), str(tmp_path / "out"), "--server", f"http://127.0.0.1:{free_port()}"]
    ended = CliRunner().invoke(app, arguments)
    assert (ended.exit_code, "can't be reached" in ended.output) == (1, True), ended.output
    assert not (tmp_path / "out").exists()


def test_what_a_library_prints_is_no_event_and_a_marker_counts_its_shard(tmp_path: Path) -> None:
    put(tmp_path / "in", a="noisy", b="broken", c="text")
    results = tmp_path / "out"
    assert "What a library says." in run(tmp_path / "in", results, status=1)
    plan = BatchPlan(**json.loads((results / "_inkgate" / "plan.json").read_text()))
    order = BatchOrder(Settings(), file_url(results), plan, tmp_path, at_once=1, max_bytes=1)
    tally = BatchTally(shards=1)
    anyio.run(count_whole, order, 0, tally)
    assert tally == BatchTally(read=2, failed=1, pages=2, shards=1)


def test_the_reason_why_it_stops_may_name_a_folder_that_is_not_utf8(tmp_path: Path) -> None:
    put(tmp_path / "in", a="text")
    results = tmp_path / os.fsdecode(b"\xff")
    (results / "_inkgate").mkdir(parents=True)
    (results / "_inkgate" / "work").write_text("a file")
    assert "File exists" in run(tmp_path / "in", results, status=1)


def test_an_error_of_ray_is_told_by_what_caused_it() -> None:
    text = "File x\nKeyError: 'a'\n\nThe above exception was the direct cause of\n\nTo change"
    assert [cause_of(text), cause_of("One.\nTwo."), cause_of("")] == ["KeyError: 'a'", "Two.", "no reason given"]
