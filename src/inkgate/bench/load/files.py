"""Writes a load test's report to files, and reads it back."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.results import FORMAT, LoadReport, ServerSide

_REPORT = TypeAdapter(LoadReport)
_SERVER = tuple(field.name for field in fields(ServerSide))
_NO_LATENCY = (None,) * 6
POINT_COLUMNS = (
    *("level", "run", "seconds", "offered_per_s", "answered_per_s", "goodput_per_s", "pages", "error_share"),
    *("in_flight", "mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "most_s"),
    *("refused", "rejected", "failed", "timed_out", "degraded", *_SERVER),
)
SECOND_COLUMNS = ("at_s", "level", "offered", "answered", "in_time", "errors", "in_flight", "p50_s", "p99_s")


def write_json(report: LoadReport, file: Path) -> None:
    """All of it, as `read_json` reads it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_REPORT.dump_json(report, indent=2) + b"\n")


def read_json(file: Path) -> LoadReport:
    """What `write_json` wrote.

    Raises:
        LoadImpossible: it can't be read, or is no load test's report of this version.
    """
    try:
        report = _REPORT.validate_json(file.read_bytes())
    except OSError as error:
        raise LoadImpossible(f"{file} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise LoadImpossible(f"{file} is no report of `inkgate loadtest`.") from error
    if report.format != FORMAT:
        raise LoadImpossible(f"{file} is a report in {report.format!r}; this version reads {FORMAT!r}.")
    return report


def write_points_csv(report: LoadReport, file: Path) -> None:
    """A row for each run of each step; what the server said stands in every run of a step."""
    _write(file, POINT_COLUMNS, _runs(report))


def write_seconds_csv(report: LoadReport, file: Path) -> None:
    """A row for each second of the load test."""
    seconds = report.timeline
    rows = ((s.at, s.level, s.offered, s.answered, s.in_time, s.errors, s.in_flight, s.p50_s, s.p99_s) for s in seconds)
    _write(file, SECOND_COLUMNS, rows)


def _runs(report: LoadReport) -> Iterator[Sequence[object]]:
    for point in report.points:
        said = astuple(point.server or ServerSide())
        for number, run in enumerate(point.runs, start=1):
            times = run.latency
            yield (
                *(point.level, number, run.seconds, run.offered_per_s, run.answered_per_s, run.goodput, run.pages),
                *(run.error_share, run.in_flight),
                *(
                    (times.mean_s, times.p50_s, times.p90_s, times.p95_s, times.p99_s, times.most_s)
                    if times
                    else _NO_LATENCY
                ),
                *(run.refused, run.rejected, run.failed, run.timed_out, run.degraded, *said),
            )


def _write(file: Path, columns: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(["" if value is None else _short(value) for value in row] for row in rows)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
