"""The charts of a load test: goodput with its saturation point, latency, outcomes, server metrics, and time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from inkgate_bench.load.results import (
    LoadPoint,
    LoadReport,
    LoadSummary,
    Second,
    ServerSide,
    mean_goodput,
    mean_latency,
)
from inkgate_bench.reports.charts import (
    DASHES,
    MARKERS,
    WIDE,
    Palette,
    ReportChart,
    error_bars,
    legend,
    levels_axis,
    seconds_axis,
    target_line,
)
from inkgate_bench.reports.wording import axis_words, level_words, number, plain, seconds

_MAX_SPANS = 180
"""Points along a line of the timeline: more look like a smear. Longer runs are shown as means over several seconds."""
OUTCOMES: tuple[tuple[str, Callable[[LoadSummary], int]], ...] = (
    ("in time", lambda run: run.in_time),
    ("late", lambda run: run.answered - run.in_time),
    ("refused", lambda run: run.refused),
    ("rejected", lambda run: run.rejected),
    ("failed", lambda run: run.failed + run.timed_out),
)
"""How requests end, from best to worst, and how many of a run did."""
_HATCHES = ("", "////", "----", "xxxx", "\\\\\\\\")
"""They tell outcomes apart on paper without colours."""


def load_charts(report: LoadReport) -> Iterator[ReportChart]:
    """The charts that there is data for: a curve takes two points."""
    points = measured_points(report)
    if len(points) > 1:
        yield _goodput_chart(report, points)
        yield ReportChart(
            "Latency by load",
            "From the moment a request was due to the end of its response; means of the repeats.",
            "Percentiles of latency by load; the table below has the values.",
            partial(_draw_latency, report),
        )
        yield ReportChart(
            "Outcomes by load",
            "Shares of all requests that were due.",
            "Shares of requests in time, late, refused and failed, by load; the table below has the values.",
            partial(_draw_outcomes, report),
        )
        if any(_server_lines(points)):
            yield ReportChart(
                "Server utilization by load",
                "The highest values at each step.",
                "Use of the GPU, its memory and the KV cache by load; the table below has the values.",
                partial(_draw_server, report),
                (WIDE[0], 2.8),
            )
    if len(report.timeline) > 1:
        yield _timeline_chart(report)


def measured_points(report: LoadReport) -> list[LoadPoint]:
    return [point for point in report.points if point.runs]


def saturated_level(report: LoadReport) -> float | None:
    """The load of the saturation point; None where it was not reached."""
    return report.knee.level if report.knee is not None and report.knee.reached else None


def best_point(points: Sequence[LoadPoint]) -> LoadPoint:
    """The load with the highest mean goodput."""
    return max(points, key=lambda point: mean_goodput(point.runs))


def outcome_shares(runs: Sequence[LoadSummary]) -> tuple[float, ...]:
    """Shares of the requests offered in all runs together, one for each of `OUTCOMES`; 0 where none were offered."""
    offered = sum(run.offered for run in runs)
    return tuple(sum(map(count, runs)) / offered if offered else 0.0 for _, count in OUTCOMES)


def _goodput_chart(report: LoadReport, points: Sequence[LoadPoint]) -> ReportChart:
    level = saturated_level(report)
    said = "saturation was not reached" if level is None else f"saturation at {level_words(report.axis, level)}"
    best = best_point(points)
    at_best = f"at most {number(mean_goodput(best.runs))} per second at {level_words(report.axis, best.level)}"
    return ReportChart(
        "Goodput by load",
        "Points are means of the repeats, bars span the lowest to the highest. "
        f"Goodput counts responses within {seconds(report.deadline_s, exact=True)}.",
        f"Goodput by load: {at_best}; {said}.",
        partial(_draw_goodput, report),
        WIDE,
    )


def _draw_goodput(report: LoadReport, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    points = measured_points(report)
    levels = [point.level for point in points]
    answered = [float(np.mean([run.answered_per_s for run in point.runs])) for point in points]
    good = [mean_goodput(point.runs) for point in points]
    if any(every - in_time > 0.02 * every for every, in_time in zip(answered, good, strict=True)):
        axes.plot(levels, answered, color=palette.five, linestyle=DASHES[2], marker=MARKERS[1], label="with late ones")
    bars = error_bars([[run.goodput for run in point.runs] for point in points])
    axes.errorbar(levels, good, yerr=bars, color=palette.one, marker=MARKERS[0], capsize=2.5, label="goodput")
    levels_axis(axes, report.axis, levels)
    axes.set_ylim(0, 1.16 * max(*answered, *good, 1e-09))
    axes.set_ylabel("responses per second")
    level = saturated_level(report)
    if level is not None:
        axes.axvline(level, color=palette.one, linewidth=1.2)
        axes.annotate(
            f"saturation: {plain(level)}", (level, 1.0), (5, -10), ("data", "axes fraction"), "offset points",
            color=palette.one, fontweight="bold",
        )  # fmt: skip
    legend(axes)


def _draw_latency(report: LoadReport, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    known = [(point.level, latency) for point in report.points if (latency := mean_latency(point.runs)) is not None]
    levels = [level for level, _ in known]
    percentiles = {
        "p50": [latency.p50_s for _, latency in known],
        "p95": [latency.p95_s for _, latency in known],
        "p99": [latency.p99_s for _, latency in known],
    }
    colours = palette.one, palette.two, palette.four
    for (name, values), colour, dash, marker in zip(percentiles.items(), colours, DASHES, MARKERS, strict=False):
        axes.plot(levels, values, color=colour, linestyle=dash, marker=marker, label=name)
    target_line(axes, palette, report.deadline_s, max(percentiles["p99"], default=0.0))
    seconds_axis(axes)
    levels_axis(axes, report.axis, levels)
    legend(axes)


def _draw_outcomes(report: LoadReport, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    points = measured_points(report)
    places = np.arange(len(points))
    base = np.zeros(len(points))
    shares = 100 * np.array([outcome_shares(point.runs) for point in points])
    colours = palette.one, palette.two, palette.five, palette.four, palette.bad
    for (name, _), heights, colour, hatch in zip(OUTCOMES, shares.T, colours, _HATCHES, strict=True):
        if heights.any():
            axes.bar(places, heights, bottom=base, width=0.78, color=colour, hatch=hatch, label=name)
        base += heights
    axes.set_xticks(places, [plain(point.level) for point in points])
    axes.set_xlabel(axis_words(report.axis))
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of requests")
    legend(axes)


def _server_lines(points: Sequence[LoadPoint]) -> Iterator[tuple[str, list[float]]]:
    """The utilizations that the server reported: name, and per cent at each step."""
    shares: tuple[tuple[str, Callable[[ServerSide], float | None]], ...] = (
        ("GPU", lambda server: server.gpu_share),
        ("KV cache", lambda server: server.kv_share),
        ("GPU memory", lambda server: server.gpu_memory_share),
    )
    for name, share_of in shares:
        values = [share_of(point.server) if point.server else None for point in points]
        if any(value is not None for value in values):
            yield name, [math.nan if value is None else 100 * value for value in values]


def _draw_server(report: LoadReport, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    points = measured_points(report)
    levels = [point.level for point in points]
    colours = palette.one, palette.two, palette.three
    for (name, values), colour, dash, marker in zip(_server_lines(points), colours, DASHES, MARKERS, strict=False):
        axes.plot(levels, values, color=colour, linestyle=dash, marker=marker, label=name)
    axes.set_ylim(0, 105)
    axes.set_ylabel("% in use")
    levels_axis(axes, report.axis, levels)
    legend(axes)


@dataclass(frozen=True, slots=True)
class _Span:
    """Some seconds of one level. Rates are a second; p50 is weighted by responses, p99 the highest."""

    at: float
    due: float
    in_time: float
    errors: float
    p50_s: float
    p99_s: float


def _timeline_chart(report: LoadReport) -> ReportChart:
    length = _span_length(report.timeline)
    rates = "Above: requests due and responses in time" + (f", means over {length} seconds" if length > 1 else "")
    several = len({second.level for second in report.timeline}) > 1
    return ReportChart(
        "Over time" if length > 1 else "Every second",
        f"{rates}{'; numbers are the load' if several else ''}. "
        f"Below: percentiles of latency{', the highest p99 of each span' if length > 1 else ''}.",
        f"{len(report.timeline)} seconds of offered load, responses in time and latency.",
        partial(_draw_timeline, report),
        (WIDE[0], 4.4),
    )


def _span_length(timeline: Sequence[Second]) -> int:
    return math.ceil(len(timeline) / _MAX_SPANS)


def _steps(timeline: Sequence[Second]) -> list[list[Second]]:
    """Consecutive seconds with the same load."""
    steps: list[list[Second]] = []
    for second in timeline:
        if steps and steps[-1][-1].level == second.level:
            steps[-1].append(second)
        else:
            steps.append([second])
    return steps


def _spans(step: Sequence[Second], length: int) -> Iterator[_Span]:
    for begin in range(0, len(step), length):
        part = step[begin : begin + length]
        weights = [(second.answered, second.p50_s) for second in part if second.p50_s is not None]
        answers = sum(weight for weight, _ in weights)
        yield _Span(
            at=sum(second.at for second in part) / len(part),
            due=sum(second.offered for second in part) / len(part),
            in_time=sum(second.in_time for second in part) / len(part),
            errors=sum(second.errors for second in part) / len(part),
            p50_s=sum(weight * p50 for weight, p50 in weights) / answers if answers else math.nan,
            p99_s=max((second.p99_s for second in part if second.p99_s is not None), default=math.nan),
        )


def _draw_timeline(report: LoadReport, figure: FigureBase, palette: Palette) -> None:
    rates, latencies = figure.subplots(2, 1, sharex=True)
    steps = _steps(report.timeline)
    spans = [span for step in steps for span in _spans(step, _span_length(report.timeline))]
    at = [span.at for span in spans]
    rates.plot(at, [span.due for span in spans], color=palette.five, linewidth=1.1, linestyle=DASHES[2], label="due")
    rates.plot(at, [span.in_time for span in spans], color=palette.one, linewidth=1.4, label="in time")
    errors = [span.errors for span in spans]
    if any(errors):
        rates.plot(at, errors, color=palette.bad, linewidth=1.1, linestyle=DASHES[1], label="errors")
    rates.set_ylim(0, 1.15 * max(span.due for span in spans) or 1)
    rates.set_ylabel("per second")
    rates.tick_params(labelbottom=False)
    legend(rates)
    latencies.plot(at, [span.p50_s for span in spans], color=palette.one, linewidth=1.2, label="p50")
    p99s = [span.p99_s for span in spans]
    latencies.plot(at, p99s, color=palette.four, linewidth=1.2, linestyle=DASHES[3], label="p99")
    target_line(latencies, palette, report.deadline_s, max((p99_s for p99_s in p99s if p99_s > 0), default=0.0))
    seconds_axis(latencies)
    latencies.set_xlabel("seconds from the start")
    latencies.set_xlim(report.timeline[0].at - 1, report.timeline[-1].at + 1)
    legend(latencies)
    if len(steps) > 1:
        _mark_steps(rates, latencies, steps, palette)


def _mark_steps(rates: Axes, latencies: Axes, steps: Sequence[Sequence[Second]], palette: Palette) -> None:
    """Shade every other step, and write its load at the top where there is room."""
    length = steps[-1][-1].at - steps[0][0].at or 1.0
    width = rates.figure.bbox.width / rates.figure.dpi
    for number_of, step in enumerate(steps):
        begin, end = step[0].at - 0.5, step[-1].at + 0.5
        if number_of % 2:
            for axes in (rates, latencies):
                axes.axvspan(begin, end, color=palette.grid, alpha=0.35, linewidth=0, zorder=0)
        if width * (end - begin) / length > 0.25:
            rates.text(
                (begin + end) / 2, 0.985, plain(step[0].level), transform=rates.get_xaxis_transform(),
                ha="center", va="top", color=palette.muted, fontsize=8,
            )  # fmt: skip
