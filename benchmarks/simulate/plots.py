"""SVG charts of simulations. The same runs give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.simulate.report import Row
from benchmarks.simulate.scenario import Run, Sample

mpl.rcParams["svg.hashsalt"] = "inkgate"
mpl.rcParams["svg.fonttype"] = "none"
# Gray on a transparent background: readable on white and black pages.
mpl.rcParams.update(
    dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), "#808080")
)


def overload(rows: Sequence[Row], capacity: float, file: Path) -> None:
    """Goodput by offered load, both in multiples of the capacity (responses a second), a line for each policy."""
    figure, axes = figure_and_axes()
    for policy in dict.fromkeys(row.policy for row in rows):
        mine = [row for row in rows if row.policy == policy]
        axes.plot([row.load for row in mine], [row.goodput / capacity for row in mine], marker="o", label=policy)
    axes.set_xscale("log")
    loads = sorted({row.load for row in rows})
    axes.set_xticks(loads, [f"{load:g}" for load in loads])
    axes.minorticks_off()
    axes.set_xlabel("offered load / capacity")
    axes.set_ylabel("answers in time / capacity")
    save(figure, axes, file)


def limits(runs: Mapping[str, Run], file: Path) -> None:
    """The limit over time, a line for each gateway of each run."""
    figure, axes = figure_and_axes()
    for name, run in runs.items():
        seen: list[Sample] = [sample for sample in run.samples if sample.limit is not None]
        gateways = run.scenario.gateways * run.scenario.servers
        for number in range(gateways):
            mine = seen[number::gateways]
            label = name if gateways == 1 else f"{name}: {number + 1}"
            axes.plot([sample.at for sample in mine], [sample.limit or 0 for sample in mine], label=label)
    axes.set_xlabel("seconds")
    axes.set_ylabel("limit: pages at the server at once")
    save(figure, axes, file)


def figure_and_axes() -> tuple[Figure, Axes]:
    """An empty chart."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    return figure, figure.add_subplot()


def save(figure: Figure, axes: Axes, file: Path) -> None:
    """Writes the chart, with a legend."""
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(framealpha=0)
    figure.savefig(file, metadata={"Date": None}, transparent=True)
