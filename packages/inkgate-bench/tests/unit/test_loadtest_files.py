"""A load test's report in files and on a terminal."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inkgate_bench.load.knee import find_knee
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.report import (
    POINT_COLUMNS,
    assemble,
    curve_text,
    write_json,
    write_points_csv,
    write_seconds_csv,
)
from inkgate_bench.load.results import Axis, LoadPoint, LoadReport, OwnLimits, Second, ServerSide
from inkgate_bench.load.steps import StepResults
from inkgate_bench.load.target import ProtocolName, Target
from inkgate_bench.reports.files import load_report
from support import curves


def report() -> LoadReport:
    points = curves.measured_points(curves.rises_and_falls(2.0, 0.05, 0.002), 1)
    points[4] = LoadPoint(16.0, points[4].runs, ServerSide(kv_share=0.5, memory_mb=2150.0, preemptions=3))
    timeline = tuple(Second(float(at), 1.0, 2, 2, 2, 0, 1, 0.4, None, ((10, 2),), {"a": 1}) for at in range(3))
    own = OwnLimits(bottleneck=False, why="", late_p99_s=0.001, busy_share=0.1, unsent=0)
    knee = find_knee(points, Axis.CONCURRENCY, 5.0, 0.001)
    stepped = StepResults(tuple(points), timeline, own, knee, partial=False, notes=("One note.",))
    target = Target("http://user:secret@127.0.0.1:7860/ocr?key=secret", ProtocolName.OCR, key="secret")
    began = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return assemble(Load(target, (), Plan(Axis.CONCURRENCY, 1, 60)), stepped, began, {"steps": "1,2"})


def test_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = report()
    write_json(written, tmp_path / "deep" / "a.json")
    assert load_report(tmp_path / "deep" / "a.json") == written


def test_report_names_where_and_with_what_and_holds_no_secret(tmp_path: Path) -> None:
    written = report()
    assert written.target == "http://127.0.0.1:7860/ocr"
    assert written.began == "2026-01-02T03:04:00+00:00"
    assert written.machine.cores >= 1
    assert "inkgate" in written.machine.versions
    write_json(written, tmp_path / "a.json")
    assert "secret" not in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_points_are_a_row_for_each_run(tmp_path: Path) -> None:
    write_points_csv(report(), tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 7 * 3
    assert tuple(rows[0]) == POINT_COLUMNS
    at_16 = [row for row in rows if row["level"] == "16"]
    assert [row["run"] for row in at_16] == ["1", "2", "3"]
    assert float(at_16[0]["goodput_per_s"]) == pytest.approx(14.3, rel=0.1)
    assert at_16[0]["kv_share"] == "0.5"
    assert rows[0]["kv_share"] == ""


def test_seconds_are_a_row_each(tmp_path: Path) -> None:
    write_seconds_csv(report(), tmp_path / "seconds.csv")
    lines = (tmp_path / "seconds.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "at_s,level,offered,answered,in_time,errors,in_flight,p50_s,p99_s"
    assert lines[1] == "0,1,2,2,2,0,1,0.4,"


def test_curve_in_words_marks_the_knee_and_says_how_it_was_found() -> None:
    text = curve_text(report())
    head = text.splitlines()[0]
    assert head.split()[:3] == ["clients", "runs", "answered/s"]
    assert "KV" in head
    assert "GPU" not in head
    marked = [line for line in text.splitlines() if line.endswith("<- knee")]
    assert [line.split()[0] for line in marked] == ["16"]
    assert re.search(r"Knee: 16 clients, 14\.\d+ ± 0\.\d+ responses/s in time", text)
    assert "Method: smallest level" in text
    assert text.endswith("One note.")


def test_knee_that_was_not_reached_is_said() -> None:
    points = curves.measured_points(curves.straight(1.0), 1)
    knee = find_knee(points, Axis.CONCURRENCY, 5.0, 0.001)
    text = curve_text(replace(report(), points=tuple(points), knee=knee))
    assert "Knee: not reached. At 64 clients, the highest level, goodput still rose" in text
    assert "<- knee" not in text
