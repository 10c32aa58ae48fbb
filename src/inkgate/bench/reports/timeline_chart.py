"""Every second of a load test: what was due and answered, how fast, and which load was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from inkgate.bench.load.results import LoadReport, Second
from inkgate.bench.reports.axes import deadline_line, legend, seconds_axis
from inkgate.bench.reports.charts import BAD, DASHES, FIVE, FOUR, GRID, MUTED, ONE, Chart
from inkgate.bench.reports.window import stretches
from inkgate.bench.reports.wording import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_SIZE = (8.6, 4.4)
_MOST = 180
"""Dots along a line: with more, a line is a smear. Longer runs are shown by means over several seconds."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Some seconds of one level. Rates are a second; p50 is their mean, weighed by answers, p99 the most."""

    at: float
    due: float
    in_time: float
    errors: float
    p50_s: float
    p99_s: float


def timeline_chart(report: LoadReport) -> Chart:
    """Of a report with two seconds at least."""
    together = _together(report.timeline)
    rates = "Above: requests due and answers in time" + (f", means over {together} seconds" if together > 1 else "")
    asked = "; numbers are the load asked for" if len({second.level for second in report.timeline}) > 1 else ""
    of_p99 = "; of p99 the longest is shown" if together > 1 else ""
    return Chart(
        "timeline",
        "Over time" if together > 1 else "Every second",
        f"{rates}{asked}. Below: percentiles of latency{of_p99}.",
        f"{len(report.timeline)} seconds of offered load, answers in time and latency.",
        partial(_timeline, report),
        _SIZE,
    )


def _together(timeline: Sequence[Second]) -> int:
    return math.ceil(len(timeline) / _MOST)


def _spans(step: Sequence[Second], together: int) -> Iterator[_Span]:
    for begin in range(0, len(step), together):
        part = step[begin : begin + together]
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


def _timeline(report: LoadReport, figure: FigureBase) -> None:
    rates, latencies = figure.subplots(2, 1, sharex=True)
    steps = list(stretches(report.timeline))
    spans = [span for step in steps for span in _spans(step, _together(report.timeline))]
    at = [span.at for span in spans]
    rates.plot(at, [span.due for span in spans], color=FIVE, linewidth=1.1, linestyle=DASHES[2], label="due")
    rates.plot(at, [span.in_time for span in spans], color=ONE, linewidth=1.4, label="answered in time")
    if any(span.errors for span in spans):
        rates.plot(
            at, [span.errors for span in spans], color=BAD, linewidth=1.1, linestyle=DASHES[1], label="not answered"
        )
    rates.set_ylim(0, 1.15 * max(span.due for span in spans) or 1)
    rates.set_ylabel("a second")
    rates.tick_params(labelbottom=False)
    legend(rates)
    latencies.plot(at, [span.p50_s for span in spans], color=ONE, linewidth=1.2, label="p50")
    latencies.plot(at, [span.p99_s for span in spans], color=FOUR, linewidth=1.2, linestyle=DASHES[3], label="p99")
    deadline_line(latencies, report.deadline_s, max((span.p99_s for span in spans if span.p99_s > 0), default=0.0))
    seconds_axis(latencies)
    latencies.set_xlabel("seconds from the start")
    latencies.set_xlim(report.timeline[0].at - 1, report.timeline[-1].at + 1)
    legend(latencies)
    if len(steps) > 1:
        _mark_steps(rates, latencies, steps)


def _mark_steps(rates: Axes, latencies: Axes, steps: Sequence[Sequence[Second]]) -> None:
    """Every other step on a grey ground, the load asked for at its head where there is room."""
    length = steps[-1][-1].at - steps[0][0].at or 1.0
    width = rates.figure.bbox.width / rates.figure.dpi
    for number, step in enumerate(steps):
        begin, end = step[0].at - 0.5, step[-1].at + 0.5
        if number % 2:
            for axes in (rates, latencies):
                axes.axvspan(begin, end, color=GRID, alpha=0.35, linewidth=0, zorder=0)
        if width * (end - begin) / length > 0.25:
            where = ((begin + end) / 2, 0.985)
            rates.text(
                *where, plain(step[0].level), transform=rates.get_xaxis_transform(), ha="center", va="top",
                color=MUTED, fontsize=8,
            )  # fmt: skip
