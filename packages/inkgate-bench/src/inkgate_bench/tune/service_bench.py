"""Trials of real services: `inkgate serve` with the settings to try, started, loaded, watched and stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio

from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.readings import Scraper, read_state
from inkgate_bench.load.results import Axis, Second
from inkgate_bench.load.run import LoadResult, run
from inkgate_bench.load.service import Serve, ServiceNotStarted, ServiceProcess, last_words, serving
from inkgate_bench.load.target import ProtocolName, Target
from inkgate_bench.tune.heaviest import UploadLimits, heaviest_pages
from inkgate_bench.tune.measures import AccuracyCheck, OtherLoad
from inkgate_bench.tune.parameters import MAX_NUM_SEQS, companions
from inkgate_bench.tune.results import Purpose, Settings, Step, Trial, TrialOutcome
from inkgate_bench.tune.score import outcome
from inkgate_client import InkgateClient
from inkgate_client.concurrency import Threads, single_error

_PATIENCE = 1.5
"""Deadlines that a client waits. Later answers are useless, and the trial would take longer."""
_PATIENCE_S = 60.0
"""Seconds that a client waits with the heaviest images: what counts is whether the service stays up."""
_WARM_SHARE = 0.25
_MIN_WARM_S = 5.0
"""An embedded engine answers half as much in its first 5 s: it prepares for every new size of image."""
_WARM_DEADLINES = 2
"""Side by side: until the queues of a service that idled are full again."""
_STATE_S = 10.0


@dataclass(frozen=True, slots=True)
class BenchSetup:
    """What all trials of one search share.

    Attributes:
        fixed: settings of every trial, from flags of the command line.
        accuracy: None if there is no ground truth.
    """

    pages: Sequence[LoadPage]
    limits: UploadLimits
    deadline_s: float
    config: Path | None = None
    fixed: Settings = field(default_factory=dict)
    accuracy: AccuracyCheck | None = None
    start_s: float = 900.0
    seed: int = 1


class ServiceBench:
    """A Bench of real services. `on_second` is called with every second of the load that is running."""

    def __init__(self, setup: BenchSetup, on_second: Callable[[Second], None] = lambda _second: None) -> None:
        self.setup = setup
        self._on_second = on_second
        self._heaviest: tuple[LoadPage, ...] = ()

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        """Measures settings. The pages come in the order of the setup's seed, the same for all trials.

        Side by side a service is loaded while the others idle: a machine that slows down is fair to all.
        """
        for turns in [step.turns] if step.side_by_side else [(settings,) for settings in step.turns]:
            async with AsyncExitStack() as stack:
                services: list[ServiceProcess] = []
                for settings in turns:
                    first = turns.index(settings)
                    if first < len(services):  # it is up for an earlier turn
                        services.append(services[first])
                        continue
                    try:
                        services.append(await stack.enter_async_context(serving(self.serve(settings))))
                    except ServiceNotStarted as error:
                        done(Trial(0, step.purpose, settings, TrialOutcome.NOT_STARTED, 0.0, why=str(error)))
                        return
                for settings, service in zip(turns, services, strict=True):
                    trial = await self._measure(service, settings, step)
                    done(trial)
                    if trial.outcome is not TrialOutcome.MEASURED:
                        return

    async def probe(self, settings: Settings, clients: int, seconds: float) -> LoadResult:
        async with serving(self.serve(settings)) as service:
            plan = Plan(Axis.CONCURRENCY, clients, seconds, _warm_s(seconds), deadline_s=_PATIENCE_S)
            return await run(Load(target_of(service), self.setup.pages, plan), self._on_second)

    def serve(self, settings: Settings) -> Serve:
        """How a service with `settings` is started.

        Degradation is off: a trial offers more than can be answered, and pages are read with full quality nevertheless.
        The adaptive limit starts at its final value: a trial is too short for it to get there.
        """
        tried = {"serving.degradation.enabled": False, **self.setup.fixed, **settings, **companions(settings)}
        if settings.get(MAX_NUM_SEQS):
            tried["serving.adaptive.initial"] = settings[MAX_NUM_SEQS]
        return Serve(tried, self.setup.config, self.setup.start_s)

    def plan(self, step: Step) -> Plan:
        """The load of a trial, `seconds` long after it is warm."""
        setup = self.setup
        common = Plan(Axis.RATE, step.demand, step.seconds, deadline_s=setup.deadline_s, seed=setup.seed)
        if step.purpose is Purpose.HEAVIEST:
            return replace(
                common,
                axis=Axis.CONCURRENCY,
                level=setup.limits.max_in_flight,
                warm_s=0.0,
                timeout_s=max(_PATIENCE_S, setup.deadline_s),
                waits_when_refused=False,
            )
        warm_s = max(_warm_s(step.seconds), _WARM_DEADLINES * setup.deadline_s if step.side_by_side else 0.0)
        return replace(common, warm_s=warm_s, timeout_s=setup.deadline_s * _PATIENCE, tells_deadline=True)

    async def _measure(self, service: ServiceProcess, settings: Settings, step: Step) -> Trial:
        """The trial of a service that is up, accuracy included."""
        trial = Trial(0, step.purpose, settings, TrialOutcome.DIED, 0.0)
        with InkgateClient(service.url, timeout_s=_STATE_S) as client:
            scraper = Scraper([partial(read_state, client)])
            await scraper.take()
            if scraper.last is None or scraper.last.restarts:
                why = f"It did not stay up at its start. {cause_of_death(service.lines)}"
                gone = scraper.last is None  # it was ready
                return replace(trial, outcome=TrialOutcome.DIED if gone else TrialOutcome.NOT_STARTED, why=why.strip())
            other_load = OtherLoad()
            measured = await self._put_load(service, scraper, step)
        summary, server = measured.summary, scraper.end()
        trial = replace(trial, seconds=summary.seconds, summary=summary, server=server)
        if service.ended.is_set():
            why = f"The service ended with status {service.status}. {last_words(service.lines)}"
            return replace(trial, why=why.strip())
        if server is not None and server.restarts:
            return replace(trial, why=cause_of_death(service.lines) or "A process of the engine died under load.")
        # Not of a trial that died: processor time of dead processes would count as others'.
        why = measured.own.why if measured.own.bottleneck else ""
        trial = replace(trial, outcome=TrialOutcome.MEASURED, other_load_cores=other_load.cores(), why=why)
        trial = replace(trial, outcome=outcome(trial))
        if step.purpose is Purpose.HEAVIEST or self.setup.accuracy is None:
            return trial
        return replace(trial, accuracy=await self.setup.accuracy.of(service.url, settings))

    async def _put_load(self, service: ServiceProcess, scraper: Scraper, step: Step) -> LoadResult:
        """The load, ended early if the service or a process of its engine dies."""
        heaviest = step.purpose is Purpose.HEAVIEST
        pages = await self._heaviest_pages() if heaviest else self.setup.pages
        stop = anyio.Event()

        def watch(second: Second) -> None:
            died = service.ended.is_set() or (scraper.last is not None and scraper.last.restarts)
            if died or (heaviest and second.at >= step.seconds):  # their last answers may take minutes
                stop.set()
            self._on_second(second)

        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scraper.run)
                measured = await run(Load(target_of(service), pages, self.plan(step)), watch, stop)
                await scraper.take()  # what happened at the very end counts, too
                tasks.cancel_scope.cancel()
        return measured

    async def _heaviest_pages(self) -> tuple[LoadPage, ...]:
        if not self._heaviest:
            self._heaviest = await Threads("heaviest", 1).run(heaviest_pages, self.setup.pages, self.setup.limits)
        return self._heaviest


def cause_of_death(lines: Iterable[str]) -> str:
    """Why the model server died, as its supervisor said; else the last line of the log that reports a failure."""
    kept = tuple(lines)
    for line in reversed(kept):
        if '"model_server_died"' in line:
            event = json.loads(line)
            return f"The model server died: {event.get('cause', '')}. {event.get('reason', '')}".strip()
    return last_words(kept)


def target_of(service: ServiceProcess) -> Target:
    """The address that the load of a trial goes to."""
    return Target(f"{service.url}/ocr", ProtocolName.OCR)


def _warm_s(seconds: float) -> float:
    """Returns the time until queues are full and the engine is warm."""
    return max(_MIN_WARM_S, seconds * _WARM_SHARE)
