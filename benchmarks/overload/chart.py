"""The chart of goodput by offered load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "inkgate"
mpl.rcParams["svg.fonttype"] = "none"


def draw(points: Sequence[tuple[str, float, float]], file: Path) -> None:
    """An SVG of goodput by load for each system, in multiples of the capacity; the same points give the same bytes."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for system in dict.fromkeys(name for name, _, _ in points):
        mine = sorted((load, goodput) for name, load, goodput in points if name == system)
        axes.plot([load for load, _ in mine], [goodput for _, goodput in mine], marker="o", label=system)
    loads = sorted({load for _, load, _ in points})
    axes.set_xscale("log")
    axes.set_xticks(loads, [f"{load:g}" for load in loads])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("offered load / capacity")
    axes.set_ylabel("answers in time / capacity")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, metadata={"Date": None})
