"""The trials of a search on a map of its two busiest dials: how good, and where it died."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from inkgate.bench.reports.charts import BAD, ONE, TWO, WIDE, Chart
from inkgate.bench.reports.trials import (
    Standing,
    busiest_dials,
    same,
    short_names,
    standings,
    value_words,
    values_tried,
)
from inkgate.bench.reports.wording import number
from inkgate.bench.tune.results import Parameter, TuneReport, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_ROOM = 12
"""Columns up to which there is room for a number in each cell."""
_SHORT = {"preemption storm": "storm", "did not start": "no start", "not allowed": "out"}


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Rows are values of `up`, columns of `along`; a cell is the best of all settings with both, None where none was.

    A cell whose settings are all out holds one of them, for how it ended.
    """

    along: Parameter
    up: Parameter
    columns: tuple[Value, ...]
    rows: tuple[Value, ...]
    cells: tuple[tuple[Standing | None, ...], ...]


def heat_map(report: TuneReport) -> HeatMap:
    """Of the two dials of which most values were tried. There have to be two."""
    along, up = busiest_dials(report)[:2]
    columns, rows = values_tried(report, along), values_tried(report, up)
    best: dict[tuple[int, int], Standing] = {}
    for each in standings(report):  # the best first
        settings = each.judged.settings
        if along.path in settings and up.path in settings:
            place = rows.index(settings[up.path]), columns.index(settings[along.path])
            best.setdefault(place, each)
    cells = tuple(tuple(best.get((row, column)) for column in range(len(columns))) for row in range(len(rows)))
    return HeatMap(along, up, columns, rows, cells)


def heat_chart(report: TuneReport) -> Chart:
    """Of a report with two dials that were turned."""
    found = heat_map(report)
    others = len(busiest_dials(report)) - 2
    more = "; of other dials the best value is shown" if others > 0 else ""
    return Chart(
        "heat",
        "What was tried",
        f"Each cell is the score of these settings{more}. Framed: the chosen (solid) and the current ones (dashed). "
        "In red: out, and why. Empty: not tried.",
        f"Scores over {len(found.columns)} values of {found.along.path} and {len(found.rows)} of {found.up.path}.",
        partial(_heat, report, found),
        (WIDE[0], max(2.2, 1.4 + 0.42 * len(found.rows))),
    )


def _heat(report: TuneReport, found: HeatMap, figure: FigureBase) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    axes = figure.add_subplot()
    scores = [each.judged.score for row in found.cells for each in row if each is not None and each.judged.allowed]
    scale = Normalize(min(scores, default=0.0), max([*scores, 1e-9]))
    colours = colormaps["cividis"]
    for y, row in enumerate(found.cells):
        for x, each in enumerate(row):
            if each is not None:
                _cell(axes, (x, y), each, colours(scale(each.judged.score))[:3], small=len(found.columns) > _ROOM)
                _frame(axes, (x, y), report, each)
    names = short_names(report.parameters)
    axes.set_xticks(range(len(found.columns)), [value_words(value) for value in found.columns])
    axes.set_yticks(range(len(found.rows)), [value_words(value) for value in found.rows])
    axes.set_xlabel(names[found.along.path])
    axes.set_ylabel(names[found.up.path])
    axes.set_xlim(-0.5, len(found.columns) - 0.5)
    axes.set_ylim(-0.5, len(found.rows) - 0.5)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _cell(axes: Axes, at: tuple[int, int], each: Standing, colour: tuple[float, float, float], *, small: bool) -> None:
    from matplotlib.patches import Rectangle

    x, y = at
    corner = (x - 0.47, y - 0.45)
    if not each.judged.allowed:
        axes.add_patch(Rectangle(corner, 0.94, 0.9, facecolor="none", edgecolor=BAD, linewidth=0.8))
        axes.text(
            x, y, "×" if small else _SHORT.get(each.fate, each.fate), color=BAD, ha="center", va="center", fontsize=7.5
        )
        return
    axes.add_patch(Rectangle(corner, 0.94, 0.9, facecolor=colour, linewidth=0))
    if not small:
        light = np.dot(colour, (0.299, 0.587, 0.114)) > 0.5
        axes.text(
            x,
            y,
            number(each.judged.score),
            ha="center",
            va="center",
            fontsize=9,
            color="#000000" if light else "#fefefe",
        )


def _frame(axes: Axes, at: tuple[int, int], report: TuneReport, each: Standing) -> None:
    from matplotlib.patches import Rectangle

    for judged, colour, dash in ((report.chosen, ONE, "-"), (report.current, TWO, (0, (4, 2)))):
        if same(each.judged, judged):
            corner = (at[0] - 0.47, at[1] - 0.45)
            axes.add_patch(
                Rectangle(corner, 0.94, 0.9, fill=False, edgecolor=colour, linewidth=2.6, linestyle=dash, zorder=4)
            )
