"""Takes a service through steps of load, one after the other, and keeps what each showed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio

from inkgate.bench.load.bench import Bench, Progress
from inkgate.bench.load.climb import REFINEMENTS, Steps, between, in_order, next_up
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.knee import find_knee
from inkgate.bench.load.plan import Arrivals, Load, Plan
from inkgate.bench.load.readings import several
from inkgate.bench.load.results import Axis, Knee, OwnLimits, Point, Second, ServerSide, Summary
from inkgate.bench.load.run import Measured
from inkgate.concurrency import single_error

RECOVERY_TRIES = 180
"""Of a second each: a model server that died is loaded again meanwhile."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """What the steps showed. `timeline`: every second; `knee`: None where there was one step only."""

    points: tuple[Point, ...]
    timeline: tuple[Second, ...]
    own: OwnLimits
    knee: Knee | None
    partial: bool
    notes: tuple[str, ...]


async def run_steps(load: Load, steps: Steps, bench: Bench) -> Stepped:
    """All steps. `load`: its plan's level is not looked at; each run has a seed of its own.

    Raises:
        LoadImpossible: a plan makes no sense, or is one whose load changes by itself.
    """
    if load.plan.arrivals in {Arrivals.RAMP, Arrivals.REPLAY}:
        raise LoadImpossible("A ramp or recorded traffic can't be taken in steps.")
    if steps.repeats < 1:
        raise LoadImpossible("Each step is made once at least.")
    return await _walked(_Walk(load, steps, bench))


async def run_once(load: Load, bench: Bench) -> Stepped:
    """One load alone, whatever its arrivals, watched and scraped as a step is."""
    return await _walked(_Walk(load, Steps((load.plan.level,)), bench))


async def _walked(walk: _Walk) -> Stepped:
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(walk.bench.scraper.run)
            await walk.all()
            tasks.cancel_scope.cancel()
    return walk.result()


class _Over(Exception):
    """No further step is made."""


class _Walk:
    def __init__(self, load: Load, steps: Steps, bench: Bench) -> None:
        self._load = load
        self._steps = steps
        self.bench = bench
        self._runs: dict[float, list[Summary]] = {}
        self._servers: dict[float, list[ServerSide]] = {}
        self._owns: list[tuple[float, OwnLimits]] = []
        self._timeline: list[Second] = []
        self._windows: list[Second] = []
        self._number = 0
        self._elapsed_s = 0.0
        self._partial = False
        self._notes: list[str] = []

    async def all(self) -> None:
        """Every run of every step, until it is stopped."""
        try:
            if self._steps.levels:
                for level in self._steps.levels:
                    await self.run(level, 1)
            else:
                await self._climb()
            for number in range(1, self._steps.repeats):
                for level in in_order(self._repeated(), number):
                    await self.run(level, number + 1)
        except _Over:
            self._partial = True

    async def _climb(self) -> None:
        while (level := next_up(self.points(), self._steps, self.bench.max_error)) is not None:
            await self.run(level, 1)
        for _ in range(REFINEMENTS):
            for level in between(self.points(), self.knee(), self._load.plan.axis):
                await self.run(level, 1)

    def _repeated(self) -> list[float]:
        """All levels; after a climb, those from which the knee's interval and the top can be told."""
        levels = sorted(self._runs)
        knee = self.knee()
        if self._steps.levels or knee.low is None:
            return levels
        return [level for level in levels if level >= knee.low]

    async def run(self, level: float, number: int) -> None:
        """One run of a level; waits until the service answers again where requests failed. Raises _Over."""
        bench, plan = self.bench, replace(self._load.plan, level=level, seed=self._load.plan.seed + self._number)
        self._number += 1
        of = len(self._steps.levels) * self._steps.repeats or None
        if bench.watcher is not None:
            length_s = plan.warming_s + plan.window_s
            bench.watcher.begins(Progress(self._number, of, level, number, length_s, plan.warming_s))
        bench.scraper.begin()
        measured = await bench.measure(replace(self._load, plan=plan), self._hear(plan), bench.stop)
        self._keep(level, measured)
        if measured.partial or (bench.stop is not None and bench.stop.is_set()):
            raise _Over
        if (measured.summary.failed or measured.summary.timed_out) and not await self._answers():
            self._notes.append(f"After the step at {level:g} the service answered nothing any more.")
            raise _Over

    def _hear(self, plan: Plan) -> Callable[[Second], None]:
        warm = plan.warming_s > 0

        def heard(second: Second) -> None:
            nonlocal warm
            if warm and second.at >= plan.warming_s:
                warm = False
                self.bench.scraper.begin()
            if self.bench.watcher is not None:
                self.bench.watcher.second(second, self.bench.scraper.last)

        return heard

    def _keep(self, level: float, measured: Measured) -> None:
        begins_s, ends_s = measured.begins_s, measured.begins_s + measured.summary.seconds
        self._timeline += [replace(second, at=second.at + self._elapsed_s) for second in measured.timeline]
        if measured.partial and measured.summary.seconds < self._load.plan.window_s / 2 and self._runs:
            return  # too little to stand beside whole runs
        window = [second for second in measured.timeline if begins_s < second.at - 0.5 <= ends_s]
        self._windows += window
        self._notes += _piled_up(level, window) if self._load.plan.axis is Axis.RATE else ()
        self._elapsed_s += measured.timeline[-1].at if measured.timeline else 0.0
        self._runs.setdefault(level, []).append(measured.summary)
        self._owns.append((level, measured.own))
        server = self.bench.scraper.end()
        if server is not None:
            self._servers.setdefault(level, []).append(server)
        if self.bench.watcher is not None:
            self.bench.watcher.ended(level, measured.summary, server)

    async def _answers(self) -> bool:
        """Whether one request after the other comes through again, in the end."""
        one = replace(self._load.plan, axis=Axis.CONCURRENCY, level=1, seconds=1.0, warm_s=0.0, until_level=None)
        probe = replace(self._load, plan=replace(one, arrivals=Arrivals.POISSON))
        for _ in range(RECOVERY_TRIES):
            measured = await self.bench.measure(probe, None, self.bench.stop)
            if measured.partial:
                raise _Over
            if measured.summary.answered:
                return True
            await self.bench.sleep(1.0)
        return False

    def points(self) -> tuple[Point, ...]:
        return tuple(
            Point(level, tuple(runs), several(self._servers.get(level, ())))
            for level, runs in sorted(self._runs.items())
        )

    def knee(self) -> Knee:
        plan = self._load.plan
        return find_knee(self.points(), plan.axis, plan.deadline_s, self.bench.max_error, self._windows)

    def result(self) -> Stepped:
        knee = self.knee() if len(self._runs) > 1 else None
        own = _together(self._owns)
        return Stepped(self.points(), tuple(self._timeline), own, knee, self._partial, tuple(self._notes))


def _piled_up(level: float, window: Sequence[Second]) -> list[str]:
    """That more came in a window than ended in it, by so much that it can't be chance: it counts as good still."""
    offered = sum(second.offered for second in window)
    more = window[-1].in_flight - window[0].in_flight if window else 0
    if more <= max(0.1 * offered, 3 * math.sqrt(offered)):
        return []
    note = (
        f"At {level:g} requests/s more came than were answered: at the end {more} more of {offered} were on their way."
    )
    return [f"{note} A longer step would show them late."]


def _together(owns: Sequence[tuple[float, OwnLimits]]) -> OwnLimits:
    """The worst of all runs. It was the bottleneck where it was in any."""
    if len(owns) == 1:
        return owns[0][1]
    return OwnLimits(
        bottleneck=any(own.bottleneck for _, own in owns),
        why="; ".join(f"at {level:g}: {own.why}" for level, own in owns if own.why),
        late_p99_s=max((own.late_p99_s for _, own in owns), default=0.0),
        busy_share=max((own.busy_share for _, own in owns), default=0.0),
        unsent=sum(own.unsent for _, own in owns),
    )
