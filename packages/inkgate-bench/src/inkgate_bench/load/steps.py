"""Takes a service through levels of load, one after the other, and collects what each run showed."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import anyio

from inkgate_bench.load.knee import (
    REFINEMENTS,
    Steps,
    find_knee,
    levels_around_knee,
    levels_between,
    next_level,
    round_order,
)
from inkgate_bench.load.plan import Arrivals, Load, Plan
from inkgate_bench.load.readings import Scraper, merge_windows
from inkgate_bench.load.results import Axis, Knee, LoadPoint, LoadSummary, OwnLimits, Second, ServerSide
from inkgate_bench.load.run import LoadResult
from inkgate_client.concurrency import single_error

RECOVERY_TRIES = 180
"""One a second: a model server that died reloads its model meanwhile."""

RunLoad = Callable[[Load, Callable[[Second], None] | None, anyio.Event | None], Awaitable[LoadResult]]
"""`run.run`, except in tests."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run that begins. `number` from 1; `of`: how many there will be, None where that is unknown; `run` from 1."""

    number: int
    of: int | None
    level: float
    run: int
    seconds: float
    warm_s: float


class LoadObserver(Protocol):
    """Is called while a load test runs."""

    def begins(self, progress: RunProgress) -> None:
        """A run begins."""
        ...

    def second(self, second: Second, reading: ServerSide | None) -> None:
        """A second of it is over. `reading`: the last one of the service."""
        ...

    def ended(self, run: LoadPoint) -> None:
        """The run is over. `run`: it alone, as a point."""
        ...


@dataclass(frozen=True, slots=True)
class LoadInstruments:
    """What takes part in a load test beside its load. Setting `stop` ends it early."""

    run: RunLoad
    scraper: Scraper
    observer: LoadObserver | None = None
    stop: anyio.Event | None = None
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep


@dataclass(frozen=True, slots=True)
class StepResults:
    """What all runs showed. `timeline`: every second; `knee`: None where there was a single level."""

    points: tuple[LoadPoint, ...]
    timeline: tuple[Second, ...]
    own: OwnLimits
    knee: Knee | None
    partial: bool
    notes: tuple[str, ...]


async def run_steps(load: Load, steps: Steps | None, instruments: LoadInstruments) -> StepResults:
    """Runs all steps, each run with its own seed; the level of `load`'s plan is ignored. None: one run of `load`.

    Raises:
        LoadImpossible: the plan contradicts itself.
    """
    runner = _StepRunner(load, steps or Steps((load.plan.level,), repeats=1), instruments)
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(instruments.scraper.run)
            await runner.run_all()
            tasks.cancel_scope.cancel()
    return runner.results()


class _StepsEnded(Exception):
    """No further run is made."""


