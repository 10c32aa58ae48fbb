"""Reports to files and back: the kind of file by its suffix."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from inkgate.bench.load.files import write_points_csv
from inkgate.bench.load.results import FORMAT as LOAD_FORMAT
from inkgate.bench.load.results import LoadReport
from inkgate.bench.reports.charts import MISSING, REMEDY, Chart, drawer
from inkgate.bench.reports.load_charts import load_charts
from inkgate.bench.reports.load_page import load_headline, load_html
from inkgate.bench.reports.tune_charts import tune_charts
from inkgate.bench.reports.tune_page import tune_headline, tune_html
from inkgate.bench.tune.results import FORMAT as TUNE_FORMAT
from inkgate.bench.tune.results import TuneReport

Report = LoadReport | TuneReport

SUFFIXES = (".html", ".svg", ".png", ".csv", ".json")
_LOAD = TypeAdapter(LoadReport)
_TUNE = TypeAdapter(TuneReport)
_HEAD = TypeAdapter(dict[str, object])
MOST_BYTES = 256 * 1024 * 1024


class ReportUnreadable(Exception):
    """The file is no report that this version reads; the message says why."""


class ReportUnwritable(Exception):
    """The report can't be written as that kind of file; the message says what would help."""


def load_report(file: Path) -> Report:
    """A report of `inkgate loadtest` or `inkgate tune` from its JSON file.

    Raises:
        ReportUnreadable: it can't be read, or is no such report.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ReportUnreadable(f"{file} is larger than any report: {file.stat().st_size} bytes.")
        content = file.read_bytes()
    except OSError as error:
        raise ReportUnreadable(f"{file} can't be read: {error.strerror}.") from error
    try:
        kind = _HEAD.validate_json(content).get("format")
        if kind == LOAD_FORMAT:
            return _LOAD.validate_json(content)
        if kind == TUNE_FORMAT:
            return _TUNE.validate_json(content)
    except ValidationError as error:
        raise ReportUnreadable(f"{file} is no report of `inkgate loadtest` or `inkgate tune`.") from error
    raise ReportUnreadable(f"{file} is in the format {kind!r}; this version reads {LOAD_FORMAT!r} and {TUNE_FORMAT!r}.")


def write_report(report: Report, file: Path) -> None:
    """Writes it as `file`'s suffix says: .html, .svg, .png, .csv or .json; folders are made. Blocking, for seconds.

    Raises:
        ReportUnwritable: the suffix is none of these, or there is nothing to draw, or nothing to draw with.
        OSError: the file can't be written.
    """
    kinds: dict[str, Callable[[Report, Path], None]] = {
        ".html": _write_html,
        ".svg": partial(_write_charts, "svg"),
        ".png": partial(_write_charts, "png"),
        ".csv": _write_csv,
        ".json": _write_json,
    }
    write = kinds.get(file.suffix.lower())
    if write is None:
        raise ReportUnwritable(f"{file.name} should end in one of {', '.join(SUFFIXES)}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    write(report, file)


def report_html(report: Report) -> str:
    """One self-contained HTML file."""
    return load_html(report, drawer()) if isinstance(report, LoadReport) else tune_html(report, drawer())


def write_charts(charts: Iterable[Chart], title: str, file: Path, kind: str) -> None:
    """All charts on one sheet. `kind`: `svg` or `png`.

    Raises:
        ReportUnwritable: matplotlib is missing, or there is no chart.
    """
    drawn = tuple(charts)
    if not drawn:
        raise ReportUnwritable("There is too little in it for a chart; the HTML report has all figures as tables.")
    try:
        from inkgate.bench.reports.drawing import write
    except ModuleNotFoundError as error:
        if error.name != MISSING:
            raise
        raise ReportUnwritable(f"Charts are drawn by matplotlib, which is not installed: {REMEDY}.") from error
    content = io.BytesIO()
    write(drawn, title, content, kind)
    file.write_bytes(content.getvalue())


def _write_html(report: Report, file: Path) -> None:
    file.write_text(report_html(report), encoding="utf-8")


def _write_charts(kind: str, report: Report, file: Path) -> None:
    if isinstance(report, LoadReport):
        write_charts(load_charts(report), load_headline(report), file, kind)
    else:
        write_charts(tune_charts(report), tune_headline(report), file, kind)


def _write_json(report: Report, file: Path) -> None:
    content = _LOAD.dump_json(report, indent=1) if isinstance(report, LoadReport) else _TUNE.dump_json(report, indent=1)
    file.write_bytes(content + b"\n")


def _write_csv(report: Report, file: Path) -> None:
    if isinstance(report, LoadReport):
        write_points_csv(report, file)
        return
    paths = [dial.path for dial in report.parameters]
    head = ["number", "purpose", *paths, "outcome", "seconds", "goodput_per_s", "p50_s", "p95_s", "error_share",
            "kv_share", "preemptions", "restarts", "memory_mb", "accuracy", "others_cores", "why"]  # fmt: skip
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(head)
        for trial in report.trials:
            run, server = trial.summary, trial.server
            latency = run.latency if run is not None else None
            writer.writerow([
                trial.number, trial.purpose.value, *(trial.settings.get(path) for path in paths), trial.outcome.value,
                trial.seconds, run.goodput if run else None, latency.p50_s if latency else None,
                latency.p95_s if latency else None, run.error_share if run else None,
                *((server.kv_share, server.preemptions, server.restarts, server.memory_mb) if server else (None,) * 4),
                trial.accuracy, trial.others_cores, _as_text(trial.why),
            ])  # fmt: skip


def _as_text(words: str) -> str:
    """What a spreadsheet would take for a formula is marked as text."""
    return f"'{words}" if words.startswith(("=", "+", "-", "@", "\t", "\r")) else words
