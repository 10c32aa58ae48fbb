"""Reports as files, and the command that writes them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from typer.testing import CliRunner

from inkgate.cli.app import app
from inkgate_bench.load.results import FORMAT as LOAD_FORMAT
from inkgate_bench.load.results import LoadReport
from inkgate_bench.reports.comparison import compare
from inkgate_bench.reports.files import ReportUnreadable, ReportUnwritable, load_report, write_report
from support.sample_reports import load_report as sample_load
from support.sample_reports import one_point
from support.sample_tuning import tune_report

runner = CliRunner()
SHORT = sample_load(levels=(1, 4, 8, 16), seconds=5)


@pytest.mark.parametrize("report", [SHORT, one_point(), tune_report()], ids=["load", "one point", "tune"])
def test_json_is_read_back_as_it_was_written(report: LoadReport, tmp_path: Path) -> None:
    write_report(report, tmp_path / "new" / "report.json")
    assert load_report(tmp_path / "new" / "report.json") == report


@pytest.mark.parametrize("report", [SHORT, tune_report()], ids=["load", "tune"])
def test_charts_are_files_that_others_read(report: LoadReport, tmp_path: Path) -> None:
    write_report(report, tmp_path / "charts.svg")
    write_report(report, tmp_path / "charts.png")
    assert ET.parse(tmp_path / "charts.svg").getroot().tag.endswith("svg")  # noqa: S314  # written a line above
    with Image.open(tmp_path / "charts.png") as image:
        assert image.width == 2000
        assert len(image.convert("RGB").resize((60, 60)).getcolors(3600) or []) > 10


def test_a_table_has_a_row_for_each_run_and_for_each_trial(tmp_path: Path) -> None:
    write_report(SHORT, tmp_path / "runs.csv")
    write_report(tune_report(), tmp_path / "trials.csv")
    assert len(list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text())))) == 12
    rows = list(csv.DictReader(io.StringIO((tmp_path / "trials.csv").read_text())))
    assert len(rows) == len(tune_report().trials)
    assert rows[0]["outcome"] == "died"
    assert rows[0]["engine.vllm.managed.max_num_seqs"] == "48"


def test_what_a_spreadsheet_would_calculate_stays_text(tmp_path: Path) -> None:
    report = tune_report()
    trial = replace(report.trials[0], why='=HYPERLINK("http://example.com")')
    write_report(replace(report, trials=(trial,)), tmp_path / "trials.csv")
    (row,) = csv.DictReader(io.StringIO((tmp_path / "trials.csv").read_text()))
    assert row["why"].startswith("'=")


def test_a_name_that_says_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportUnwritable, match=r"\.html, \.svg"):
        write_report(SHORT, tmp_path / "report.docx")
    with pytest.raises(ReportUnwritable, match=r"\.html, \.svg"):
        write_report(compare(SHORT, SHORT), tmp_path / "both.csv")


def test_where_there_is_too_little_for_a_chart_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(ReportUnwritable, match="too little"):
        write_report(replace(SHORT, points=(), timeline=()), tmp_path / "charts.svg")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a report"),
        (b"[1]", "is not a report"),
        (b'{"format": "inkgate.loadtest/9"}', "inkgate.loadtest/9"),
        (f'{{"format": "{LOAD_FORMAT}"}}'.encode(), "is not a report"),
        (b'{"a": 1}', "this version reads"),
    ],
)
def test_what_is_no_report_is_told_as_that(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ReportUnreadable, match=why):
        load_report(tmp_path / "x.json")


def test_the_command_writes_the_page_beside_the_file(tmp_path: Path) -> None:
    write_report(SHORT, tmp_path / "run.json")
    result = runner.invoke(app, ["report", str(tmp_path / "run.json")])
    assert result.exit_code == 0, result.output
    assert "<!doctype html>" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_the_command_compares_two_runs_in_words_and_files(tmp_path: Path) -> None:
    write_report(SHORT, tmp_path / "a.json")
    write_report(sample_load(2, levels=(8, 16), seconds=5, faster=1.5), tmp_path / "b.json")
    wanted = ["--html", str(tmp_path / "c.html"), "--svg", str(tmp_path / "c.svg"), "--json", str(tmp_path / "c.json")]
    result = runner.invoke(app, ["report", "--compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), *wanted])
    assert result.exit_code == 0, result.output
    assert "higher than A's" in result.stdout
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["format"] == "inkgate.comparison/2"
    assert found["goodput"]["verdict"] == "different"
    assert "a" not in found
    assert found["names"] == ["a.json", "b.json"]
    assert len(found["levels"]) == 2
    assert "a.json" in (tmp_path / "c.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere.json"], "Can't read"),
        (["run.json", "--html", "page.txt"], "should end in .html"),
        (["run.json", "run.json"], "Give one FILE"),
        (["--compare", "run.json"], "takes two files; 1 was given"),
        (["--compare", "run.json", "tune.json"], "only load tests and evaluations can be compared"),
        (["--compare", "run.json", "run.json", "--csv", "x.csv"], "--csv does not work"),
    ],
)
def test_a_wrong_call_is_told_with_exit_status_2(arguments: list[str], why: str, tmp_path: Path) -> None:
    write_report(SHORT, tmp_path / "run.json")
    write_report(tune_report(), tmp_path / "tune.json")
    here = [str(tmp_path / each) if each.endswith((".json", ".txt", ".csv")) else each for each in arguments]
    result = runner.invoke(app, ["report", *here])
    assert result.exit_code == 2
    assert why in result.stderr
