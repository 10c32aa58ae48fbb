"""What the axes of all charts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inkgate.loadtest.results import Axis
from inkgate.reports.wording import axis_words, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE_RANGE = 12
"""Levels whose most is so many times their least are shown on a logarithmic axis."""
_LABELS = 14


def levels_axis(axes: Axes, axis: Axis, levels: Sequence[float]) -> None:
    """Loads along the x axis: a tick at each level, as far as there is room."""
    from matplotlib.ticker import NullLocator

    if levels and min(levels) > 0 and max(levels) / min(levels) >= _WIDE_RANGE:
        axes.set_xscale("log")
    step = -(-len(levels) // _LABELS)
    shown = levels[::step]
    axes.set_xticks(list(shown), [f"{level:g}" for level in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(axis_words(axis))


def seconds_axis(axes: Axes) -> None:
    """Times that span decades along the y axis, the ticks in words."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))


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
