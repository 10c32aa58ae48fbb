"""What the live view and the report show in the same words: levels, latencies, and the table of levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from inkgate_bench.load.results import Axis, LoadPoint, LoadSummary, ServerSide, error_share, mean_goodput, mean_latency
from inkgate_bench.statistics import summarize_repeats

_FIGURES = ("runs", "answered/s", "in time/s", "±", "p50", "p95", "p99", "errors")
_OF_REPEATS = frozenset({"runs", "±"})
_SERVER: dict[str, tuple[Callable[[ServerSide], float | None], str]] = {
    "KV": (lambda server: server.kv_share, "{:.0%}"),
    "running": (lambda server: server.running, "{:.4g}"),
    "waiting": (lambda server: server.waiting, "{:.4g}"),
    "preempted": (lambda server: server.preemptions, "{:.4g}"),
    "restarts": (lambda server: server.restarts, "{:.4g}"),
    "GPU": (lambda server: server.gpu_share, "{:.0%}"),
    "GPU memory": (lambda server: server.gpu_memory_share, "{:.0%}"),
    "memory": (lambda server: None if server.memory_mb is None else server.memory_mb / 1000, "{:.2f} GB"),
}
"""What the service reports, by column, and its format."""


def level_text(axis: Axis, level: float) -> str:
    """Such as `16 clients` or `2.5 requests/s`."""
    if axis is Axis.RATE:
        return f"{level:g} requests/s"
    return f"{level:g} client{'' if level == 1 else 's'}"


def ms(seconds: float | None) -> str:
    """A latency with its unit; `-` for none."""
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def server_columns(server: ServerSide | None) -> dict[str, str]:
    """What is known of the service, by column, as text."""
    if server is None:
        return {}
    figures = ((name, read(server), form) for name, (read, form) in _SERVER.items())
    return {name: form.format(value) for name, value, form in figures if value is not None}


def level_table(points: Sequence[LoadPoint], axis: Axis) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for each point: means of its runs, and what the service reported.

    Figures that the service doesn't report have no column; the number of runs and their deviation have one if there
    are repeats.
    """
    level = "clients" if axis is Axis.CONCURRENCY else "offered/s"
    rows = [{level: f"{point.level:g}", **_figures(point.runs), **server_columns(point.server)} for point in points]
    left_out = _OF_REPEATS if all(len(point.runs) == 1 for point in points) else frozenset[str]()
    left_out |= {name for name in _SERVER if not any(name in row for row in rows)}
    names = [name for name in (level, *_FIGURES, *_SERVER) if name not in left_out]
    return names, [[row.get(name, "-") for name in names] for row in rows]


def _figures(runs: Sequence[LoadSummary]) -> dict[str, str]:
    latency, deviation = mean_latency(runs), summarize_repeats([run.goodput for run in runs]).deviation
    percentiles = (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None)
    figures = (
        f"{len(runs)}",
        f"{fmean(run.answered_per_s for run in runs):.2f}",
        f"{mean_goodput(runs):.2f}",
        "-" if deviation is None else f"{deviation:.2f}",
        *map(ms, percentiles),
        f"{error_share(runs):.2%}",
    )
    return dict(zip(_FIGURES, figures, strict=True))
