"""What the axes of all charts have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from inkgate.bench.load.results import Axis
from inkgate.bench.reports.charts import BAD, DASHES
from inkgate.bench.reports.wording import axis_words, plain, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE_RANGE = 12
"""Levels whose most is so many times their least are shown on a logarithmic axis."""
_FAR = 8
_APART = 0.42
"""Inches between labels along the x axis, so that they don't run into each other."""


def levels_axis(axes: Axes, axis: Axis, levels: Sequence[float]) -> None:
    """Loads along the x axis: a tick at each level, labelled as far as there is room."""
    from matplotlib.ticker import NullLocator

    scale: Callable[[float], float] = float
    if levels and min(levels) > 0 and max(levels) / min(levels) >= _WIDE_RANGE:
        axes.set_xscale("log")
        scale = math.log
    width = axes.figure.bbox.width / axes.figure.dpi - 1
    reach = scale(max(levels)) - scale(min(levels)) or 1.0
    labels, last = [], -math.inf
    for level in levels:
        place = width * scale(level) / reach
        room = place - last >= _APART
        labels.append(plain(level) if room else "")
        last = place if room else last
    axes.set_xticks(list(levels), labels)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(axis_words(axis))


def seconds_axis(axes: Axes) -> None:
    """Times that span decades along the y axis, the ticks in words."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value, exact=True)))


def deadline_line(axes: Axes, deadline_s: float, longest_s: float) -> None:
    """The deadline, unless it is so far above all latencies that it would press them flat."""
    if longest_s * _FAR >= deadline_s:
        axes.axhline(deadline_s, color=BAD, linewidth=1, linestyle=DASHES[1], label="deadline")


def legend(axes: Axes) -> None:
    """In one line above the axes, where it covers nothing."""
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(names), mode=None)


def reach(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """How far the least and the most of each group lie from its mean: error bars for matplotlib."""
    means = [sum(group) / len(group) for group in values]
    below = [mean - min(group) for mean, group in zip(means, values, strict=True)]
    return below, [max(group) - mean for mean, group in zip(means, values, strict=True)]
