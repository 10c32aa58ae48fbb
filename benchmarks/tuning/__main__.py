"""Compares `inkgate tune` with an exhaustive sweep: several searches and the sweep in one run, by the same measure.

    python -m benchmarks.tuning --engine vllm --json FILE
    python -m benchmarks.tuning --engine ppocr --json FILE

Every point of the grid is measured as in the search (start a service, load it above its capacity, stop it), up the grid
in one pass and down in the next, to compensate for a machine that slows down. A pass runs before each search and the
others at the end, so that sweep and searches see the same machine. Searches are independent of the sweep: without
--rate they find the rate themselves, as `inkgate tune` does; the sweep, which can't adapt its rate, gets --sweep-rate.
A choice is judged by the sweep alone: its goodput divided by that of the best point. FILE is written after every trial.

With --side-by-side, all services of the sweep run at once and are loaded alternately (side_by_side.py): --passes times
for --seconds each, equally spread before each search and after the last. This tells similar points apart on a machine
whose speed changes. Trials during which other programs took more than --steady cores are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev

from benchmarks.tuning.quiet import until_quiet
from benchmarks.tuning.record import Run, short
from benchmarks.tuning.setting import GRIDS, config_of, pages_of
from benchmarks.tuning.sweep import PrintingBench, before_searches, swept
from inkgate.settings import load_settings
from inkgate_bench.load.report import this_machine
from inkgate_bench.tune.demand import find_demand
from inkgate_bench.tune.parameters import SearchScope, search_scope
from inkgate_bench.tune.results import SearchTask, Settings, Targets
from inkgate_bench.tune.search import Journal, search
from inkgate_bench.tune.service_bench import BenchSetup, ServiceBench


def grid(ready: SearchScope) -> list[Settings]:
    """All points of the grid."""
    values = itertools.product(*(each.values for each in ready.parameters))
    return [dict(zip((each.path for each in ready.parameters), point, strict=True)) for point in values]


async def measure(options: argparse.Namespace, config: Path) -> Run:
    tree = load_settings(config)
    ready = search_scope(tree, ground_truth=False, names=options.parameter or GRIDS[options.engine])
    pages = pages_of(options.engine, options.pages)
    setup = BenchSetup(pages, ready.limits, options.deadline, config)
    points = grid(ready)
    targets = Targets(options.deadline, options.max_error)
    run = Run(options, targets, options.json)
    bench = ServiceBench(setup)
    run.demand = options.sweep_rate or options.rate or await find_demand(bench, ready.parameters, ready.current)
    print(f"{run.demand:.1f} requests/s are offered; {len(points)} points, {options.passes} passes", flush=True)
    for seed, numbers in enumerate(before_searches(options), 1):
        await swept(run, setup, points, numbers)
        if seed > options.searches:
            break
        await until_quiet(options.steady)
        began = time.monotonic()
        demand = options.rate or await find_demand(bench, ready.parameters, ready.current)
        task = SearchTask(
            engine=ready.engine,
            parameters=ready.parameters,
            current=ready.current,
            targets=targets,
            pages="benchmark",
            demand=demand,
            budget_s=options.minutes * 60 - (time.monotonic() - began),
            began=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            machine=this_machine(),
            heaviest=False,
            seed=seed,
            rises=options.rate is None,
        )
        await searched(run, task, PrintingBench(bench, targets))
    return run


async def searched(run: Run, task: SearchTask, bench: PrintingBench) -> None:
    """Runs one search and returns its choice."""
    print(f"search {task.seed}, {task.demand:.1f} requests/s are offered at first")
    began = time.monotonic()
    report = await search(bench, Journal(task))
    run.searches.append(
        {
            "seed": task.seed,
            "chosen": None if report.chosen is None else report.chosen.settings,
            "trials": bench.trials,
            "demand": (task.demand, report.demand),
            "cores_taken": mean(bench.taken),
            "seconds": round(time.monotonic() - began),
            "reasons": report.reasons,
            "fragment": report.fragment,
        }
    )
    run.write()


def show(run: Run) -> None:
    print(f"\n{'settings':46} {'goodput/s':>10} {'sd':>6} {'trials':>6}")
    for key in dict.fromkeys(tuple(trial.settings.items()) for trial in run.sweep):
        scores = run.scores(dict(key))
        spread = f"{stdev(scores):6.2f}" if len(scores) > 1 else ""
        print(f"{short(dict(key)):46} {mean(scores):10.2f} {spread:>6} {len(scores):>6}")
    for found in map(run.judged, run.searches):
        chosen = "nothing" if found["chosen"] is None else short(found["chosen"])
        share = found["of_best"]
        judged = "not judged" if share is None else f"{100 * share:.1f} % of the best ({short(found['best'])})"
        print(
            f"search {found['seed']}: {chosen}: {judged}, {found['trials']} trials, {found['seconds']} s, "
            f"others took {found['cores_taken']:.2f} cores"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=sorted(GRIDS), default="vllm")
    parser.add_argument(
        "--parameter", action="append", metavar="NAME=A/B/C", help="a parameter and its values; default: GRIDS"
    )
    parser.add_argument("--pages", type=Path, metavar="DIR", help="images; default: drawn lines or receipts")
    parser.add_argument("--seconds", type=float, default=10.0, help="load for each trial of the sweep")
    parser.add_argument("--passes", type=int, default=2, help="passes through the grid")
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=6.0, help="time limit of each search")
    parser.add_argument("--deadline", type=float, default=2.0)
    parser.add_argument("--max-error", type=float, default=0.001)
    parser.add_argument("--rate", type=float, help="requests a second of sweep and searches; default: measured")
    parser.add_argument("--sweep-rate", type=float, help="requests a second of the sweep")
    steady = (
        "maximum cores that other programs may take before a search, and before and during a trial of the sweep: waits "
        "for up to 15 minutes, and repeats such a trial up to twice, or leaves it out"
    )
    together = "run all services of the sweep at once, and load them alternately for --seconds, --passes times"
    parser.add_argument("--side-by-side", action="store_true", help=together)
    parser.add_argument("--steady", type=float, default=math.inf, metavar="CORES", help=steady)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = asyncio.run(measure(options, config_of(options.engine, Path(folder))))
        except KeyboardInterrupt:
            sys.exit(130)
    show(run)


if __name__ == "__main__":
    main()
