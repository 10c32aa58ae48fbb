"""Searches for settings on the simulated 4090D, whose best max-num-seqs is known.

A trial of a minute takes less than a second of real time and a minute of virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from benchmarks.simulate.batch import Flags
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.policies import Bare
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import End, RequestResult, Run, Scenario
from benchmarks.simulate.workload import REFERENCE, Pages, Tenant
from inkgate_bench.load.results import Latency, LoadSummary, MachineInfo, ServerSide
from inkgate_bench.tune.parameters import MAX_NUM_SEQS, vllm_parameters, with_value
from inkgate_bench.tune.results import Purpose, SearchTask, Settings, Step, Targets, Trial, TrialOutcome, TuneReport
from inkgate_bench.tune.search import Journal, search
from inkgate_client.concurrency import Threads

DEADLINE_S = 5.0
HEAVIEST = Pages(1.2, 0.0, 1024.0, 0.0)
"""The heaviest pages within the service's limits: a fifth larger than usual, with long texts."""
_WARM_S = 10.0
_GPU = "RTX 4090D (simulated)"


@dataclass
class SimulatedBench:
    """A Bench: vLLM with a bounded queue on `card`, under the given load. `now` is its virtual clock.

    Attributes:
        start_s: start-up time of vLLM in each trial.
        seed: of the first trial; each trial has its own.
    """

    card: Card = RTX_4090D
    pages: Pages = REFERENCE
    heaviest: Pages = HEAVIEST
    start_s: float = 60.0
    seed: int = 1
    now: float = 0.0
    threads: Threads = field(default_factory=lambda: Threads("simulated", 1))

    def clock(self) -> float:
        return self.now

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        for settings in step.turns:
            trial = await self._trial(settings, step.purpose, step.seconds, step.demand)
            done(trial)
            if trial.outcome is not TrialOutcome.MEASURED:
                return

    async def _trial(self, settings: Settings, purpose: Purpose, seconds: float, demand: float) -> Trial:
        self.seed += 1
        run = await self.threads.run(self._run, int(settings[MAX_NUM_SEQS]), purpose, seconds, demand)
        self.now += self.start_s + _WARM_S + seconds
        summary = _summary(run, seconds)
        server = ServerSide(preemptions=run.preemptions, restarts=run.deaths, gpu_share=run.busy)
        outcome = TrialOutcome.DIED if run.deaths else TrialOutcome.MEASURED
        why = "out of memory" if run.deaths else ""
        return Trial(0, purpose, settings, outcome, seconds, summary, server, why=why)

    def _run(self, seats: int, purpose: Purpose, seconds: float, demand: float) -> Run:
        pages = self.heaviest if purpose is Purpose.HEAVIEST else self.pages
        tenant = Tenant("all", [(0.0, demand)], pages=pages, patience_s=DEADLINE_S)
        flags = Flags(max_num_seqs=seats, max_num_queued_reqs=seats)
        until_s = _WARM_S + seconds
        scenario = Scenario([tenant], until_s, _WARM_S, card=self.card, flags=flags, seed=self.seed)
        return simulate(scenario, Bare)


def _summary(run: Run, seconds: float) -> LoadSummary:
    here = [ended for ended in run.ended if ended.request.at >= _WARM_S]
    good = sum(ended.good for ended in here)
    return LoadSummary(
        seconds=seconds,
        offered=len(here),
        answered=_count(here, End.ANSWERED),
        in_time=good,
        refused=_count(here, End.REFUSED),
        rejected=0,
        failed=_count(here, End.FAILED),
        timed_out=_count(here, End.EXPIRED) + _count(here, End.LEFT),
        pages=good,
        degraded=0,
        sent_bytes=0,
        in_flight=sum(ended.took_s for ended in here) / seconds,
        latency=_latency(run.times(End.ANSWERED)),
        refusal=_latency(run.times(End.REFUSED)),
    )


def _count(here: Sequence[RequestResult], how: End) -> int:
    return sum(ended.how is how for ended in here)


def _latency(times: Sequence[float]) -> Latency | None:
    if not times:
        return None
    p50, p90, p95, p99 = (times[int(share * (len(times) - 1))] for share in (0.5, 0.9, 0.95, 0.99))
    return Latency(sum(times) / len(times), p50, p90, p95, p99, times[-1])


def task(minutes: float, seed: int, current: int = 64) -> SearchTask:
    """A search over max-num-seqs on a 4090D with 24 GB, at 44 pages a second: twice the capacity at 16."""
    in_use: Settings = {MAX_NUM_SEQS: current}
    known = vllm_parameters(16, 24.0, 500_000, 4_000_000)
    found = tuple(with_value(each, current) for each in known if each.path == MAX_NUM_SEQS)
    machine = MachineInfo("simulated", "simulated", 16, 64.0, (_GPU,))
    targets = Targets(DEADLINE_S, max_error=0.001)
    return SearchTask(
        "vllm", found, in_use, targets, "simulated", 44.0, 60 * minutes, "2026-01-01T00:00:00Z", machine, seed=seed
    )


def tuned(minutes: float, seed: int, current: int = 64) -> TuneReport:
    """Runs a whole search; the same arguments give the same report."""
    asked = task(minutes, seed, current)
    bench = SimulatedBench(seed=1000 * seed)
    return anyio.run(search, bench, Journal(asked), bench.clock)
