"""The charts of a search for settings: a map of trials, a ranking, and accuracy against speed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import FigureBase
from matplotlib.patches import Rectangle

from inkgate_bench.reports.charts import DASHES, WIDE, Palette, ReportChart, legend
from inkgate_bench.reports.wording import NONE, cut, number, plain
from inkgate_bench.tune.results import Assessment, Parameter, Trial, TrialOutcome, TuneReport, Value
from inkgate_bench.tune.score import unit

OUTCOMES = {
    TrialOutcome.MEASURED: "measured",
    TrialOutcome.DIED: "died",
    TrialOutcome.STORMED: "preemption storm",
    TrialOutcome.NOT_STARTED: "did not start",
    TrialOutcome.STOPPED: "stopped",
}
_FAILURES = (TrialOutcome.DIED, TrialOutcome.NOT_STARTED, TrialOutcome.STORMED)
_IN_A_CELL = {"preemption storm": "storm", "did not start": "no start", "not allowed": "out"}
_CELLS_WITH_NUMBERS = 12
"""Columns up to which there is room for a number in each cell."""
_RANKED = 14
_LONGEST_VALUE = 26
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class RatedSettings:
    """Settings that were tried. `failure`: why they are excluded, in a word or two; empty where they are not."""

    assessment: Assessment
    failure: str
    accuracy: float | None


def tune_charts(report: TuneReport) -> Iterator[ReportChart]:
    """The charts that there is data for."""
    rated = rate_settings(report)
    scored = [each for each in rated if each.assessment.score > 0]
    accurate = [each for each in scored if each.accuracy is not None]
    if len(varied_parameters(report)) > 1 and len(rated) > 2:
        yield _map_chart(report)
    if len(scored) > 1:
        yield _ranking_chart(report, scored)
    if len(accurate) > 1:
        yield ReportChart(
            "Accuracy against speed",
            "The line joins settings that no other beats in both. Crosses are excluded.",
            f"{len(accurate)} settings by score and by share of characters read correctly.",
            partial(_draw_frontier, report, accurate),
            (WIDE[0], 3.4),
        )


def rate_settings(report: TuneReport) -> tuple[RatedSettings, ...]:
    """All settings that were tried, the best first, the excluded last."""
    by_number = {trial.number: trial for trial in report.trials}
    rated = []
    for assessment in report.assessments:
        trials = [by_number[number] for number in assessment.trials if number in by_number]
        accuracies = [trial.accuracy for trial in trials if trial.accuracy is not None]
        accuracy = sum(accuracies) / len(accuracies) if accuracies else None
        rated.append(RatedSettings(assessment, _failure(assessment, trials), accuracy))
    return tuple(sorted(rated, key=lambda each: (not each.assessment.allowed, -each.assessment.score)))


def _failure(assessment: Assessment, trials: Sequence[Trial]) -> str:
    if assessment.allowed:
        return ""
    ended = {trial.outcome for trial in trials}
    return next((OUTCOMES[outcome] for outcome in _FAILURES if outcome in ended), "not allowed")


def value_words(value: Value | None) -> str:
    """A setting's value in a chart or a table, cut where it is long."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return plain(value, 4)
    return cut(str(value), _LONGEST_VALUE)


