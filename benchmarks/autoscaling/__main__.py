"""Simulates a day with a lunch dip, an evening peak and a burst of five times the load, with the chart's autoscaling.

    python -m benchmarks.autoscaling [--hours 24] [--seed 1] [--plot FILE]

Beside the chart's values: the most engines that they allow all day, the same values without a stabilisation window, and
the backlog in place of the load as metric.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import structlog

from benchmarks.autoscaling.day import (
    HOUR_S,
    DayResult,
    Plan,
    by_backlog,
    capacity_of,
    described,
    simulate_day,
)
from benchmarks.autoscaling.hpa import ScalingValues

HEADER = ("engines", "pages lost", "refused", "late or failed", "hours", "changes", "undone in 30 min", "too few for")


def plans(hours: float, seed: int) -> list[tuple[str, Plan]]:
    """What is compared, the chart's values first."""
    values = ScalingValues.of_chart()
    chart = Plan(values, capacity_of(values.gateways), hours=hours, seed=seed, gateways=values.gateways)
    no_window = replace(values, down=replace(values.down, window_s=0.0))
    return [
        ("by the chart", chart),
        (f"{values.most} all day", replace(chart, scaling=None, replicas=values.most)),
        ("without a window", replace(chart, scaling=no_window)),
        ("by backlog alone", replace(chart, scaling=replace(values, target=1.0), metric=by_backlog)),
    ]


def simulate_quietly(plan: Plan) -> DayResult:
    """The result, without the gateway's log."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    return simulate_day(plan)


def draw(result: DayResult, file: Path) -> None:
    """Load, metric and servers over the day."""
    from benchmarks.simulate.plots import figure_and_axes, save

    figure, axes = figure_and_axes()
    hours = [sample.at / HOUR_S for sample in result.samples]
    axes.plot(hours, [sample.metric for sample in result.samples], lw=0.6, alpha=0.6, label="inkgate_load_servers")
    axes.plot(hours, [sample.load for sample in result.samples], lw=1.5, label="load, in engines kept busy")
    axes.step(hours, [sample.up for sample in result.samples], where="post", lw=1.5, label="engines that take calls")
    axes.set_xticks(range(0, 25, 3))
    axes.set_xlabel("hour of the day")
    axes.set_ylabel("engines")
    save(figure, axes, file)


def table(rows: Sequence[Sequence[str]]) -> str:
    """As Markdown."""
    lines = (HEADER, tuple("---" for _ in HEADER), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, metavar="FILE")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    compared = plans(args.hours, args.seed)
    with ProcessPoolExecutor(max_workers=2) as processes:
        results = list(processes.map(simulate_quietly, [plan for _, plan in compared]))
    chart = results[0]
    print(f"{chart.pages:,} pages; an engine reads {chart.plan.capacity:.2f} a second and starts in", end=" ")
    print(f"{chart.plan.start_s:.0f} s\n")
    print(table(described(list(zip([name for name, _ in compared], results, strict=True)))))
    print("\nchanges: " + ", ".join(f"{at / HOUR_S:.2f} h {old} to {new}" for at, old, new in chart.changes))
    if args.plot is not None:
        draw(chart, args.plot)


if __name__ == "__main__":
    main()
