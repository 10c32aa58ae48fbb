"""Simulates load of 0.5 to 10 times capacity on a 4090D, without and with inkgate.

    python -m benchmarks.simulate [--seconds 300] [--seeds 3] [--json FILE] [--plots FOLDER]

The capacity is the best goodput of a semaphore with a short queue over all its settings, at twice the rate that 16
concurrent pages sustain, including crashes and restarts.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import write_json
from benchmarks.simulate import report
from benchmarks.simulate.batch import Flags
from benchmarks.simulate.inkgate import adaptive
from benchmarks.simulate.policies import Bare, NewPolicy, semaphore
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import Run, Scenario
from benchmarks.simulate.workload import Tenant

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
SETTINGS = (8, 12, 16, 20, 24, 32, 48, 64)
WARM_UP_S = 30.0


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy and the flags of its vLLM."""

    name: str
    policy: NewPolicy
    flags: Flags


CONTENDERS = (
    Contender("bare vLLM", Bare, Flags()),
    Contender("vLLM, 16 at once, 32 queued", Bare, Flags(max_num_seqs=16, max_num_queued_reqs=32)),
    Contender("semaphore of 16", semaphore(16), Flags()),
    Contender("inkgate", adaptive(), Flags()),
)


def scenario(rate: float, seconds: float, flags: Flags, seed: int) -> Scenario:
    """One tenant that sends `rate` single pages a second, of mixed sizes and lengths."""
    tenant = Tenant("all", [(0.0, rate)])
    return Scenario([tenant], until_s=WARM_UP_S + seconds, from_s=WARM_UP_S, flags=flags, seed=seed)


def capacity(seconds: float, seeds: int) -> tuple[float, Mapping[int, float]]:
    """The best goodput over all SETTINGS, and the goodput of each."""
    goodputs: dict[int, float] = {}
    for limit in SETTINGS:
        policy = semaphore(limit, most_waiting=2 * limit)
        runs = [simulate(scenario(44.0, seconds, Flags(), seed), policy) for seed in range(seeds)]
        goodputs[limit] = sum(run.goodput() for run in runs) / seeds
    return max(goodputs.values()), goodputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="simulated, after a warm-up")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="where overload.svg and limit.svg are written")
    args = parser.parse_args()
    best, goodputs = capacity(args.seconds, args.seeds)
    print(f"capacity: {best:.1f} answers in time a second. Goodput by the semaphore's setting:")
    print(", ".join(f"{limit}: {goodput:.1f}" for limit, goodput in goodputs.items()) + "\n")
    rows: list[report.Row] = []
    limits: dict[str, Run] = {}
    for contender in CONTENDERS:
        for load in LOADS:
            runs = [
                simulate(scenario(load * best, args.seconds, contender.flags, seed), contender.policy)
                for seed in range(args.seeds)
            ]
            rows.append(report.row(contender.name, load, runs))
            if contender.name == "inkgate":
                limits[f"{load:g} times capacity"] = runs[0]
    print(report.table(rows))
    result = {
        "simulated": "HunyuanOCR on vLLM, RTX 4090D 24 GB",
        "seconds": args.seconds,
        "seeds": args.seeds,
        "capacity_per_s": best,
        "goodput_by_semaphore": goodputs,
        "rows": report.as_json(rows),
    }
    write_json(args.json, result)
    if args.plots is not None:
        _draw(args.plots, rows, best, limits)


def _draw(folder: Path, rows: Sequence[report.Row], best: float, limits: Mapping[str, Run]) -> None:
    from benchmarks import plots

    folder.mkdir(parents=True, exist_ok=True)
    plots.overload([(row.policy, row.load, row.goodput / best) for row in rows], folder / "overload.svg")
    plots.limits(limits, folder / "limit.svg")


if __name__ == "__main__":
    main()
