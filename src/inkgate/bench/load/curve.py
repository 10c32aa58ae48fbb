"""The curve of a load test in steps, and its knee, in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inkgate.bench.load.knee import error_share
from inkgate.bench.load.results import Axis, Knee, LoadReport, Point, ServerSide
from inkgate.bench.load.spread import mean_goodput

_HEADINGS = ("answered/s", "in time/s", "p50", "p95", "p99", "errors")
_MARK = "<- knee"


def shown_curve(report: LoadReport) -> str:
    """A row for each step, its runs together, and what the knee is."""
    name = "at once" if report.axis is Axis.CONCURRENCY else "offered/s"
    said = [column for column in _SERVER if any(_said(point.server, column) for point in report.points)]
    rows = [[name, "runs", *_HEADINGS, *said, ""]]
    knee = report.knee.level if report.knee else None
    for point in report.points:
        mark = _MARK if point.level == knee else ""
        rows.append([*_row(point), *(_said(point.server, column) or "-" for column in said), mark])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if report.knee is not None:
        lines += ["", *_knee(report.knee, report.axis)]
    return "\n".join([*lines, *report.notes])


def _row(point: Point) -> list[str]:
    seconds = sum(run.seconds for run in point.runs)
    answered = sum(run.answered for run in point.runs) / seconds if seconds else 0.0
    times = [run.latency for run in point.runs if run.latency is not None]
    return [
        f"{point.level:g}",
        f"{len(point.runs)}",
        f"{answered:.2f}",
        f"{mean_goodput(point):.2f}",
        _mean_ms([time.p50_s for time in times]),
        _mean_ms([time.p95_s for time in times]),
        _mean_ms([time.p99_s for time in times]),
        f"{error_share(point):.2%}",
    ]


def _mean_ms(values: Sequence[float]) -> str:
    """The mean of runs' percentiles."""
    if not values:
        return "-"
    seconds = sum(values) / len(values)
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


_SERVER = ("KV", "running", "waiting", "preempted", "restarts", "GPU", "GPU memory", "memory")


def _said(server: ServerSide | None, column: str) -> str:
    """Empty where the service does not say it."""
    said = server or ServerSide()
    value = {
        "KV": said.kv_share,
        "running": said.running,
        "waiting": said.waiting,
        "preempted": said.preemptions,
        "restarts": said.restarts,
        "GPU": said.gpu_share,
        "GPU memory": said.gpu_memory_share,
        "memory": said.memory_mb,
    }[column]
    if value is None:
        return ""
    if column == "memory":
        return f"{value / 1000:.2f} GB"
    return f"{value:.0%}" if column in {"KV", "GPU", "GPU memory"} else f"{value:.4g}"


def _knee(knee: Knee, axis: Axis) -> Iterator[str]:
    if not knee.reached or knee.level is None:
        yield f"Knee: not reached. {knee.why}"
    else:
        unit = "at once" if axis is Axis.CONCURRENCY else "requests/s"
        yield (
            f"Knee: {knee.level:g} {unit} (95 %: {knee.low:g} to {knee.high:g}), {knee.goodput:.2f} answers in time a "
            f"second. {knee.why}"
        )
    yield f"Method: {knee.method}."
    if knee.usl is not None:
        law = knee.usl
        peak = "no peak" if law.peak is None else f"peak at {law.peak:.3g} at once"
        yield (
            f"Universal Scalability Law: {law.capacity:.3g}/s alone, contention {law.contention:.3g}, coherency "
            f"{law.coherency:.3g}, {peak}; R² {law.r_squared:.3f}."
        )
