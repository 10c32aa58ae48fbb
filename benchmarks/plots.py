"""SVG charts. The same results give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.simulate.scenario import Run, Sample

mpl.rcParams["svg.hashsalt"] = "inkgate"
mpl.rcParams["svg.fonttype"] = "none"
# Gray on a transparent background: readable on white and black pages.
mpl.rcParams.update(
    dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), "#808080")
)


def overload(points: Sequence[tuple[str, float, float]], file: Path) -> None:
    """Goodput by offered load, both in multiples of the capacity (responses a second), a line for each system."""
    figure, axes = _figure_and_axes()
    for system in dict.fromkeys(name for name, _, _ in points):
        mine = sorted((load, goodput) for name, load, goodput in points if name == system)
        axes.plot([load for load, _ in mine], [goodput for _, goodput in mine], marker="o", label=system)
    axes.set_xscale("log")
    loads = sorted({load for _, load, _ in points})
    axes.set_xticks(loads, [f"{load:g}" for load in loads])
    axes.minorticks_off()
    axes.set_xlabel("offered load / capacity")
    axes.set_ylabel("answers in time / capacity")
    _save(figure, axes, file)


def limits(runs: Mapping[str, Run], file: Path) -> None:
    """The limit over time, a line for each gateway of each run."""
    figure, axes = _figure_and_axes()
    for name, run in runs.items():
        seen: list[Sample] = [sample for sample in run.samples if sample.limit is not None]
        gateways = run.scenario.gateways * run.scenario.servers
        for number in range(gateways):
            mine = seen[number::gateways]
            label = name if gateways == 1 else f"{name}: {number + 1}"
            axes.plot([sample.at for sample in mine], [sample.limit or 0 for sample in mine], label=label)
    axes.set_xlabel("seconds")
    axes.set_ylabel("limit: pages at the server at once")
    _save(figure, axes, file)


def _figure_and_axes() -> tuple[Figure, Axes]:
    """An empty chart."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    return figure, figure.add_subplot()


def _save(figure: Figure, axes: Axes, file: Path) -> None:
    """Writes the chart, with a legend."""
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(framealpha=0)
    figure.savefig(file, metadata={"Date": None}, transparent=True)
