"""The exhaustive sweep: every point of the grid, pass by pass."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence

from benchmarks.tuning.quiet import until_quiet
from benchmarks.tuning.record import Run, short, taken
from benchmarks.tuning.side_by_side import rounds as side_by_side
from inkgate_bench.tune.results import Purpose, Settings, Step, Targets, Trial
from inkgate_bench.tune.score import score
from inkgate_bench.tune.service_bench import BenchSetup, ServiceBench

_TRIES = 3


class PrintingBench:
    """A Bench that prints its trials and counts those of a search."""

    def __init__(self, bench: ServiceBench, targets: Targets) -> None:
        self._bench = bench
        self._targets = targets
        self.trials = 0
        self.taken: list[float] = []

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """See Bench."""
        began = time.monotonic()

        def show(trial: Trial) -> None:
            nonlocal began
            self._print(trial, time.monotonic() - began)
            began = time.monotonic()
            done(trial)

        await self._bench.measure(step, show)

    def _print(self, trial: Trial, took_s: float) -> None:
        self.trials += 1
        self.taken.append(taken(trial))
        others = "" if trial.other_load_cores is None else f", {trial.other_load_cores:.2f} cores taken"
        took = f"({took_s:.0f} s{others})"
        print(f"  {trial.purpose:9} {short(trial.settings):44} {self._result(trial)} {took}", flush=True)

    def _result(self, trial: Trial) -> str:
        summary = trial.summary
        if summary is None:
            return f"{trial.outcome} {trial.why[:60]}"
        return (
            f"{score(summary, self._targets):7.2f}/s of {summary.offered_per_s:.1f}, {summary.refused} refused, "
            f"{summary.timed_out + summary.answered - summary.in_time} late {trial.outcome} {trial.why[:60]}"
        )


def before_searches(options: argparse.Namespace) -> list[range]:
    """Spreads the passes before each search and after the last: one by one, or evenly with --side-by-side."""
    passes, searches = options.passes, options.searches
    if options.side_by_side:
        ends = [passes * part // (searches + 1) for part in range(searches + 2)]
    else:
        ends = [*(min(done, passes) for done in range(searches + 1)), passes]
    return [range(begin, end) for begin, end in itertools.pairwise(ends)]


async def swept(run: Run, setup: BenchSetup, points: Sequence[Settings], numbers: Sequence[int]) -> None:
    """Runs these passes of the sweep."""
    if not numbers:
        return
    if not run.options.side_by_side:
        for number in numbers:
            await sweep(run, PrintingBench(ServiceBench(setup), run.targets), points, number)
        return
    await until_quiet(run.options.steady)
    async for trials in side_by_side(points, numbers, setup, run.demand, run.options.seconds):
        kept = [trial for trial in trials if taken(trial) <= run.options.steady]
        run.sweep.extend(kept)
        run.write()
        told = "  ".join(f"{short(trial.settings)}: {points_of(trial, run.targets)}" for trial in trials)
        print(f"  round, {len(kept)} kept: {told}", flush=True)


def points_of(trial: Trial, targets: Targets) -> str:
    """Responses in time a second, and the cores that other programs took meanwhile."""
    return "died" if trial.summary is None else f"{score(trial.summary, targets):.1f} ({taken(trial):.2f})"


async def sweep(run: Run, bench: PrintingBench, points: Sequence[Settings], number: int) -> None:
    """One pass: even ones go up the grid, odd ones down. Disturbed trials are repeated whatever their result, and left
    out if none is steady.
    """
    print(f"sweep, pass {number + 1}", flush=True)
    for settings in points if number % 2 == 0 else reversed(points):
        for _ in range(_TRIES):
            await until_quiet(run.options.steady)
            trials: list[Trial] = []
            step = Step((settings,), Purpose.SEARCH, run.options.seconds, run.demand)
            await bench.measure(step, trials.append)
            trial = trials[0]
            if taken(trial) <= run.options.steady:
                run.sweep.append(trial)
                run.write()
                break