class _StepRunner:
    def __init__(self, load: Load, steps: Steps, instruments: LoadInstruments) -> None:
        self._load = load
        self._steps = steps
        self._instruments = instruments
        self._runs: dict[float, list[LoadSummary]] = {}
        self._servers: dict[float, list[ServerSide]] = {}
        self._owns: list[tuple[float, OwnLimits]] = []
        self._timeline: list[Second] = []
        self._number = 0
        self._elapsed_s = 0.0
        self._partial = False
        self._notes: list[str] = []
        self._backlogs: dict[float, str] = {}
        self._failed_at: float | None = None
        """The level of the last run, if requests failed in it."""

    async def run_all(self) -> None:
        """Every run of every level, unless it is ended early."""
        try:
            levels = await self._first_round()
            for number in range(1, self._steps.repeats):
                for level in round_order(levels, number):
                    await self._run(level, number + 1)
        except _StepsEnded:
            self._partial = True

    async def _first_round(self) -> Sequence[float]:
        """Runs each level once, and returns those to repeat: after a search, the knee's neighbours and all above."""
        if self._steps.levels:
            for level in self._steps.levels:
                await self._run(level, 1)
            return self._steps.levels
        max_error = self._load.plan.max_error
        while (level_up := next_level(self._points(), self._steps, max_error)) is not None:
            await self._run(level_up, 1)
        for _ in range(REFINEMENTS):
            around = levels_around_knee(self._points(), max_error)
            for level in levels_between(around, self._load.plan.axis):
                await self._run(level, 1)
        around = levels_around_knee(self._points(), max_error)
        return [level for level in self._runs if not around or level >= around[0]]

    async def _run(self, level: float, number: int) -> None:
        """One run of a level. After failures it first waits until the service answers again. Raises _StepsEnded."""
        if self._failed_at is not None and not await self._recovers():
            self._notes.append(f"After the step at {self._failed_at:g} the service answered no request any more.")
            raise _StepsEnded
        instruments = self._instruments
        plan = replace(self._load.plan, level=level, seed=self._load.plan.seed + self._number)
        self._number += 1
        if instruments.observer is not None:
            of = len(self._steps.levels) * self._steps.repeats or None
            length_s = plan.warming_s + plan.window_s
            instruments.observer.begins(RunProgress(self._number, of, level, number, length_s, plan.warming_s))
        instruments.scraper.begin()
        result = await instruments.run(replace(self._load, plan=plan), self._on_second(plan), instruments.stop)
        self._add(level, result)
        if result.partial or (instruments.stop is not None and instruments.stop.is_set()):
            raise _StepsEnded
        self._failed_at = level if result.summary.failed or result.summary.timed_out else None

    def _on_second(self, plan: Plan) -> Callable[[Second], None]:
        warming = plan.warming_s > 0

        def on_second(second: Second) -> None:
            nonlocal warming
            if warming and second.at >= plan.warming_s:
                warming = False
                self._instruments.scraper.begin()
            if self._instruments.observer is not None:
                self._instruments.observer.second(second, self._instruments.scraper.last)

        return on_second

    def _add(self, level: float, result: LoadResult) -> None:
        self._timeline += [replace(second, at=second.at + self._elapsed_s) for second in result.timeline]
        if result.partial and result.summary.seconds < self._load.plan.window_s / 2 and self._runs:
            return  # too short to compare with whole runs
        begins_s, ends_s = result.begins_s, result.begins_s + result.summary.seconds
        if self._load.plan.axis is Axis.RATE:
            window = [second for second in result.timeline if begins_s < second.at - 0.5 <= ends_s]
            if backlog := _backlog(level, window):
                self._backlogs.setdefault(level, backlog)
        self._elapsed_s += result.timeline[-1].at if result.timeline else 0.0
        self._runs.setdefault(level, []).append(result.summary)
        self._owns.append((level, result.own))
        server = self._instruments.scraper.end()
        if server is not None:
            self._servers.setdefault(level, []).append(server)
        if self._instruments.observer is not None:
            self._instruments.observer.ended(LoadPoint(level, (result.summary,), server))

    async def _recovers(self) -> bool:
        """Whether a single client gets a response again in the end."""
        plan = replace(self._load.plan, axis=Axis.CONCURRENCY, level=1, seconds=1.0, warm_s=0.0, until_level=None)
        probe = replace(self._load, plan=replace(plan, arrivals=Arrivals.POISSON))
        for _ in range(RECOVERY_TRIES):
            result = await self._instruments.run(probe, None, self._instruments.stop)
            if result.partial:
                raise _StepsEnded
            if result.summary.answered:
                return True
            await self._instruments.sleep(1.0)
        return False

    def _points(self) -> tuple[LoadPoint, ...]:
        return tuple(
            LoadPoint(level, tuple(runs), merge_windows(self._servers.get(level, ())))
            for level, runs in sorted(self._runs.items())
        )

    def results(self) -> StepResults:
        plan, points = self._load.plan, self._points()
        knee = find_knee(points, plan.axis, plan.deadline_s, plan.max_error) if len(points) > 1 else None
        own = _worst_limits(self._owns)
        notes = (*self._backlogs.values(), *self._notes)
        return StepResults(points, tuple(self._timeline), own, knee, self._partial, notes)


def _backlog(level: float, window: Sequence[Second]) -> str:
    """Says that requests piled up in a window, by more than chance explains; empty where they didn't."""
    offered = sum(second.offered for second in window)
    more = window[-1].in_flight - window[0].in_flight if window else 0
    if more <= max(0.1 * offered, 3 * math.sqrt(offered)):
        return ""
    backlog = f"At {level:g} requests/s requests piled up: {more} of {offered} were still in flight at the end."
    return f"{backlog} A longer run would show them as late."


def _worst_limits(owns: Sequence[tuple[float, OwnLimits]]) -> OwnLimits:
    """The worst of all runs: the generator was the bottleneck where it was in any."""
    if len(owns) == 1:
        return owns[0][1]
    whys = {level: own.why for level, own in owns if own.why}
    return OwnLimits(
        bottleneck=any(own.bottleneck for _, own in owns),
        why="; ".join(f"at {level:g}: {why}" for level, why in sorted(whys.items())),
        late_p99_s=max((own.late_p99_s for _, own in owns), default=0.0),
        busy_share=max((own.busy_share for _, own in owns), default=0.0),
        unsent=sum(own.unsent for _, own in owns),
    )
