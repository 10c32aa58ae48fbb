"""The charts of a comparison: both curves, and how many times A's B's figures are at each load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from inkgate.bench.load.results import LoadReport
from inkgate.bench.reports.axes import legend, levels_axis, reach
from inkgate.bench.reports.charts import DASHES, INK, MARKERS, ONE, TWO, WIDE, Chart
from inkgate.bench.reports.compare import AtLevel, Comparison
from inkgate.bench.reports.differences import Ratio
from inkgate.bench.reports.load_charts import goodput
from inkgate.bench.reports.markup import cut
from inkgate.bench.reports.wording import axis_words, change, seconds

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_LONGEST = 36


def compare_charts(found: Comparison) -> Iterator[Chart]:
    """Those that there is something for."""
    both = found.a, found.b
    if found.a.axis is found.b.axis and all(sum(bool(point.runs) for point in each.points) > 1 for each in both):
        yield Chart(
            "curves",
            "Answers in time, by load",
            f"Dots are means of a step's repeats, bars their least and most. In time: within "
            f"{seconds(found.a.deadline_s, exact=True)}. Bands are the knees' intervals.",
            "Goodput of both by load; the table below has the figures.",
            partial(_curves, found),
            WIDE,
        )
    for name, title, of in (
        ("goodput", "Answers in time, B over A", _goodput),
        ("p95", "95th percentile of latency, B over A", _p95),
    ):
        if sum(of(level).ratio is not None for level in found.levels) > 1:
            yield Chart(
                name,
                title,
                "The intervals of all loads hold together with 95 %; one that keeps off the line is a real difference.",
                f"{title} by load; the table below has the figures.",
                partial(_ratios, found, of),
            )


def _goodput(level: AtLevel) -> Ratio:
    return level.goodput


def _p95(level: AtLevel) -> Ratio:
    return level.p95


def label(letter: str, name: str) -> str:
    """`A: before.json`, cut where it is long."""
    return letter if name == letter else f"{letter}: {cut(name, _LONGEST)}"


def _curves(found: Comparison, figure: FigureBase) -> None:
    axes = figure.add_subplot()
    levels: set[float] = set()
    styles = zip("AB", found.names, (found.a, found.b), (ONE, TWO), MARKERS, DASHES, strict=False)
    for letter, name, report, colour, marker, dash in styles:
        points = [point for point in report.points if point.runs]
        levels |= {point.level for point in points}
        ends = reach([[run.goodput for run in point.runs] for point in points])
        axes.errorbar(
            [point.level for point in points], [goodput(point) for point in points], yerr=ends, color=colour,
            marker=marker, linestyle=dash, capsize=2.5, label=label(letter, name),
        )  # fmt: skip
        _band(report, colour, axes.axvspan)
    levels_axis(axes, found.a.axis, sorted(levels))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("a second")
    legend(axes)


def _band(report: LoadReport, colour: str, span: Callable[..., object]) -> None:
    knee = report.knee
    if knee is not None and knee.reached and knee.low is not None and knee.high is not None:
        span(knee.low, knee.high, color=colour, alpha=0.1, linewidth=0)


def _ratios(found: Comparison, of: Callable[[AtLevel], Ratio], figure: FigureBase) -> None:
    axes = figure.add_subplot()
    places = []
    for place, level in enumerate(found.levels):
        one = of(level)
        places.append(place)
        if one.ratio is None or one.low is None or one.high is None:
            continue
        colour = INK if one.low <= 1 <= one.high else TWO
        axes.errorbar(
            [place], [one.ratio], yerr=([one.ratio - one.low], [one.high - one.ratio]), color=colour, marker="o",
            capsize=3,
        )  # fmt: skip
    axes.axhline(1, color=INK, linewidth=1)
    axes.set_yscale("log")
    _ratio_ticks(axes.get_ylim(), axes.set_yticks)
    axes.minorticks_off()
    axes.set_xticks(places, [f"{level.level:g}" for level in found.levels])
    axes.set_xlabel(axis_words(found.a.axis))


def _ratio_ticks(limits: tuple[float, float], put: Callable[..., object]) -> None:
    """Round changes that are not too close to each other, no change being the first."""
    steps = (1.0, 0.5, 2.0, 0.2, 5.0, 0.1, 10.0, 0.8, 1.25, 0.67, 1.5, 3.0, 0.33, 0.9, 1.1, 0.95, 1.05)
    inside: list[float] = []
    for step in steps:
        apart = min((abs(math.log(step / other)) for other in inside), default=math.inf)
        if limits[0] <= step <= limits[1] and apart > math.log(limits[1] / limits[0]) / 11:
            inside.append(step)
    put(inside, ["same" if step == 1 else change(step).replace(".0", "") for step in inside])
