"""Does `inkgate tune` find the best? An exhaustive sweep and several searches in one run, with the same measure.

    python -m benchmarks.tuning --engine vllm --json FILE
    python -m benchmarks.tuning --engine ppocr --json FILE

Every point of the grid is tried as the search tries it (a service started, loaded above its capacity, stopped), up the
grid in one pass and down in the next, so that a machine that becomes slower is unfair to none. A pass comes before each
search, and the others at the end: the sweep sees the machine as the searches do. Each search begins anew, knowing
nothing of the sweep: without --rate it finds out for itself how much to ask for, as `inkgate tune` does; the sweep,
which can't rise on the way, is given it by --sweep-rate. What was chosen is judged by the sweep alone: its goodput over
that of the best point. FILE is written after every trial.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.tuning.quiet import until_quiet
from benchmarks.tuning.setting import GRIDS, config_of, pages_of
from inkgate.loadtest.machine import this_machine
from inkgate.settings import load_settings
from inkgate.tuning.demand import find_demand
from inkgate.tuning.journal import Journal
from inkgate.tuning.prepare import Prepared, prepared
from inkgate.tuning.results import Outcome, Purpose, Settings, Targets, Trial
from inkgate.tuning.score import score
from inkgate.tuning.search import search
from inkgate.tuning.task import Task
from inkgate.tuning.trials import ServiceBench, Setup

DONE = Outcome.MEASURED
_TRIES = 3


@dataclass
class Run:
    """What was measured so far; written after each trial."""

    options: argparse.Namespace
    targets: Targets
    file: Path | None
    demand: float = 0.0
    sweep: list[Trial] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)

    def scores(self, settings: Settings) -> list[float]:
        """Of the sweep; 0 for each time it did not stay up."""
        tried = [trial for trial in self.sweep if trial.settings == settings]
        return [
            score(trial.summary, self.targets) if trial.outcome is DONE and trial.summary is not None else 0.0
            for trial in tried
        ]

    @property
    def best(self) -> tuple[Settings, float]:
        """The best point of the sweep, and its mean score."""
        settings = max((trial.settings for trial in self.sweep), key=lambda settings: mean(self.scores(settings)))
        return settings, mean(self.scores(settings))

    def judged(self, found: dict[str, Any]) -> dict[str, Any]:
        """A search, by the sweep."""
        best, most = self.best
        got = mean(self.scores(found["chosen"])) if found["chosen"] is not None else 0.0
        return found | {"best": best, "of_best": got / most if most else None}

    def write(self) -> None:
        if self.file is None:
            return
        points = [
            {"settings": dict(key), "scores": self.scores(dict(key))}
            for key in dict.fromkeys(tuple(trial.settings.items()) for trial in self.sweep)
        ]
        found = {
            "options": {name: str(value) for name, value in vars(self.options).items()},
            "machine": {"cores": os.cpu_count(), "platform": platform.platform()},
            "demand": self.demand,
            "points": points,
            "best": self.best if self.sweep else None,
            "searches": [self.judged(found) for found in self.searches],
        }
        self.file.write_text(json.dumps(found, indent=1), encoding="utf-8")


class Told:
    """The bench, whose trials are printed; those of a search are counted."""

    def __init__(self, bench: ServiceBench, targets: Targets) -> None:
        self._bench = bench
        self._targets = targets
        self.trials = 0
        self.taken: list[float] = []

    async def try_(self, settings: Settings, purpose: Purpose, seconds: float, demand: float) -> Trial:
        began = time.monotonic()
        trial = await self._bench.try_(settings, purpose, seconds, demand)
        self.trials += 1
        self.taken.append(taken(trial))
        others = "" if trial.others_cores is None else f", {trial.others_cores:.2f} cores taken"
        took = f"({time.monotonic() - began:.0f} s{others})"
        print(f"  {purpose:9} {short(settings):44} {self._told(trial)} {took}", flush=True)
        return trial

    def _told(self, trial: Trial) -> str:
        summary = trial.summary
        if summary is None:
            return f"{trial.outcome} {trial.why[:60]}"
        return (
            f"{score(summary, self._targets):7.2f}/s of {summary.offered_per_s:.1f}, {summary.refused} refused, "
            f"{summary.timed_out + summary.answered - summary.in_time} late {trial.outcome} {trial.why[:60]}"
        )


def short(settings: Settings) -> str:
    return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in settings.items())


def grid(ready: Prepared) -> list[Settings]:
    """Every point."""
    values = itertools.product(*(dial.values for dial in ready.dials))
    return [dict(zip((dial.path for dial in ready.dials), point, strict=True)) for point in values]


async def measure(options: argparse.Namespace, config: Path) -> Run:
    tree = load_settings(config)
    ready = prepared(tree, ground_truth=False, names=options.dial or GRIDS[options.engine])
    pages = pages_of(options.engine, options.pages)
    setup = Setup(pages, ready.heaviness, options.deadline, ready.at_once, config)
    targets = Targets(options.deadline, options.max_error)
    run = Run(options, targets, options.json)
    bench = ServiceBench(setup)
    run.demand = options.sweep_rate or options.rate or await find_demand(bench, ready.dials, ready.current)
    print(f"{run.demand:.1f} requests/s are offered; {len(grid(ready))} points, {options.passes} passes", flush=True)
    for seed in range(1, options.searches + 1):
        if seed <= options.passes:
            await sweep(run, Told(bench, targets), grid(ready), seed - 1)
        await until_quiet(options.steady)
        began = time.monotonic()
        demand = options.rate or await find_demand(bench, ready.dials, ready.current)
        task = Task(
            engine=ready.engine,
            dials=ready.dials,
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
        await searched(run, task, Told(bench, targets))
    for number in range(options.searches, options.passes):
        await sweep(run, Told(bench, targets), grid(ready), number)
    return run


async def sweep(run: Run, bench: Told, points: Sequence[Settings], number: int) -> None:
    """One pass: the even ones up the grid, the odd ones down. What was disturbed is tried again, whatever it gave."""
    print(f"sweep, pass {number + 1}", flush=True)
    for settings in points if number % 2 == 0 else reversed(points):
        tried: list[Trial] = []
        while len(tried) < _TRIES and all(taken(trial) > run.options.steady for trial in tried):
            await until_quiet(run.options.steady)
            tried.append(await bench.try_(settings, Purpose.SEARCH, run.options.seconds, run.demand))
        run.sweep.append(min(tried, key=taken))
        run.write()


def taken(trial: Trial) -> float:
    """Cores that others took, a hypervisor's other guests among them."""
    return trial.others_cores or 0.0


