"""The charts of a load test: the curve with its knee, latencies, how requests ended, the server, and every second."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from inkgate.bench.load.results import LoadReport, Point, ServerSide
from inkgate.bench.reports.axes import deadline_line, legend, levels_axis, reach, seconds_axis
from inkgate.bench.reports.charts import DASHES, FIVE, FOUR, MARKERS, ONE, THREE, TWO, WIDE, Chart
from inkgate.bench.reports.endings import ENDINGS, ending_shares
from inkgate.bench.reports.timeline_chart import timeline_chart
from inkgate.bench.reports.wording import axis_words, interval, level_words, number, plain, seconds

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def load_charts(report: LoadReport) -> Iterator[Chart]:
    """Those that there is something for: a curve takes two points."""
    measured = [point for point in report.points if point.runs]
    if len(measured) > 1:
        yield _curve_chart(report)
        yield _latency_chart(report)
        yield _endings_chart(report)
        if any(_server_lines(measured)):
            yield _server_chart(report)
    if len(report.timeline) > 1:
        yield timeline_chart(report)


def _curve_chart(report: LoadReport) -> Chart:
    knee = report.knee
    said = "no knee was reached"
    if knee is not None and knee.reached and knee.level is not None:
        said = f"the knee is at {plain(knee.level)}, with a 95 % interval from {interval(knee.low, knee.high)}"
    deadline = seconds(report.deadline_s, exact=True)
    best = max(report.points, key=lambda point: goodput(point) if point.runs else 0.0)
    return Chart(
        "curve",
        "Answers in time, by load",
        f"Dots are means of a step's repeats, bars their least and most. In time: within {deadline}.",
        f"Goodput by load: at most {number(goodput(best))} a second at {level_words(report.axis, best.level)}; {said}.",
        partial(_curve, report),
        WIDE,
    )


def goodput(point: Point) -> float:
    """Answers in time a second, the mean of a point's runs."""
    return float(np.mean([run.goodput for run in point.runs]))


def _curve(report: LoadReport, figure: FigureBase) -> None:
    axes = figure.add_subplot()
    points = [point for point in report.points if point.runs]
    levels = [point.level for point in points]
    knee = report.knee
    answered = [float(np.mean([run.answered_per_s for run in point.runs])) for point in points]
    good = [goodput(point) for point in points]
    if any(late - intime > 0.02 * late for late, intime in zip(answered, good, strict=True)):
        axes.plot(levels, answered, color=FIVE, linestyle=DASHES[2], marker=MARKERS[1], label="late ones too")
    low, high = reach([[run.goodput for run in point.runs] for point in points])
    axes.errorbar(levels, good, yerr=(low, high), color=ONE, marker=MARKERS[0], capsize=2.5, label="answered in time")
    levels_axis(axes, report.axis, levels)
    axes.set_ylim(0, 1.16 * max(*answered, *good, 1e-09))
    axes.set_ylabel("a second")
    if knee is not None and knee.reached and knee.level is not None:
        if knee.low is not None and knee.high is not None:
            axes.axvspan(knee.low, knee.high, color=ONE, alpha=0.11, linewidth=0)
        axes.axvline(knee.level, color=ONE, linewidth=1.2)
        axes.annotate(
            f"knee: {plain(knee.level)}", (knee.level, 1.0), (5, -10), ("data", "axes fraction"), "offset points",
            color=ONE, fontweight="bold",
        )  # fmt: skip
    legend(axes)


def _latency_chart(report: LoadReport) -> Chart:
    return Chart(
        "latency",
        "Latency, by load",
        "From the moment a request was due to the end of its answer; means of the repeats.",
        "Percentiles of latency by load; the table below has the figures.",
        partial(_latency, report),
    )


def _latency(report: LoadReport, figure: FigureBase) -> None:
    axes = figure.add_subplot()
    points = [point for point in report.points if any(run.latency for run in point.runs)]
    levels = [point.level for point in points]
    percentiles = {
        "p50": [_mean([run.latency.p50_s for run in point.runs if run.latency]) for point in points],
        "p95": [_mean([run.latency.p95_s for run in point.runs if run.latency]) for point in points],
        "p99": [_mean([run.latency.p99_s for run in point.runs if run.latency]) for point in points],
    }
    for (name, values), colour, dash, marker in zip(
        percentiles.items(), (ONE, TWO, FOUR), DASHES, MARKERS, strict=False
    ):
        axes.plot(levels, values, color=colour, linestyle=dash, marker=marker, label=name)
    deadline_line(axes, report.deadline_s, max(percentiles["p99"], default=0.0))
    seconds_axis(axes)
    levels_axis(axes, report.axis, levels)
    legend(axes)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _endings_chart(report: LoadReport) -> Chart:
    return Chart(
        "endings",
        "How requests ended, by load",
        "Shares of all requests that were due.",
        "Shares of requests answered in time, late, refused and failed, by load; the table below has the figures.",
        partial(_endings, report),
    )


def _endings(report: LoadReport, figure: FigureBase) -> None:
    axes = figure.add_subplot()
    points = [point for point in report.points if point.runs]
    places = np.arange(len(points))
    base = np.zeros(len(points))
    shares = [ending_shares(point.runs) for point in points]
    for number_of, ending in enumerate(ENDINGS):
        heights = np.array([100 * each[number_of] for each in shares])
        if heights.any():
            axes.bar(
                places, heights, bottom=base, width=0.78, color=ending.colour, hatch=ending.hatch, label=ending.name
            )
        base += heights
    axes.set_xticks(places, [plain(point.level) for point in points])
    axes.set_xlabel(axis_words(report.axis))
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of requests")
    legend(axes)


Line = tuple[str, list[float], str]


def _server_lines(points: Sequence[Point]) -> Iterator[Line]:
    """Shares that the server told of at every step: the name, per cent, and the colour."""
    shares: tuple[tuple[str, Callable[[ServerSide], float | None], str], ...] = (
        ("GPU", lambda server: server.gpu_share, ONE),
        ("KV cache", lambda server: server.kv_share, TWO),
        ("GPU memory", lambda server: server.gpu_memory_share, THREE),
    )
    for name, share_of, colour in shares:
        values = [share_of(point.server) if point.server else None for point in points]
        if any(value is not None for value in values):
            yield name, [math.nan if value is None else 100 * value for value in values], colour


def _server_chart(report: LoadReport) -> Chart:
    return Chart(
        "server",
        "What the server said, by load",
        "The highest seen at each step.",
        "Use of the GPU, its memory and the KV cache by load; the table below has the figures.",
        partial(_server, report),
        (8.6, 2.8),
    )


def _server(report: LoadReport, figure: FigureBase) -> None:
    axes = figure.add_subplot()
    points = [point for point in report.points if point.runs]
    levels = [point.level for point in points]
    for (name, values, colour), dash, marker in zip(_server_lines(points), DASHES, MARKERS, strict=False):
        axes.plot(levels, values, color=colour, linestyle=dash, marker=marker, label=name)
    axes.set_ylim(0, 105)
    axes.set_ylabel("% in use")
    levels_axis(axes, report.axis, levels)
    legend(axes)
