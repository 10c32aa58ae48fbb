"""Plots the limit over time: after steps in load and server speed, and with two gateways for one server.

    python -m benchmarks.simulate.steps --plots FOLDER

Uses a 4090D that is four times slower and has memory for any batch, as in the tests of the limiter, so that fewer
requests need to be simulated and no crash disturbs the limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.simulate.card import RTX_4090D
from benchmarks.simulate.inkgate import adaptive
from benchmarks.simulate.plots import limits
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import Event, Link, Run, Scenario
from benchmarks.simulate.workload import Tenant
from inkgate.settings import SchedulingSettings

CARD = RTX_4090D.undying().slower(4)
UNTIL_S = 300.0


def scenario(rates: Sequence[tuple[float, float]], events: Sequence[Event] = (), gateways: int = 1) -> Scenario:
    """Single pages at a rate per second; with a short queue and patient clients, only the limit matters."""
    tenants = [Tenant("all", rates, patience_s=60)]
    return Scenario(tenants, until_s=UNTIL_S, card=CARD, events=events, gateways=gateways)


def slowed(at: float, factor: float) -> Event:
    """Makes the server `factor` times slower from that time on."""

    def act(links: Sequence[Link]) -> None:
        for link in links:
            link.server.slow_down(factor)

    return Event(at, act)


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "load from 1 to 11 pages/s at 100 s": lambda: scenario([(0.0, 1.0), (100.0, 11.0)]),
    "server 3 times slower from 100 to 200 s": lambda: scenario([(0.0, 11.0)], [slowed(100, 3), slowed(200, 1)]),
    "two gateways": lambda: scenario([(0.0, 11.0)], gateways=2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plots", type=Path, required=True, metavar="FOLDER", help="where steps.svg is written")
    args = parser.parse_args()
    policy = adaptive(scheduling=SchedulingSettings(max_waiting=40))
    runs: dict[str, Run] = {name: simulate(make(), policy) for name, make in SCENARIOS.items()}
    args.plots.mkdir(parents=True, exist_ok=True)
    limits(runs, args.plots / "steps.svg")
    spans = [(start, start + 50.0) for start in range(0, int(UNTIL_S), 50)]
    for name, run in runs.items():
        served = ", ".join(f"{run.answered_per_s(*span):.1f}" for span in spans)
        mean = ", ".join(f"{_mean(run.limits(*span)):.0f}" for span in spans)
        print(f"{name}: answers a second by 50 s: {served}; mean limit: {mean}; preemptions: {run.preemptions}")


def _mean(values: Sequence[int]) -> float:
    return sum(values) / max(1, len(values))


if __name__ == "__main__":
    main()
