"""The charts of a search for settings: a map of trials, a ranking, and accuracy against speed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from inkgate.bench.reports.axes import legend
from inkgate.bench.reports.charts import BAD, FIVE, INK, MUTED, ONE, TWO, WIDE, Chart
from inkgate.bench.reports.heat_map import heat_chart
from inkgate.bench.reports.markup import cut
from inkgate.bench.reports.trials import Standing, busiest_dials, same, short_names, standings, value_words
from inkgate.bench.reports.wording import number, plain
from inkgate.bench.tune.results import TuneReport
from inkgate.bench.tune.score import unit

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_SHOWN = 14


def tune_charts(report: TuneReport) -> Iterator[Chart]:
    """Those that there is something for."""
    found = standings(report)
    measured = [each for each in found if each.judged.score > 0]
    if len(busiest_dials(report)) > 1 and len(found) > 2:
        yield heat_chart(report)
    if len(measured) > 1:
        yield _ranking_chart(report, measured)
    if sum(each.accuracy is not None for each in measured) > 1:
        yield _frontier_chart(report, [each for each in measured if each.accuracy is not None])


def _colour(report: TuneReport, each: Standing) -> str:
    if same(each.judged, report.chosen):
        return ONE
    if same(each.judged, report.current):
        return TWO
    return FIVE if each.judged.allowed else BAD


def _ranking_chart(report: TuneReport, measured: Sequence[Standing]) -> Chart:
    top = _top(report, measured)
    best = top[0].judged
    left_out = f" The best {len(top)} of {len(measured)}." if len(top) < len(measured) else ""
    return Chart(
        "ranking",
        "Settings by score",
        f"Bars are 95 % intervals.{left_out}",
        f"Scores of {len(top)} settings; the best has {number(best.score)} {unit(report.targets)}.",
        partial(_ranking, report, top),
        (WIDE[0], 1.3 + 0.3 * len(top)),
    )


def _top(report: TuneReport, measured: Sequence[Standing]) -> list[Standing]:
    """The best, and the current and the chosen ones in any case; the best first."""
    ordered = sorted(measured, key=lambda each: -each.judged.score)
    named = [each for each in ordered if same(each.judged, report.current) or same(each.judged, report.chosen)]
    kept = ordered[: _SHOWN - len(named)] + [each for each in named if each not in ordered[: _SHOWN - len(named)]]
    return sorted(kept, key=lambda each: -each.judged.score)


def _ranking(report: TuneReport, top: Sequence[Standing], figure: FigureBase) -> None:
    axes = figure.add_subplot()
    names = short_names(report.parameters)
    for place, each in enumerate(top):
        judged, colour = each.judged, _colour(report, each)
        marker = "o" if judged.allowed else "x"
        size = 7 if same(judged, report.chosen) else 5
        axes.plot([judged.low, judged.high], [place, place], color=colour, linewidth=2.2 if size == 7 else 1.4)
        axes.plot([judged.score], [place], color=colour, marker=marker, markersize=size, linestyle="none")
        if said := _said(report, each):
            axes.annotate(
                said, (judged.high, place), xytext=(6, 0), textcoords="offset points", va="center", color=colour,
                fontsize=8.5,
            )  # fmt: skip
    turned = [dial.path for dial in report.parameters if dial in busiest_dials(report)]
    labels = [cut(" · ".join(value_words(each.judged.settings.get(path)) for path in turned), 44) for each in top]
    axes.set_yticks(range(len(top)), labels)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_title(cut(" · ".join(names[path] for path in turned), 110), fontsize=8.5, fontweight="normal", color=MUTED)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(unit(report.targets))
    low, high = min(each.judged.low for each in top), max(each.judged.high for each in top)
    axes.set_xlim(low - 0.03 * (high - low), high + 0.2 * (high - low))


def _said(report: TuneReport, each: Standing) -> str:
    named = [
        word for word, judged in (("chosen", report.chosen), ("current", report.current)) if same(each.judged, judged)
    ]
    return ", ".join([*named, *([each.fate] if each.fate else [])])


def _frontier_chart(report: TuneReport, known: Sequence[Standing]) -> Chart:
    return Chart(
        "frontier",
        "Accuracy against speed",
        "The line joins settings that no other beats in both. Crosses are not allowed.",
        f"{len(known)} settings by score and by share of characters read right.",
        partial(_frontier, report, known),
        (8.6, 3.4),
    )


def frontier(known: Sequence[Standing]) -> list[Standing]:
    """Those that no other beats in both score and accuracy (Pareto's), the slowest first."""
    best, kept = -math.inf, []
    for each in sorted(known, key=lambda one: (-one.judged.score, -(one.accuracy or 0))):
        if (each.accuracy or 0) > best:
            best = each.accuracy or 0
            kept.append(each)
    return kept[::-1]


def _frontier(report: TuneReport, known: Sequence[Standing], figure: FigureBase) -> None:
    axes = figure.add_subplot()
    edge = frontier([each for each in known if each.judged.allowed])
    axes.plot(
        [each.judged.score for each in edge], [100 * (each.accuracy or 0) for each in edge],
        color=FIVE, linewidth=1.2, linestyle=(0, (5, 2)), label="frontier",
    )  # fmt: skip
    for each in known:
        marker = "o" if each.judged.allowed else "x"
        at = (each.judged.score, 100 * (each.accuracy or 0))
        axes.plot([at[0]], [at[1]], color=_colour(report, each), marker=marker, markersize=6, linestyle="none")
        named = [
            word for word, one in (("chosen", report.chosen), ("current", report.current)) if same(each.judged, one)
        ]
        if named:
            axes.annotate(
                ", ".join(named), at, xytext=(7, 5), textcoords="offset points", color=_colour(report, each),
                fontweight="bold",
            )  # fmt: skip
    least = report.targets.least_accuracy
    if least is not None:
        axes.axhline(100 * least, color=BAD, linewidth=1, label="least accuracy asked for")
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{plain(value, 4)} %")
    axes.set_xlabel(unit(report.targets))
    axes.set_ylabel("characters right")
    axes.margins(0.08)
    legend(axes)
