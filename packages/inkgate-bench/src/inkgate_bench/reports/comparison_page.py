"""Two load tests compared, as charts and as a page: whether they differ, by how much, and how that was judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import FigureBase

from inkgate_bench.load.results import mean_goodput
from inkgate_bench.reports.charts import (
    DASHES,
    MARKERS,
    WIDE,
    Palette,
    ReportChart,
    error_bars,
    legend,
    levels_axis,
)
from inkgate_bench.reports.comparison import FigureRatio, LevelRatios, LoadComparison
from inkgate_bench.reports.load_charts import measured_points, saturated_level
from inkgate_bench.reports.page import Tile, render
from inkgate_bench.reports.wording import NONE, axis_words, change, cut, level_words, number, plain, seconds
from inkgate_bench.statistics import EQUAL_WITHIN, MIN_REPEATS, Verdict

_LONGEST_NAME = 36
_TICKS = (1.0, 0.5, 2.0, 0.2, 5.0, 0.1, 10.0, 0.8, 1.25, 0.67, 1.5, 3.0, 0.33, 0.9, 1.1, 0.95, 1.05)


def comparison_html(found: LoadComparison) -> str:
    """The whole file."""
    level = "" if found.level is None else level_words(found.a.axis, found.level)
    return render(
        "comparison.html",
        comparison_charts(found),
        found=found,
        headline=comparison_headline(found),
        notes=[("Caution:", concern) for concern in found.concerns],
        tiles=list(_tiles(found)),
        axis=axis_words(found.a.axis),
        tables=_tables(found),
        sides=list(_sides(found)),
        level=level,
        least_repeats=MIN_REPEATS,
        equal_within=EQUAL_WITHIN,
    )


_LevelTable = tuple[str, list[tuple[float, FigureRatio]], Callable[[float | None], str]]


def _tables(found: LoadComparison) -> tuple[_LevelTable, ...]:
    """Title, rows, and how a figure is shown."""
    return (
        ("Goodput per second", [(each.level, each.goodput) for each in found.levels], number),
        ("95th percentile of latency", [(each.level, each.p95) for each in found.levels], seconds),
    )


def comparison_headline(found: LoadComparison) -> str:
    """The result in a sentence."""
    verdict, ratio = found.goodput.verdict, found.goodput.ratio
    if found.level is None:
        return "A and B can't be compared"
    if verdict is None or ratio is None:
        return f"Not judged: {found.goodput.why}"
    if verdict is Verdict.UNCLEAR:
        return "It is unclear whether the goodput of A and B differs"
    if verdict is Verdict.EQUAL:
        return "A and B have the same goodput"
    return f"B's goodput is {change(ratio).lstrip('+−')} {'higher' if ratio > 1 else 'lower'} than A's"


def _tiles(found: LoadComparison) -> Iterator[Tile]:
    if found.level is None:
        return
    for name, figure in (("goodput, B over A", found.goodput), ("p95, B over A", found.p95)):
        detail = "not judged"
        if figure.verdict is not None:
            detail = f"{figure.verdict}: {change(figure.low)} to {change(figure.high)}"
        yield Tile(name, change(figure.ratio), "", f"{detail}, at {level_words(found.a.axis, found.level)}")
    if found.a.knee is not None and found.b.knee is not None:
        for name, report in (("A", found.a), ("B", found.b)):
            level = saturated_level(report)
            if level is None or report.knee is None:
                yield Tile(f"saturation of {name}", "not reached")
            else:
                yield Tile(f"saturation of {name}", plain(level), "", f"goodput {number(report.knee.goodput)} / s")


def _sides(found: LoadComparison) -> Iterator[tuple[str, str, str]]:
    """Rows: what it is, of A, of B."""
    a, b = found.a, found.b
    yield "target", a.target, b.target
    yield "protocol", a.protocol, b.protocol
    yield "latency target", seconds(a.deadline_s, exact=True), seconds(b.deadline_s, exact=True)
    yield "machine", a.machine.name or NONE, b.machine.name or NONE
    yield "processor", a.machine.processor or NONE, b.machine.processor or NONE
    yield "GPUs", ", ".join(a.machine.gpus) or NONE, ", ".join(b.machine.gpus) or NONE
    for title, left, right in (("version of", a.machine.versions, b.machine.versions), ("option", a.asked, b.asked)):
        for name in dict.fromkeys([*left, *right]):
            yield f"{title} {name}", left.get(name, NONE), right.get(name, NONE)


def comparison_charts(found: LoadComparison) -> Iterator[ReportChart]:
    """The charts that there is data for."""
    if found.a.axis is found.b.axis and all(len(measured_points(each)) > 1 for each in (found.a, found.b)):
        yield ReportChart(
            "Goodput by load",
            "Points are means of the repeats, bars span the lowest to the highest. Goodput counts responses within "
            f"{seconds(found.a.deadline_s, exact=True)}. Vertical lines are saturation points.",
            "Goodput of both by load; the table below has the values.",
            partial(_draw_goodput, found),
            WIDE,
        )
    figures: tuple[tuple[str, Callable[[LevelRatios], FigureRatio]], ...] = (
        ("Goodput, B over A", lambda level: level.goodput),
        ("95th percentile of latency, B over A", lambda level: level.p95),
    )
    for title, figure_of in figures:
        ratios = [(each.level, figure_of(each)) for each in found.levels]
        if sum(one.ratio is not None for _, one in ratios) > 1:
            judged = any(one.verdict is not None for _, one in ratios)
            yield ReportChart(
                title,
                "The intervals of all loads hold together with 95 %. An interval clear of the line is a difference."
                if judged
                else f"Not judged: each test needs at least {MIN_REPEATS} repeats.",
                f"{title} by load; the table below has the values.",
                partial(_draw_ratios, axis_words(found.a.axis), ratios),
            )


def _draw_goodput(found: LoadComparison, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    levels: set[float] = set()
    styles = zip("AB", found.names, (found.a, found.b), (palette.one, palette.two), MARKERS, DASHES, strict=False)
    for letter, name, report, colour, marker, dash in styles:
        points = measured_points(report)
        levels |= {point.level for point in points}
        axes.errorbar(
            [point.level for point in points], [mean_goodput(point.runs) for point in points],
            yerr=error_bars([[run.goodput for run in point.runs] for point in points]), color=colour, marker=marker,
            linestyle=dash, capsize=2.5, label=letter if name == letter else f"{letter}: {cut(name, _LONGEST_NAME)}",
        )  # fmt: skip
        level = saturated_level(report)
        if level is not None:
            axes.axvline(level, color=colour, linewidth=1.2, alpha=0.6)
    levels_axis(axes, found.a.axis, sorted(levels))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("responses per second")
    legend(axes)


def _draw_ratios(x_label: str, ratios: list[tuple[float, FigureRatio]], figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    for place, (_, one) in enumerate(ratios):
        if one.ratio is None:
            continue
        reach = None if one.low is None or one.high is None else ([one.ratio - one.low], [one.high - one.ratio])
        colour = palette.two if one.verdict is Verdict.DIFFERENT else palette.ink
        axes.errorbar([place], [one.ratio], yerr=reach, color=colour, marker="o", capsize=3)
    axes.axhline(1, color=palette.ink, linewidth=1)
    axes.set_yscale("log")
    ticks = _ratio_ticks(*axes.get_ylim())
    axes.set_yticks(ticks, ["same" if tick == 1 else change(tick).replace(".0", "") for tick in ticks])
    axes.minorticks_off()
    axes.set_xticks(range(len(ratios)), [f"{level:g}" for level, _ in ratios])
    axes.set_xlabel(x_label)


def _ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios between the limits that are not too close to each other; 1 comes first."""
    found: list[float] = []
    for tick in _TICKS:
        gap = min((abs(math.log(tick / other)) for other in found), default=math.inf)
        if low <= tick <= high and gap > math.log(high / low) / 11:
            found.append(tick)
    return found