async def searched(run: Run, task: Task, bench: Told) -> None:
    """One search, and where it landed."""
    print(f"search {task.seed}, {task.demand:.1f} requests/s are offered at first")
    began = time.monotonic()
    report = await search(task, bench, Journal(task))
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
    print(f"\n{'settings':46} {'goodput/s':>10} {'sd':>6}")
    for key in dict.fromkeys(tuple(trial.settings.items()) for trial in run.sweep):
        scores = run.scores(dict(key))
        spread = f"{stdev(scores):6.2f}" if len(scores) > 1 else ""
        print(f"{short(dict(key)):46} {mean(scores):10.2f} {spread:>6}")
    for found in map(run.judged, run.searches):
        chosen = "nothing" if found["chosen"] is None else short(found["chosen"])
        print(
            f"search {found['seed']}: {chosen}: {100 * (found['of_best'] or 0):.1f} % of the best "
            f"({short(found['best'])}), {found['trials']} trials, {found['seconds']} s, "
            f"others took {found['cores_taken']:.2f} cores"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=sorted(GRIDS), default="vllm")
    parser.add_argument("--dial", action="append", metavar="NAME=A/B/C", help="a dial and its values; else GRIDS")
    parser.add_argument("--pages", type=Path, metavar="DIR", help="else lines, or receipts, drawn here")
    parser.add_argument("--seconds", type=float, default=10.0, help="of load for each trial of the sweep")
    parser.add_argument("--passes", type=int, default=2, help="through the grid")
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=6.0, help="for each search")
    parser.add_argument("--deadline", type=float, default=2.0)
    parser.add_argument("--max-error", type=float, default=0.001)
    parser.add_argument("--rate", type=float, help="requests a second, of sweep and searches; else found")
    parser.add_argument("--sweep-rate", type=float, help="of the sweep alone")
    steady = (
        "cores that others may take before a search, and before and during a trial of the sweep: it is waited for, up "
        "to 15 minutes, and such a trial is made again, twice at most"
    )
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