def short_names(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Returns a short name by path: its last part, or all of it where two parameters would have the same name."""
    last = {parameter.path: parameter.path.rpartition(".")[2] for parameter in parameters}
    times = Counter(last.values())
    return {path: cut(name if times[name] == 1 else path, _LONGEST_NAME) for path, name in last.items()}


def varied_parameters(report: TuneReport) -> tuple[Parameter, ...]:
    """The parameters of which several values were tried, those with most values first."""

    def tried(parameter: Parameter) -> int:
        return len({repr(assessment.settings.get(parameter.path)) for assessment in report.assessments})

    return tuple(
        sorted(
            (parameter for parameter in report.parameters if tried(parameter) > 1),
            key=lambda parameter: -tried(parameter),
        )
    )


def same(assessment: Assessment | None, other: Assessment | None) -> bool:
    """Whether both are of the same settings."""
    return assessment is not None and other is not None and assessment.settings == other.settings


def _values_tried(report: TuneReport, parameter: Parameter) -> tuple[Value, ...]:
    """Numbers in ascending order, others in the parameter's order, and values that it does not list."""
    seen = [
        assessment.settings[parameter.path]
        for assessment in report.assessments
        if parameter.path in assessment.settings
    ]
    unique: list[Value] = []
    for value in (*(value for value in parameter.values if value in seen), *seen):
        if value not in unique:
            unique.append(value)
    numbers = [value for value in unique if isinstance(value, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(unique) else tuple(unique)


def _roles(report: TuneReport, each: RatedSettings) -> list[str]:
    named = ("chosen", report.chosen), ("current", report.current)
    return [name for name, assessment in named if same(each.assessment, assessment)]


def _colour(report: TuneReport, each: RatedSettings, palette: Palette) -> str:
    if same(each.assessment, report.chosen):
        return palette.one
    if same(each.assessment, report.current):
        return palette.two
    return palette.five if each.assessment.allowed else palette.bad


@dataclass(frozen=True, slots=True)
class TrialMap:
    """Rows are values of `up`, columns of `along`. A cell is the best of all settings with both values, excluded
    settings only where no other has both.
    """

    along: Parameter
    up: Parameter
    columns: tuple[Value, ...]
    rows: tuple[Value, ...]
    cells: dict[tuple[int, int], RatedSettings]


def trial_map(report: TuneReport) -> TrialMap:
    """Returns a map of the two parameters of which most values were tried. There have to be two."""
    along, up = varied_parameters(report)[:2]
    columns, rows = _values_tried(report, along), _values_tried(report, up)
    cells: dict[tuple[int, int], RatedSettings] = {}
    for each in rate_settings(report):  # the best first
        settings = each.assessment.settings
        if along.path in settings and up.path in settings:
            cells.setdefault((columns.index(settings[along.path]), rows.index(settings[up.path])), each)
    return TrialMap(along, up, columns, rows, cells)


def _map_chart(report: TuneReport) -> ReportChart:
    found = trial_map(report)
    others = len(varied_parameters(report)) > 2
    return ReportChart(
        "All settings tried",
        f"Each cell is the score of these settings{'; of other parameters the best value is shown' if others else ''}. "
        "Framed: the chosen (solid) and the current settings (dashed). Red: excluded, and why. Empty: not tried.",
        f"Scores over {len(found.columns)} values of {found.along.path} and {len(found.rows)} of {found.up.path}.",
        partial(_draw_map, report, found),
        (WIDE[0], max(2.2, 1.4 + 0.42 * len(found.rows))),
    )


def _draw_map(report: TuneReport, found: TrialMap, figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    scores = [each.assessment.score for each in found.cells.values() if each.assessment.allowed]
    scale = Normalize(min(scores, default=0.0), max([*scores, 1e-9]))
    colours = colormaps["cividis"]
    numbers = len(found.columns) <= _CELLS_WITH_NUMBERS
    frames = ((report.chosen, palette.one, "-"), (report.current, palette.two, (0, (4, 2))))
    for (x, y), each in found.cells.items():
        if each.assessment.allowed:
            _draw_score(axes, (x, y), each.assessment.score, colours(scale(each.assessment.score))[:3], numbers=numbers)
        else:
            axes.add_patch(_cell((x, y), facecolor="none", edgecolor=palette.bad, linewidth=0.8))
            why = _IN_A_CELL.get(each.failure, each.failure) if numbers else "×"
            axes.text(x, y, why, color=palette.bad, ha="center", va="center", fontsize=7.5)
        for assessment, colour, dash in frames:
            if same(each.assessment, assessment):
                axes.add_patch(_cell((x, y), fill=False, edgecolor=colour, linewidth=2.6, linestyle=dash, zorder=4))
    names = short_names(report.parameters)
    axes.set_xticks(range(len(found.columns)), [value_words(value) for value in found.columns])
    axes.set_yticks(range(len(found.rows)), [value_words(value) for value in found.rows])
    axes.set_xlabel(names[found.along.path])
    axes.set_ylabel(names[found.up.path])
    axes.set_xlim(-0.5, len(found.columns) - 0.5)
    axes.set_ylim(-0.5, len(found.rows) - 0.5)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _cell(at: tuple[int, int], **style: object) -> Rectangle:
    return Rectangle((at[0] - 0.47, at[1] - 0.45), 0.94, 0.9, **style)  # type: ignore[arg-type]  # its keywords


def _draw_score(
    axes: Axes, at: tuple[int, int], score: float, colour: tuple[float, float, float], *, numbers: bool
) -> None:
    axes.add_patch(_cell(at, facecolor=colour, linewidth=0))
    if numbers:
        light = np.dot(colour, (0.299, 0.587, 0.114)) > 0.5
        axes.text(*at, number(score), ha="center", va="center", fontsize=9, color="#000000" if light else "#fefefe")


def _ranking_chart(report: TuneReport, scored: Sequence[RatedSettings]) -> ReportChart:
    top = _top(report, scored)
    left_out = f" The best {len(top)} of {len(scored)}." if len(top) < len(scored) else ""
    return ReportChart(
        "Settings by score",
        f"Bars are 95 % intervals.{left_out}",
        f"Scores of {len(top)} settings; the best has {number(top[0].assessment.score)} {unit(report.targets)}.",
        partial(_draw_ranking, report, top),
        (WIDE[0], 1.3 + 0.3 * len(top)),
    )


def _top(report: TuneReport, scored: Sequence[RatedSettings]) -> list[RatedSettings]:
    """The best, and the current and the chosen ones in any case; the best first."""
    ordered = sorted(scored, key=lambda each: -each.assessment.score)
    named = [each for each in ordered if _roles(report, each)]
    best = ordered[: _RANKED - len(named)]
    return sorted(best + [each for each in named if each not in best], key=lambda each: -each.assessment.score)


def _draw_ranking(report: TuneReport, top: Sequence[RatedSettings], figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    for place, each in enumerate(top):
        assessment, colour, chosen = (
            each.assessment,
            _colour(report, each, palette),
            same(each.assessment, report.chosen),
        )
        axes.plot([assessment.low, assessment.high], [place, place], color=colour, linewidth=2.2 if chosen else 1.4)
        marker = "o" if assessment.allowed else "x"
        axes.plot(assessment.score, place, color=colour, marker=marker, markersize=7 if chosen else 5, linestyle="none")
        if said := ", ".join([*_roles(report, each), *([each.failure] if each.failure else [])]):
            axes.annotate(
                said,
                (assessment.high, place),
                (6, 0),
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=8.5,
            )
    names, varied = short_names(report.parameters), {parameter.path for parameter in varied_parameters(report)}
    paths = [parameter.path for parameter in report.parameters if parameter.path in varied]
    labels = [cut(" · ".join(value_words(each.assessment.settings.get(path)) for path in paths), 44) for each in top]
    axes.set_yticks(range(len(top)), labels)
    axes.tick_params(axis="y", labelcolor=palette.ink)
    title = cut(" · ".join(names[path] for path in paths), 110)
    axes.set_title(title, fontsize=8.5, fontweight="normal", color=palette.muted)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(unit(report.targets))
    low, high = min(each.assessment.low for each in top), max(each.assessment.high for each in top)
    axes.set_xlim(low - 0.03 * (high - low), high + 0.2 * (high - low))


def frontier(rated: Sequence[RatedSettings]) -> list[RatedSettings]:
    """Returns those that no other beats in both score and accuracy (Pareto's), the slowest first."""
    best, kept = -math.inf, []
    for each in sorted(rated, key=lambda one: (-one.assessment.score, -(one.accuracy or 0))):
        if (each.accuracy or 0) > best:
            best = each.accuracy or 0
            kept.append(each)
    return kept[::-1]


def _draw_frontier(report: TuneReport, rated: Sequence[RatedSettings], figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    edge = frontier([each for each in rated if each.assessment.allowed])
    axes.plot(
        [each.assessment.score for each in edge], [100 * (each.accuracy or 0) for each in edge],
        color=palette.five, linewidth=1.2, linestyle=DASHES[1], label="frontier",
    )  # fmt: skip
    for each in rated:
        at, colour = (each.assessment.score, 100 * (each.accuracy or 0)), _colour(report, each, palette)
        axes.plot(*at, color=colour, marker="o" if each.assessment.allowed else "x", markersize=6, linestyle="none")
        if roles := _roles(report, each):
            axes.annotate(", ".join(roles), at, (7, 5), textcoords="offset points", color=colour, fontweight="bold")
    least = report.targets.least_accuracy
    if least is not None:
        axes.axhline(100 * least, color=palette.bad, linewidth=1, label="lowest accuracy allowed")
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{plain(value, 4)} %")
    axes.set_xlabel(unit(report.targets))
    axes.set_ylabel("characters correct")
    axes.margins(0.08)
    legend(axes)
