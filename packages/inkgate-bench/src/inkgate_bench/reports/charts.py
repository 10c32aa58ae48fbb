"""Charts: their colours in light and dark, the axes they share, and their files as SVG and PNG."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from inkgate_bench.load.results import Axis
from inkgate_bench.reports.wording import axis_words, plain, seconds

NARROW = (5.0, 3.2)
WIDE = (8.6, 3.5)
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_PNG_DPI = 200
_LOG_FROM = 12
"""Levels whose highest is this many times their lowest are shown on a logarithmic axis."""
_FAR = 8
_LABEL_GAP = 0.42
"""Inches between labels along the x axis, so that they don't overlap."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a chart; templates/report.css has the same ones.

    Readers with any kind of colour blindness can tell them apart: blue, orange, green and purple also differ in
    lightness, line style and marker (after Okabe and Ito).
    """

    ink: str
    muted: str
    grid: str
    paper: str
    one: str
    two: str
    three: str
    four: str
    five: str
    bad: str


LIGHT = Palette("#1b2430", "#5a6675", "#d8dde4", "#ffffff", "#0a5fa8", "#b45309", "#0f7a63", "#8a3f7d", "#737d8a",
                "#a8321f")  # fmt: skip
DARK = Palette("#e7ebf0", "#a0abb8", "#313a45", "#161b22", "#6cb2f0", "#f0a85a", "#5fcbae", "#d59ccb", "#98a3b0",
               "#ff8e7c")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A chart that can be drawn.

    Attributes:
        title: what it shows; caption: how to read it; alt: what it says, for those who can't see it.
        draw: draws it on an empty figure.
        size: width and height in inches. A wide chart fills the page's width and has a narrow version for phones.
    """

    title: str
    caption: str
    alt: str
    draw: Callable[[FigureBase, Palette], None]
    size: tuple[float, float] = NARROW

    @property
    def is_wide(self) -> bool:
        return self.size[0] >= WIDE[0]


def as_svg(chart: ReportChart, palette: Palette, *, narrow: bool = False) -> bytes:
    """The chart as an SVG file. The same chart gives the same bytes."""
    size = (NARROW[0], max(NARROW[1], chart.size[1])) if narrow else chart.size
    with _style(palette):
        figure = Figure(figsize=size)
        chart.draw(figure, palette)
        return _saved(figure, "svg", transparent=True)


def as_sheet(charts: Sequence[ReportChart], title: str, kind: str) -> bytes:
    """All charts on one sheet in the light colours, wide ones alone in their row. `kind`: `svg` or `png`."""
    rows: list[list[ReportChart]] = []
    for chart in charts:
        if rows and len(rows[-1]) == 1 and NARROW == chart.size == rows[-1][0].size:
            rows[-1].append(chart)
        else:
            rows.append([chart])
    heights = [max(chart.size[1] for chart in row) + 0.3 for row in rows]
    with _style(LIGHT):
        figure = Figure(figsize=(2 * NARROW[0], sum(heights) + 0.5), facecolor=LIGHT.paper)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        bands = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for band, row in zip(bands, rows, strict=True):
            for part, chart in zip(band.subfigures(1, len(row), squeeze=False)[0], row, strict=True):
                part.suptitle(chart.title, x=0.02, ha="left", fontsize=11)
                chart.draw(part, LIGHT)
        return _saved(figure, kind)


def _saved(figure: Figure, kind: str, *, transparent: bool = False) -> bytes:
    content = BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else None
    figure.savefig(content, format=kind, dpi=_PNG_DPI, metadata=metadata, transparent=transparent)
    return content.getvalue()


@contextmanager
def _style(palette: Palette) -> Iterator[None]:
    """The reports' style, whatever the user's matplotlibrc says."""
    look: dict[Any, object] = {
        "axes.axisbelow": True,
        "axes.edgecolor": palette.muted,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.labelcolor": palette.muted,
        "axes.labelsize": 9.5,
        "axes.linewidth": 0.8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": palette.ink,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.constrained_layout.use": True,
        "font.family": "sans-serif",
        "font.sans-serif": ["Segoe UI", "Noto Sans", "DejaVu Sans"],
        "font.size": 9.5,
        "grid.color": palette.grid,
        "grid.linewidth": 0.8,
        "hatch.color": palette.paper,
        "legend.borderaxespad": 0.2,
        "legend.columnspacing": 1.4,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "legend.labelcolor": palette.ink,
        "lines.linewidth": 1.8,
        "lines.markersize": 4.5,
        "svg.fonttype": "none",  # text stays text: the reader's fonts have the signs that matplotlib's lacks
        "svg.hashsalt": "inkgate",
        "text.color": palette.ink,
        "text.parse_math": False,  # a setting's value may hold two dollar signs
        "xtick.color": palette.muted,
        "xtick.labelsize": 9,
        "ytick.color": palette.muted,
        "ytick.labelsize": 9,
        "ytick.major.size": 0,
    }
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(look)
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # On a sheet that is too small for its texts, texts overlap: no reason to write no report.
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        yield


def levels_axis(axes: Axes, axis: Axis, levels: Sequence[float]) -> None:
    """Loads along the x axis: a tick at each level, labelled where there is room."""
    scale: Callable[[float], float] = float
    if levels and min(levels) > 0 and max(levels) / min(levels) >= _LOG_FROM:
        axes.set_xscale("log")
        scale = math.log
    width = axes.figure.bbox.width / axes.figure.dpi - 1
    reach = scale(max(levels)) - scale(min(levels)) or 1.0
    labels, last = [], -math.inf
    for level in levels:
        place = width * scale(level) / reach
        room = place - last >= _LABEL_GAP
        labels.append(plain(level) if room else "")
        last = place if room else last
    axes.set_xticks(list(levels), labels)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(axis_words(axis))


def seconds_axis(axes: Axes) -> None:
    """Times that span decades along the y axis, with units at the ticks."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value, exact=True)))


def target_line(axes: Axes, palette: Palette, deadline_s: float, longest_s: float) -> None:
    """The latency target, unless it is so far above all latencies that it would press them flat."""
    if longest_s * _FAR >= deadline_s:
        axes.axhline(deadline_s, color=palette.bad, linewidth=1, linestyle=DASHES[1], label="latency target")


def legend(axes: Axes) -> None:
    """Draws the legend in one line above the axes, where it covers nothing."""
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(names), mode=None)


def error_bars(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """How far the lowest and the highest of each group lie from its mean, as matplotlib's `yerr`."""
    means = [sum(group) / len(group) for group in values]
    below = [mean - min(group) for mean, group in zip(means, values, strict=True)]
    return below, [max(group) - mean for mean, group in zip(means, values, strict=True)]
