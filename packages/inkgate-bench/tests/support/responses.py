"""Simulated services to tune: a response to the settings, with noise, drift, deaths and failed starts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from inkgate_bench.load.results import LoadSummary, MachineInfo, ServerSide
from inkgate_bench.tune.results import (
    Parameter,
    Purpose,
    SearchTask,
    Settings,
    Step,
    Targets,
    Trial,
    TrialOutcome,
    TuneReport,
)
from inkgate_bench.tune.search import Journal, search
from support.clock import Clock

SEQS = "engine.vllm.managed.max_num_seqs"
TOKENS = "engine.vllm.managed.max_num_batched_tokens"
GRID = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128)
MACHINE = MachineInfo("bench", "a processor", 8, 32.0)
TARGETS = Targets(deadline_s=5.0, max_error=0.001)
DEMAND = 100.0

Response = Callable[[Settings], float]


@dataclass(frozen=True)
class SimulatedService:
    """Pages in time per second by `response`; times in seconds.

    Attributes:
        noise: standard deviation from run to run, as a share; drift: of the speed, over the whole budget.
        others: share of the machine that other programs use, and of the speed that this costs, by the second.
        deaths: by the second; heaviest: the same under the heaviest images; starts: whether it does.
    """

    response: Response
    noise: float = 0.07
    drift: Callable[[float], float] = lambda _at: 0.0
    deaths: Callable[[Settings], float] = lambda _settings: 0.0
    heaviest: Callable[[Settings], float] = lambda _settings: 0.0
    starts: Callable[[Settings], bool] = lambda _settings: True
    preempts: Callable[[Settings], bool] = lambda _settings: False
    accuracy: Callable[[Settings], float | None] = lambda _settings: None
    failed: Callable[[Settings], float] = lambda _settings: 0.0
    others: Callable[[float], float] = lambda _at: 0.0
    start_s: float = 28.0


class SimulatedBench:
    """A Bench over `made`, on a clock that it moves. Keeps what was asked of it.

    Asked for as much as it can, it answers 84 % of that; for twice as much 98 %.
    """

    def __init__(self, made: SimulatedService, clock: Clock, seed: int) -> None:
        self.made = made
        self.clock = clock
        self.began = clock()
        self.chance = random.Random(seed)
        self.asked: list[tuple[Settings, Purpose]] = []
        self.steps: list[Step] = []

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        self.steps.append(step)
        if step.side_by_side:
            self.clock.goes_on(self.made.start_s * len({tuple(settings.items()) for settings in step.turns}))
        for settings in step.turns:
            self.asked.append((settings, step.purpose))
            trial = await self.try_turn(settings, step)
            done(trial)
            if trial.outcome is not TrialOutcome.MEASURED:
                return

    async def try_turn(self, settings: Settings, step: Step) -> Trial:
        await anyio.lowlevel.checkpoint()
        made, purpose, seconds = self.made, step.purpose, step.seconds
        if not made.starts(settings):
            self.clock.goes_on(made.start_s / 3)
            return Trial(0, purpose, settings, TrialOutcome.NOT_STARTED, 0.0, why="no room for the KV cache")
        lives = made.heaviest if purpose is Purpose.HEAVIEST else made.deaths
        life = self.chance.expovariate(lives(settings)) if lives(settings) else math.inf
        self.clock.goes_on((0.0 if step.side_by_side else made.start_s) + min(seconds, life))
        if life < seconds:
            return Trial(0, purpose, settings, TrialOutcome.DIED, life, why="out of memory")
        at = self.clock() - self.began
        others = made.others(at)
        speed = (1 + made.drift(at)) * (1 - others) * math.exp(self.chance.gauss(0.0, made.noise))
        rate = (step.demand**-4 + (made.response(settings) * speed) ** -4) ** -0.25
        trial = self._measured(settings, purpose, seconds, rate, step.demand)
        return replace(trial, other_load_cores=others * MACHINE.cores)

    def _measured(self, settings: Settings, purpose: Purpose, seconds: float, rate: float, demand: float) -> Trial:
        offered, answered = int(demand * seconds), round(rate * seconds)
        failed = round(self.made.failed(settings) * offered)
        refused = offered - answered - failed
        summary = LoadSummary(
            seconds, offered, answered, answered, refused, 0, failed, 0, answered, 0, 1000 * offered, 8.0, None, None
        )
        server = ServerSide(preemptions=answered if self.made.preempts(settings) else 0, restarts=0, memory_mb=1300.0)
        accuracy = self.made.accuracy(settings)
        return Trial(0, purpose, settings, TrialOutcome.MEASURED, seconds, summary, server, accuracy)


def task(
    *,
    budget_s: float = 900.0,
    seed: int = 1,
    current: int = 64,
    parameters: tuple[Parameter, ...] = (),
    heaviest: bool = False,
    demand: float | None = None,
    free_memory_mb: float = 0.0,
) -> SearchTask:
    """A search over max_num_seqs alone, or over `parameters` with their last values in use. `demand`: at first; else
    so much that it need not rise.
    """
    asked = parameters or (Parameter(SEQS, GRID, "a batch"),)
    in_use: Settings = {SEQS: current}
    if parameters:
        in_use = {dial.path: dial.values[-1] for dial in asked}
    return SearchTask(
        engine="vllm",
        parameters=asked,
        current=in_use,
        targets=TARGETS,
        pages="0" * 64,
        demand=demand or DEMAND,
        budget_s=budget_s,
        began="2026-11-21T18:00:00Z",
        machine=MACHINE,
        heaviest=heaviest,
        seed=seed,
        rises=demand is not None,
        free_memory_mb=free_memory_mb,
    )


async def run_search(made: SimulatedService, asked: SearchTask) -> tuple[TuneReport, SimulatedBench, Clock]:
    """A whole search on `made`, with the task's seed for its noise, too."""
    clock = Clock(0.0)
    bench = SimulatedBench(made, clock, asked.seed)
    return await search(bench, Journal(asked), clock), bench, clock


def loss(made: SimulatedService, report: TuneReport, best: float) -> float:
    """Share of `best`, the true best allowed, that what was chosen loses; 1 where nothing was."""
    return 1.0 if report.chosen is None else 1 - made.response(report.chosen.settings) / best


def saturating_response(peak: float, fall: float = 0.15, height: float = 20.0) -> Response:
    """Rises to `peak` sequences as batches fill, then falls by `fall` for each doubling."""

    def response(settings: Settings) -> float:
        seqs = float(settings[SEQS])
        octaves = math.log2(seqs / peak)
        rise = 1 / (1 + math.pow(max(-octaves, 0.0), 1.5) * 0.25)
        return height * rise * (1 - min(fall * max(octaves, 0.0), 0.95))

    return response
