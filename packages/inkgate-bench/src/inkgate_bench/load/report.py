"""A load test's report: put together, written to files, and as text for a terminal."""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
from pydantic import TypeAdapter

from inkgate import __version__
from inkgate.engines.workers.shares import usable_cpus
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader
from inkgate.telemetry.processes import processor_name
from inkgate_bench.load.plan import Load
from inkgate_bench.load.results import (
    Axis,
    Knee,
    Latency,
    LoadReport,
    LoadSummary,
    MachineInfo,
    ServerSide,
)
from inkgate_bench.load.steps import StepResults
from inkgate_bench.load.tables import level_table, level_text, ms

_REPORT = TypeAdapter(LoadReport)
_NO_LATENCY = (None,) * 6
POINT_COLUMNS = (
    *("level", "run", "seconds", "offered_per_s", "answered_per_s", "goodput_per_s", "pages", "error_share"),
    *("in_flight", "mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "most_s"),
    *("refused", "rejected", "failed", "timed_out", "degraded", *(field.name for field in fields(ServerSide))),
)
SECOND_COLUMNS = ("at_s", "level", "offered", "answered", "in_time", "errors", "in_flight", "p50_s", "p99_s")


def assemble(load: Load, results: StepResults, began: datetime, asked: Mapping[str, str]) -> LoadReport:
    """The whole report, of this machine. Blocks for milliseconds.

    `began`: with its time zone; `asked`: the command's options by name, without keys.
    """
    return LoadReport(
        began=began.isoformat(timespec="seconds"),
        target=_without_secrets(load.target.url),
        protocol=load.target.protocol.value,
        axis=load.plan.axis,
        deadline_s=load.plan.deadline_s,
        max_error=load.plan.max_error,
        points=results.points,
        timeline=results.timeline,
        own=results.own,
        machine=this_machine(),
        knee=results.knee,
        asked=dict(asked),
        partial=results.partial,
        notes=results.notes,
    )


def _without_secrets(url: str) -> str:
    """The address without user, password and query, any of which may be secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def this_machine() -> MachineInfo:
    """This machine, which is the service's only where that runs here. Blocks for milliseconds where there are GPUs."""
    return MachineInfo(
        name=platform.node(),
        processor=processor_name(),
        cores=len(usable_cpus()),
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        gpus=_gpus(),
        versions={"inkgate": __version__, "python": platform.python_version()},
    )


def _gpus() -> tuple[str, ...]:
    try:
        with NvmlReader() as reader:
            return tuple(reading.name or f"GPU {reading.index}" for reading in reader.read())
    except GpuUnavailable:
        return ()


def write_json(report: LoadReport, file: Path) -> None:
    """Writes all of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_REPORT.dump_json(report, indent=2) + b"\n")


def write_points_csv(report: LoadReport, file: Path) -> None:
    """A row for each run; the server's figures are those of all runs of its level."""
    _write_csv(file, POINT_COLUMNS, _point_rows(report))


def write_seconds_csv(report: LoadReport, file: Path) -> None:
    """A row for each second."""
    seconds = report.timeline
    rows = ((s.at, s.level, s.offered, s.answered, s.in_time, s.errors, s.in_flight, s.p50_s, s.p99_s) for s in seconds)
    _write_csv(file, SECOND_COLUMNS, rows)


def _point_rows(report: LoadReport) -> Iterator[Sequence[object]]:
    for point in report.points:
        server = astuple(point.server or ServerSide())
        for number, run in enumerate(point.runs, start=1):
            yield (
                *(point.level, number, run.seconds, run.offered_per_s, run.answered_per_s, run.goodput, run.pages),
                *(run.error_share, run.in_flight, *(astuple(run.latency) if run.latency else _NO_LATENCY)),
                *(run.refused, run.rejected, run.failed, run.timed_out, run.degraded, *server),
            )


def _write_csv(file: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])


def report_text(report: LoadReport) -> str:
    """The figures of a single run; of several levels the curve and its knee."""
    lines = [f"{report.target} ({report.protocol})" + (", ended early: partial results" if report.partial else "")]
    if len(report.points) > 1:
        lines += ["", curve_text(report)]
    for point in report.points if len(report.points) == 1 else ():
        for run in point.runs:
            title = f"{level_text(report.axis, point.level)}, {run.seconds:.1f} s"
            lines += ["", title, *_run_lines(run, report.deadline_s)]
    if report.own.bottleneck:
        lines += ["", f"The load generator was the bottleneck: {report.own.why}. The figures are not the service's."]
    else:
        lines.append(
            _line("generator", f"{report.own.busy_share:.0%}", f"of a core, p99 {ms(report.own.late_p99_s)} late")
        )
    return "\n".join(lines)


def _run_lines(run: LoadSummary, deadline_s: float) -> Iterator[str]:
    yield _line("offered", f"{run.offered_per_s:.2f}/s", f"{run.offered} requests, {run.in_flight:.1f} in flight")
    yield _line("answered", f"{run.answered_per_s:.2f}/s", f"{run.answered}; {run.error_share:.2%} errors")
    yield _line("in time", f"{run.goodput:.2f}/s", f"{run.in_time} within {deadline_s:g} s; {run.pages} pages")
    if run.latency is not None:
        yield _line("latency", ms(run.latency.p50_s), _percentiles(run.latency))
    if run.refusal is not None:
        yield _line("refusals", ms(run.refusal.p50_s), _percentiles(run.refusal))
    if run.degraded:
        yield _line("degraded", str(run.degraded), "responses at a degraded level")
    for kind, count in run.errors.items():
        yield _line("error", str(count), kind)


def _line(name: str, value: str, more: str) -> str:
    return f"  {name:<12} {value:>12}  {more}"


def _percentiles(latency: Latency) -> str:
    named = {"p90": latency.p90_s, "p95": latency.p95_s, "p99": latency.p99_s, "max": latency.most_s}
    return "p50, " + ", ".join(f"{name} {ms(value)}" for name, value in named.items())


def curve_text(report: LoadReport) -> str:
    """A row for each level, with the means of its runs, and the knee."""
    names, rows = level_table(report.points, report.axis)
    knee = report.knee.level if report.knee else None
    marks = ("<- knee" if point.level == knee else "" for point in report.points)
    rows = [[*names, ""], *([*row, mark] for row, mark in zip(rows, marks, strict=True))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if report.knee is not None:
        lines += ["", *_knee_lines(report.knee, report.axis)]
    return "\n".join([*lines, *report.notes])


def _knee_lines(knee: Knee, axis: Axis) -> Iterator[str]:
    if knee.level is None or knee.goodput is None:
        yield f"Knee: not reached. {knee.why}"
    else:
        deviation = "" if knee.deviation is None else f" ± {knee.deviation:.2f}"
        level = level_text(axis, knee.level)
        yield f"Knee: {level}, {knee.goodput:.2f}{deviation} responses/s in time. {knee.why}"
    yield f"Method: {knee.method}."
