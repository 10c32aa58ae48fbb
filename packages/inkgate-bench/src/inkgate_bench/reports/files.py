"""Reports as files: reading them back, and writing them as the file's suffix says."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from inkgate_bench.accuracy.results import FORMAT as ACCURACY_FORMAT
from inkgate_bench.accuracy.results import AccuracyReport
from inkgate_bench.load.report import write_json, write_points_csv
from inkgate_bench.load.results import FORMAT as LOAD_FORMAT
from inkgate_bench.load.results import LoadReport
from inkgate_bench.reports.accuracy_page import accuracy_charts, accuracy_headline, accuracy_html
from inkgate_bench.reports.charts import as_sheet
from inkgate_bench.reports.comparison import FORMAT as COMPARISON_FORMAT
from inkgate_bench.reports.comparison import LoadComparison
from inkgate_bench.reports.comparison_page import comparison_charts, comparison_html
from inkgate_bench.reports.load_charts import load_charts
from inkgate_bench.reports.load_page import load_headline, load_html
from inkgate_bench.reports.tune_charts import tune_charts
from inkgate_bench.reports.tune_page import tune_headline, tune_html
from inkgate_bench.tune.results import FORMAT as TUNE_FORMAT
from inkgate_bench.tune.results import TuneReport

Report = LoadReport | TuneReport | AccuracyReport

_LOAD = TypeAdapter(LoadReport)
_TUNE = TypeAdapter(TuneReport)
_ACCURACY = TypeAdapter(AccuracyReport)
_COMPARISON = TypeAdapter(LoadComparison)
_HEAD = TypeAdapter(dict[str, object])
MAX_BYTES = 256 * 1024 * 1024


class ReportUnreadable(Exception):
    """The file is no report that this version reads; the message says why."""


class ReportUnwritable(Exception):
    """The report can't be written as that kind of file; the message says what would help."""


def load_report(file: Path) -> Report:
    """A report of `inkgate loadtest`, `inkgate tune` or `inkgate eval` from its JSON file.

    Raises:
        ReportUnreadable: it can't be read, or is no such report.
    """
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ReportUnreadable(f"{file} is larger than any report: {file.stat().st_size} bytes.")
        content = file.read_bytes()
    except OSError as error:
        raise ReportUnreadable(f"Can't read {file}: {error.strerror}.") from error
    try:
        kind = _HEAD.validate_json(content).get("format")
        if kind == LOAD_FORMAT:
            return _LOAD.validate_json(content)
        if kind == TUNE_FORMAT:
            return _TUNE.validate_json(content)
        if kind == ACCURACY_FORMAT:
            return _ACCURACY.validate_json(content)
    except ValidationError as error:
        raise ReportUnreadable(f"{file} is not a report of `inkgate loadtest`, `tune` or `eval`.") from error
    known = f"{LOAD_FORMAT!r}, {TUNE_FORMAT!r} and {ACCURACY_FORMAT!r}"
    raise ReportUnreadable(f"{file} has the format {kind!r}; this version reads {known}.")


def write_report(report: Report | LoadComparison, file: Path) -> None:
    """Write it as `file`'s suffix says: .html, .svg, .png, .json, or .csv; make its folder. Blocking, for seconds.

    Raises:
        ReportUnwritable: there is no such form of the report, or there is nothing to draw.
        OSError: the file can't be written.
    """
    forms = _forms(report)
    write = forms.get(file.suffix.lower())
    if write is None:
        raise ReportUnwritable(f"{file.name} should end in one of {', '.join(forms)}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file)


def _forms(report: Report | LoadComparison) -> dict[str, Callable[[Path], object]]:
    """Returns by suffix what writes the report to a file."""
    if isinstance(report, LoadReport):
        headline, charts, page = load_headline(report), partial(load_charts, report), partial(load_html, report)
    elif isinstance(report, TuneReport):
        headline, charts, page = tune_headline(report), partial(tune_charts, report), partial(tune_html, report)
    elif isinstance(report, AccuracyReport):
        headline = accuracy_headline(report)
        charts, page = partial(accuracy_charts, report), partial(accuracy_html, report)
    else:
        headline = " and ".join(report.names)
        charts, page = partial(comparison_charts, report), partial(comparison_html, report)

    def write_sheet(file: Path) -> None:
        drawn = tuple(charts())
        if not drawn:
            raise ReportUnwritable("There is too little data for a chart; the HTML report has all figures as tables.")
        file.write_bytes(as_sheet(drawn, headline, file.suffix.lower().removeprefix(".")))

    forms: dict[str, Callable[[Path], object]] = {
        ".html": lambda file: file.write_text(page(), encoding="utf-8"),
        ".svg": write_sheet,
        ".png": write_sheet,
    }
    if isinstance(report, LoadReport):
        return forms | {".json": partial(write_json, report), ".csv": partial(write_points_csv, report)}
    if isinstance(report, AccuracyReport):
        return forms
    forms[".json"] = lambda file: file.write_bytes(_as_json(report) + b"\n")
    if isinstance(report, TuneReport):
        forms[".csv"] = lambda file: file.write_text(_trials_csv(report), encoding="utf-8", newline="")
    return forms


def _as_json(report: TuneReport | LoadComparison) -> bytes:
    if isinstance(report, TuneReport):
        return _TUNE.dump_json(report, indent=1)
    content = {"format": COMPARISON_FORMAT} | _COMPARISON.dump_python(report, mode="json", exclude={"a", "b"})
    return _HEAD.dump_json(content, indent=1)


def _trials_csv(report: TuneReport) -> str:
    paths = [parameter.path for parameter in report.parameters]
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(
        ["number", "purpose", *paths, "outcome", "seconds", "goodput_per_s", "p50_s", "p95_s", "error_share",
         "kv_share", "preemptions", "restarts", "memory_mb", "accuracy", "others_cores", "why"]
    )  # fmt: skip
    for trial in report.trials:
        run, server = trial.summary, trial.server
        latency = run.latency if run is not None else None
        writer.writerow([
            trial.number, trial.purpose.value, *(trial.settings.get(path) for path in paths), trial.outcome.value,
            trial.seconds, run.goodput if run else None, latency.p50_s if latency else None,
            latency.p95_s if latency else None, run.error_share if run else None,
            *((server.kv_share, server.preemptions, server.restarts, server.memory_mb) if server else (None,) * 4),
            trial.accuracy, trial.other_load_cores, _as_text(trial.why),
        ])  # fmt: skip
    return written.getvalue()


def _as_text(words: str) -> str:
    """Mark as text what a spreadsheet would take for a formula."""
    return f"'{words}" if words.startswith(("=", "+", "-", "@", "\t", "\r")) else words
